package checks

import (
	"fmt"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
)

// Users cannot take the slots of their organization, nor organizations those of others; and no one who waits for a report delays
// validations.
func TestWaitsForReportsAreLimited(t *testing.T) {
	f := registriestest.New(t, nil)
	s := New(f.DB, registries.New(f.DB, registries.Limits{}, time.Now), nil, Limits{}, time.Now)
	var all []func()
	reserve := func(org, user string, n int) (reserved int) {
		for range n {
			release, ok := s.ReserveWait(auth.Principal{OrgUID: org, UserUID: user})
			if ok {
				reserved++
			}
			all = append(all, release)
		}
		return reserved
	}
	for _, step := range []struct {
		org, user string
		want      int
	}{{"a", "ada", 8}, {"a", "bob", 8}, {"a", "cy", 0}, {"b", "dan", 8}, {"b", "eve", 8}, {"c", "fay", 8}, {"c", "gil", 8}, {"d", "hal", 8},
		{"d", "ida", 8}, {"e", "joe", 0}} {
		if got := reserve(step.org, step.user, 10); got != step.want {
			t.Errorf("%s of %s got %d slots, want %d", step.user, step.org, got, step.want)
		}
	}
	if _, waiting := s.Load(); waiting != 0 {
		t.Errorf("%d callers wait for validations", waiting)
	}
	if within, release := s.perMinute.reserveWait("ada"); within != maxWait {
		t.Errorf("a validation may wait %v", within)
	} else {
		release()
	}
	for _, release := range all {
		release()
	}
	if len(s.waits.count) != 0 || reserve("a", "ada", 10) != 8 {
		t.Error("after their release, slots are missing: " + fmt.Sprint(s.waits.count))
	}
}
