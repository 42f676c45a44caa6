package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/fairqueue"
	"github.com/regwarden/regwarden/internal/service/hashing"
	"github.com/regwarden/regwarden/secret"
)

// argonCost is the cost of one argon2id hash.
type argonCost struct {
	MemoryKiB   uint32
	Time        uint32
	Parallelism uint8
}

// defaultHashCost is the OWASP Password Storage minimum (ASVS 5.0 appendix C).
var defaultHashCost = argonCost{MemoryKiB: 19456, Time: 2, Parallelism: 1}

// maxHashCost bounds the cost of a stored hash, so that a damaged row cannot exhaust the memory.
var maxHashCost = argonCost{MemoryKiB: 1 << 20, Time: 64, Parallelism: 16}

const (
	saltBytes        = 16
	tagBytes         = 32
	maxPasswordBytes = 1024
)

func (c argonCost) String() string {
	return fmt.Sprintf("m=%d,t=%d,p=%d", c.MemoryKiB, c.Time, c.Parallelism)
}

func (c argonCost) atLeast(least argonCost) bool {
	return c.MemoryKiB >= least.MemoryKiB && c.Time >= least.Time && c.Parallelism >= least.Parallelism
}

// Shares of the slots for hashing.
const (
	knownLogins    = iota // from a source with an earlier success with the account
	unknownLogins         // from any other source
	administration        // passwords of users that administrators create or change; their source is the organization
)

// newBulkhead limits hashing. Known logins have half of the slots under load, and half of the queue.
func newBulkhead(c Config) *fairqueue.Limiter {
	return fairqueue.New(fairqueue.Config{Workers: c.LoginWorkers, Queue: c.LoginQueue, Wait: c.LoginWait,
		Turns: []int{knownLogins, unknownLogins, knownLogins, administration},
		Busy:  "Too many passwords are being hashed at once. Retry after the time in Retry-After."})
}

// Passwords hashes and checks passwords. Hashing runs behind a bulkhead. It is safe for concurrent use.
type Passwords struct {
	cost      argonCost
	compute   func(hashing.Input) ([]byte, error)
	bulk      *fairqueue.Limiter
	dummyHash phc // verified for an unknown user, at the same cost
}

func newPasswords(c Config) *Passwords {
	dummyHash := phc{cost: c.hashCost, salt: make([]byte, saltBytes), tag: make([]byte, tagBytes)}
	_, _ = rand.Read(dummyHash.salt)
	_, _ = rand.Read(dummyHash.tag)
	return &Passwords{cost: c.hashCost, compute: c.ComputeHash, bulk: newBulkhead(c), dummyHash: dummyHash}
}

// Load returns how many passwords are being hashed and how many callers wait.
func (p *Passwords) Load() (running, waiting int) { return p.bulk.Load() }

// Hash returns the PHC string of a password that an administrator sets, or a fault of kind Unavailable when too many
// callers wait or hashing fails. Organizations take turns.
func (p *Passwords) Hash(ctx context.Context, orgUID string, password secret.String) (string, error) {
	return p.hashFor(ctx, fairqueue.Caller{Share: administration, Source: orgUID}, password)
}

func (p *Passwords) hashFor(ctx context.Context, c fairqueue.Caller, password secret.String) (string, error) {
	release, _, err := p.bulk.Acquire(ctx, c)
	if err != nil {
		return "", err
	}
	defer release()
	return p.hash(password)
}

// verify reports whether a password has the stored hash. Without a stored hash, it takes the same time and returns
// false. If the stored hash is weaker than the configured cost, it also returns a new hash of a correct password, else
// the stored one. The caller must have a slot.
func (p *Passwords) verify(password secret.String, stored string) (matches bool, newHash string, err error) {
	expected, err := parsePHC(cmp.Or(stored, p.dummyHash.String()))
	if err != nil {
		return false, "", fmt.Errorf("parse a stored password hash: %w", err)
	}
	same, err := p.matches(expected, password)
	matches, newHash = same && stored != "", stored
	if matches && !expected.cost.atLeast(p.cost) {
		newHash, err = p.hash(password)
	}
	return matches && err == nil, newHash, err
}

