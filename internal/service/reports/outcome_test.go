package reports

import (
	"testing"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
)

// What a check says of a registry is the same in audit records, metrics and the health.
func TestOutcome(t *testing.T) {
	for _, e := range regcheck.Entries() {
		want := audit.NotValid
		if (store.HealthResult{Reason: string(e.Reason)}).Undecided() {
			want = audit.Unknown
		}
		if got := Outcome(&regcheck.Report{Code: e.Code, Reason: e.Reason}); got != want {
			t.Errorf("%s (%s): %s, want %s", e.Code, e.Reason, got, want)
		}
	}
	if got := Outcome(&regcheck.Report{Valid: true}); got != audit.Valid {
		t.Errorf("valid: %s", got)
	}
	if got := Outcome(&regcheck.Report{Reason: regcheck.ReasonProviderUnavailable}); got != audit.Unknown {
		t.Errorf("the provider is down: %s", got)
	}
}
