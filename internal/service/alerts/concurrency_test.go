package alerts

import (
	"testing"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
)

// A client whose request timed out sends its list again while the first one is being stored.
func TestConcurrentReplacesStoreEachChannelOnce(t *testing.T) {
	f := newFixture(t, Config{})
	inputs := []Channel{slack("/T0/B0/x0x"), slack("/T0/B0/y0y")}
	replace := func() error { return f.Replace(t.Context(), f.admin, audit.Origin{}, f.in, inputs) }
	postgrestest.Concurrently(t, f.url, "SELECT 1 FROM projects FOR UPDATE", replace, replace)
	if list, err := f.List(t.Context(), f.in); err != nil || len(list) != len(inputs) {
		t.Errorf("%d channels of %d, %v", len(list), len(inputs), err)
	}
}

// TestConcurrentCreatesRespectTheLimit creates the last allowed channel twice concurrently.
func TestConcurrentCreatesRespectTheLimit(t *testing.T) {
	f := newFixture(t, Config{})
	for range maxChannels - 1 {
		f.create(slack("/T0/B0/x0x"))
	}
	add := func() error {
		_, _, err := f.Create(t.Context(), f.admin, audit.Origin{}, f.in, slack("/T0/B0/x0x"))
		if err != nil && fieldsOf(err) != "type" {
			return err
		}
		return nil
	}
	postgrestest.Concurrently(t, f.url, "SELECT 1 FROM projects FOR UPDATE", add, add)
	if list, err := f.List(t.Context(), f.in); err != nil || len(list) != maxChannels {
		t.Errorf("%d channels, %v", len(list), err)
	}
}
