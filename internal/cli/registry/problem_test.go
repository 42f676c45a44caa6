package registry

import (
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/regwarden/regwarden/api"
)

// Each code that a check may have has a phrase.
func TestEachCodeHasAPhrase(t *testing.T) {
	page, err := os.ReadFile("../../../docs/codes.md") // generated from the table of codes
	if err != nil {
		t.Fatal(err)
	}
	codes := regexp.MustCompile(`(?m)^## (Registry\w+)$`).FindAllStringSubmatch(string(page), -1)
	if len(codes) < 10 {
		t.Fatalf("%d codes were found", len(codes))
	}
	for _, found := range codes {
		if code := found[1]; phrases[code] == "" {
			t.Errorf("%s has no phrase", code)
		}
	}
}

func TestProblemInFewWords(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	soon := now.Add(5 * 24 * time.Hour)
	text := func(s string) *string { return &s }
	for want, h := range map[string]api.RegistryHealth{
		"":                              {State: api.HealthHealthy},
		"TLS failed (unknownAuthority)": {Code: text("RegistryTLSFailed"), Reason: text("unknownAuthority")},
		"RegistryOfTomorrow":            {Code: text("RegistryOfTomorrow")},
		"credentials expire in 5d": {CredentialsExpireSoon: true, CredentialsNotAfter: &soon, CertificateExpiresSoon: true,
			CertificateNotAfter: &soon},
		"certificate expires in 5d": {CertificateExpiresSoon: true, CertificateNotAfter: &soon},
		"the last check failed":     {Unconfirmed: true},
	} {
		if got := problemOf(h, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