// passwordProblem returns why a text cannot be a password, "" if it can. It is checked before and regardless of any
// account (CVE-2025-22234: a response that depends on the account reveals it).
func passwordProblem(password secret.String) string {
	text := password.Reveal()
	switch {
	case text == "":
		return "is required"
	case len(text) > maxPasswordBytes:
		return "must be at most 1,024 bytes"
	case !utf8.ValidString(text):
		return "must be valid UTF-8"
	case strings.ContainsFunc(text, unicode.IsControl):
		return "must not contain control characters; remove the trailing newline"
	}
	return ""
}

// prepared returns the hashed form of a password: NFC (RFC 8265 section 4.2.2), since keyboards compose letters
// differently. It is not changed or truncated otherwise.
func prepared(password secret.String) []byte {
	return norm.NFC.Bytes([]byte(password.Reveal()))
}

// phc is a parsed argon2id hash in the PHC string format.
type phc struct {
	cost      argonCost
	salt, tag []byte
}

// hash returns the PHC string of a password with a new salt.
func (p *Passwords) hash(password secret.String) (string, error) {
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt)
	tag, err := p.tag(password, p.cost, salt, tagBytes)
	if err != nil {
		return "", err
	}
	return phc{cost: p.cost, salt: salt, tag: tag}.String(), nil
}

func (p *Passwords) tag(password secret.String, cost argonCost, salt []byte, size uint32) ([]byte, error) {
	tag, err := p.compute(hashing.Input{Password: prepared(password), Salt: salt, MemoryKiB: cost.MemoryKiB, Time: cost.Time,
		Parallelism: cost.Parallelism, Size: size})
	if err != nil {
		return nil, &fault.Error{Kind: fault.Unavailable, Code: fault.CodeUnavailable,
			Message: "Passwords cannot be hashed now. Try again.", RetryAfter: time.Second, Cause: err}
	}
	return tag, nil
}

func (p *Passwords) matches(h phc, password secret.String) (bool, error) {
	if len(h.tag) == 0 || len(h.tag) > math.MaxInt16 {
		return false, nil
	}
	tag, err := p.tag(password, h.cost, h.salt, uint32(len(h.tag))) // #nosec G115 -- bounded above
	return subtle.ConstantTimeCompare(h.tag, tag) == 1, err
}

func (h phc) String() string {
	encode := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$%v$%s$%s", argon2.Version, h.cost, encode(h.salt), encode(h.tag))
}

var errNotPHC = errors.New("not an argon2id hash in PHC format within the limits")

// parsePHC reads "$argon2id$v=19$m=19456,t=2,p=1$salt$tag".
func parsePHC(text string) (phc, error) {
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return phc{}, errNotPHC
	}
	var h phc
	_, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &h.cost.MemoryKiB, &h.cost.Time, &h.cost.Parallelism)
	if err != nil || h.cost.String() != parts[3] {
		return phc{}, errNotPHC
	}
	var saltErr, tagErr error
	h.salt, saltErr = base64.RawStdEncoding.Strict().DecodeString(parts[4])
	h.tag, tagErr = base64.RawStdEncoding.Strict().DecodeString(parts[5])
	if saltErr != nil || tagErr != nil || len(h.salt) < 8 || len(h.salt) > 64 || len(h.tag) < 16 || len(h.tag) > 64 {
		return phc{}, errNotPHC
	}
	least := argonCost{MemoryKiB: 8, Time: 1, Parallelism: 1}
	if !h.cost.atLeast(least) || !maxHashCost.atLeast(h.cost) {
		return phc{}, errNotPHC
	}
	return h, nil
}
