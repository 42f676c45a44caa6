package secondfactor

import (
	"encoding/base32"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/regwarden/regwarden/secret"
)

// rfcSecret is that of the test vectors of RFC 6238 appendix B, whose codes have eight digits: the last six are those of six digits.
var rfcSecret = secret.String(base32.StdEncoding.EncodeToString([]byte("12345678901234567890")))

var vectors = map[int64]string{59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037",
	20000000000: "353130"}

func TestVectorsOfRFC6238(t *testing.T) {
	for at, code := range vectors {
		step, ok, err := stepOf(rfcSecret, code, time.Unix(at, 0))
		if !ok || step != at/30 || err != nil {
			t.Errorf("%s at %d: step %d, %t, %v", code, at, step, ok, err)
		}
	}
}

// A code is that of its own time step from a step before to a step after it, and no longer.
func TestSkewIsOneStep(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		for at, code := range vectors {
			offset := rapid.Int64Range(-100, 100).Draw(r, "seconds")
			if at+offset < 0 {
				continue
			}
			step, ok, err := stepOf(rfcSecret, code, time.Unix(at+offset, 0))
			distance := (at+offset)/30 - at/30
			if want := distance >= -1 && distance <= 1; err != nil || ok != want || ok && step != at/30 {
				r.Fatalf("%s after %d seconds: step %d, %t, %v", code, offset, step, ok, err)
			}
		}
	})
}

func TestOtherTextsAreNoCodes(t *testing.T) {
	for _, text := range []string{"", "28708", "2870820", "287 082", "287O82", "94287082", "٢٨٧٠٨٢", "\x00287082"} {
		if _, ok, err := stepOf(rfcSecret, text, time.Unix(59, 0)); ok || err != nil {
			t.Errorf("%q is a code: %v", text, err)
		}
	}
	if got := plain(" 287-082\n"); got != "287082" {
		t.Errorf("typed with groups: %q", got)
	}
}

func TestRecoveryCodes(t *testing.T) {
	codes, hashes := newRecoveryCodes()
	seen := map[string]bool{}
	for i, code := range codes {
		text := plain(code)
		if seen[text] = true; !isRecovery(text) || string(hashOf(text)) != string(hashes[i]) {
			t.Errorf("code %d has the form %t", i, isRecovery(text))
		}
	}
	if len(seen) != recoveryCodes || len(hashes) != recoveryCodes || isRecovery("287082") {
		t.Errorf("%d different codes", len(seen))
	}
}

func TestURINamesOrganizationAndUser(t *testing.T) {
	key, uri, err := newKey("Acme: West", "ada@acme.example")
	want := "otpauth://totp/regwarden%20Acme%20%20West:ada@acme.example?algorithm=SHA1&digits=6&" +
		"issuer=regwarden%20Acme%20%20West&period=30&secret=" +
		key.Reveal()
	if uri.Reveal() != want || len(key.Reveal()) != 32 || err != nil {
		t.Errorf("got %s, want %s, %v", uri.Reveal(), want, err)
	}
}
