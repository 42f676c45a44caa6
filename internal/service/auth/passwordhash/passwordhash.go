// Package passwordhash computes and verifies argon2id hashes of passwords in the PHC string format.
package passwordhash

import (
	"cmp"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/hashing"
	"github.com/regwarden/regwarden/secret"
)

// Cost is the cost of one argon2id hash.
type Cost struct {
	MemoryKiB   uint32
	Time        uint32
	Parallelism uint8
}

// DefaultCost is the OWASP Password Storage minimum (ASVS 5.0 appendix C).
var DefaultCost = Cost{MemoryKiB: 19456, Time: 2, Parallelism: 1}

// maxCost bounds the cost of a stored hash, so that a damaged row cannot exhaust the memory.
var maxCost = Cost{MemoryKiB: 1 << 20, Time: 64, Parallelism: 16}

const (
	saltBytes = 16
	tagBytes  = 32
)

func (c Cost) String() string {
	return fmt.Sprintf("m=%d,t=%d,p=%d", c.MemoryKiB, c.Time, c.Parallelism)
}

func (c Cost) atLeast(least Cost) bool {
	return c.MemoryKiB >= least.MemoryKiB && c.Time >= least.Time && c.Parallelism >= least.Parallelism
}

// Hasher hashes and verifies passwords.
type Hasher struct {
	Cost    Cost
	Compute func(hashing.Input) ([]byte, error)
	Dummy   PHC // verified for an unknown user, at the same cost
}

// New returns a hasher that hashes at that cost.
func New(cost Cost, compute func(hashing.Input) ([]byte, error)) *Hasher {
	dummy := PHC{Cost: cost, salt: make([]byte, saltBytes), tag: make([]byte, tagBytes)}
	_, _ = rand.Read(dummy.salt)
	_, _ = rand.Read(dummy.tag)
	return &Hasher{Cost: cost, Compute: compute, Dummy: dummy}
}

// Verify reports whether a password has the stored hash. Without a stored hash, it takes the same time and returns
// false. If the stored hash is weaker than the configured cost, it also returns a new hash of a correct password, else
// the stored one.
func (h *Hasher) Verify(password secret.String, stored string) (matches bool, newHash string, err error) {
	expected, err := Parse(cmp.Or(stored, h.Dummy.String()))
	if err != nil {
		return false, "", fmt.Errorf("parse a stored password hash: %w", err)
	}
	same, err := h.matches(expected, password)
	matches, newHash = same && stored != "", stored
	if matches && !expected.Cost.atLeast(h.Cost) {
		newHash, err = h.Hash(password)
	}
	return matches && err == nil, newHash, err
}

// Hash returns the PHC string of a password with a new salt.
func (h *Hasher) Hash(password secret.String) (string, error) {
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt)
	tag, err := h.tag(password, h.Cost, salt, tagBytes)
	if err != nil {
		return "", err
	}
	return PHC{Cost: h.Cost, salt: salt, tag: tag}.String(), nil
}

// tag hashes the NFC of a password (RFC 8265 section 4.2.2), since keyboards compose letters differently. It is not changed or
// truncated otherwise.
func (h *Hasher) tag(password secret.String, cost Cost, salt []byte, size uint32) ([]byte, error) {
	tag, err := h.Compute(hashing.Input{Password: norm.NFC.Bytes([]byte(password.Reveal())), Salt: salt, MemoryKiB: cost.MemoryKiB,
		Time: cost.Time, Parallelism: cost.Parallelism, Size: size})
	if err != nil {
		return nil, &fault.Error{Kind: fault.Unavailable, Code: fault.CodeUnavailable,
			Message: "Passwords cannot be hashed now. Try again.", RetryAfter: time.Second, Cause: err}
	}
	return tag, nil
}

func (h *Hasher) matches(expected PHC, password secret.String) (bool, error) {
	if len(expected.tag) == 0 || len(expected.tag) > math.MaxInt16 {
		return false, nil
	}
	tag, err := h.tag(password, expected.Cost, expected.salt, uint32(len(expected.tag))) // #nosec G115 -- bounded above
	return subtle.ConstantTimeCompare(expected.tag, tag) == 1, err
}

// PHC is a parsed argon2id hash in the PHC string format.
type PHC struct {
	Cost      Cost
	salt, tag []byte
}

func (p PHC) String() string {
	encode := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$%v$%s$%s", argon2.Version, p.Cost, encode(p.salt), encode(p.tag))
}

var errNotPHC = errors.New("not an argon2id hash in PHC format within the limits")

// Parse reads "$argon2id$v=19$m=19456,t=2,p=1$salt$tag".
func Parse(text string) (PHC, error) {
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return PHC{}, errNotPHC
	}
	var p PHC
	_, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &p.Cost.MemoryKiB, &p.Cost.Time, &p.Cost.Parallelism)
	if err != nil || p.Cost.String() != parts[3] {
		return PHC{}, errNotPHC
	}
	var saltErr, tagErr error
	p.salt, saltErr = base64.RawStdEncoding.Strict().DecodeString(parts[4])
	p.tag, tagErr = base64.RawStdEncoding.Strict().DecodeString(parts[5])
	if saltErr != nil || tagErr != nil || len(p.salt) < 8 || len(p.salt) > 64 || len(p.tag) < 16 || len(p.tag) > 64 {
		return PHC{}, errNotPHC
	}
	least := Cost{MemoryKiB: 8, Time: 1, Parallelism: 1}
	if !p.Cost.atLeast(least) || !maxCost.atLeast(p.Cost) {
		return PHC{}, errNotPHC
	}
	return p, nil
}
