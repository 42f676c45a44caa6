package secondfactor

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"

	"github.com/regwarden/regwarden/secret"
)

const (
	period = 30 // seconds of a time step
	digits = 6
	// skew is how many time steps before and after the present one are accepted (RFC 6238 section 5.2): for clocks that differ, and for
	// people who type slowly.
	skew = 1

	recoveryCodes = 10
	recoveryBytes = 15 // 120 bits: a fast hash without salt is enough (ASVS 6.5.2)
	recoveryGroup = 4
)

// newKey returns a secret and its otpauth: URI. All apps know its algorithm, digits and period.
func newKey(org, email string) (secret.String, secret.String, error) {
	key, err := totp.Generate(totp.GenerateOpts{Issuer: "regwarden " + strings.ReplaceAll(org, ":", " "), AccountName: email,
		Period: period, Digits: digits, Algorithm: otp.AlgorithmSHA1})
	if err != nil {
		return "", "", err
	}
	return secret.String(key.Secret()), secret.String(key.URL()), nil
}

// stepOf returns the time step whose code it is: the present one or one of its neighbors. It computes and compares all, so that the
// time shows nothing.
func stepOf(of secret.String, code string, now time.Time) (step int64, ok bool, err error) {
	present := now.Unix() / period
	for at := present - skew; at <= present+skew; at++ {
		want, err := hotp.GenerateCodeCustom(of.Reveal(), uint64(max(at, 0)), // #nosec G115 -- not negative
			hotp.ValidateOpts{Digits: digits, Algorithm: otp.AlgorithmSHA1})
		if err != nil {
			return 0, false, err
		}
		if subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			step, ok = at, true
		}
	}
	return step, ok, nil
}

// plain returns a code without what people type between its groups.
func plain(code secret.String) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "-", "", "\t", "", "\r", "", "\n", "").Replace(code.Reveal()))
}

var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// isRecovery reports whether a text has the form of a recovery code.
func isRecovery(code string) bool { return len(code) == encoding.EncodedLen(recoveryBytes) }

// newRecoveryCodes returns recovery codes, and the hashes by which they are stored.
func newRecoveryCodes() (codes []secret.String, hashes [][]byte) {
	for range recoveryCodes {
		raw := make([]byte, recoveryBytes)
		_, _ = rand.Read(raw)
		text := encoding.EncodeToString(raw)
		var groups []string
		for rest := text; rest != ""; rest = rest[recoveryGroup:] {
			groups = append(groups, rest[:recoveryGroup])
		}
		codes, hashes = append(codes, secret.String(strings.Join(groups, "-"))), append(hashes, hashOf(text))
	}
	return codes, hashes
}

// hashOf returns the stored hash of a recovery code.
func hashOf(code string) []byte {
	hash := sha256.Sum256([]byte(code))
	return hash[:]
}
