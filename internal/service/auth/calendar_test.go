package auth

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/secret"
)

func calendarKey(name string) NewAPIKey {
	return NewAPIKey{Name: name, ExpiresAt: start.Add(time.Hour), Limit: access.Limit{Scope: access.ScopeCalendar}}
}

// TestKeysOfCalendars are for URLs only: no header accepts one, and no URL accepts another key.
func TestKeysOfCalendars(t *testing.T) {
	w := mustWorld(t, nil)
	me := w.principal(t)
	created, key := w.mustKey(t, me, calendarKey("calendar"))
	unlimited, other := w.mustKey(t, me, NewAPIKey{Name: "other", ExpiresAt: start.Add(time.Hour),
		Limit: access.Limit{Scope: access.ScopeAll}})
	if !strings.HasPrefix(key.Reveal(), "rwl_") || !strings.HasPrefix(other.Reveal(), "rwk_") ||
		created.Limit.Scope != access.ScopeCalendar || unlimited.Limit.Scope != access.ScopeAll {
		t.Errorf("%+v, %+v", created, unlimited)
	}
	admitted := 0
	admit := func() error { admitted++; return nil }
	for range 2 { // the second time without a query
		p, err := w.ByCalendarKey(t.Context(), key, admit)
		if err != nil || p.APIKeyUID != created.UID || p.Limit.Scope != access.ScopeCalendar {
			t.Errorf("%+v, %v", p, err)
		}
	}
	_, err := w.ByCalendarKey(t.Context(), other, admit)
	wantFault(t, err, fault.CodeUnauthorizedAccess, ReasonMalformed)
	_, err = w.Authenticate(t.Context(), Presented{APIKey: key})
	wantFault(t, err, fault.CodeUnauthorizedAccess, ReasonMalformed)
	if admitted != 1 {
		t.Errorf("asked %d times whether the store may be read", admitted)
	}
	_, next := w.mustKey(t, me, calendarKey("next"))
	full := errors.New("too many requests")
	if _, err := w.ByCalendarKey(t.Context(), next, func() error { return full }); !errors.Is(err, full) {
		t.Errorf("not admitted: %v", err)
	}
}

// TestCalendarsOfAUserAreBounded counts only the keys of calendars, and bounds only these.
func TestCalendarsOfAUserAreBounded(t *testing.T) {
	w := mustWorld(t, nil)
	me := w.principal(t)
	plain := func(i int) NewAPIKey { return NewAPIKey{Name: fmt.Sprint("key ", i), ExpiresAt: start.Add(time.Hour)} }
	var last secret.String
	for i := range maxCalendars {
		w.mustKey(t, me, plain(i))
		_, last = w.mustKey(t, me, calendarKey(fmt.Sprint("calendar ", i)))
	}
	if _, err := w.ByCalendarKey(t.Context(), last, func() error { return nil }); err != nil {
		t.Errorf("the last one: %v", err)
	}
	_, _, err := w.APIKeys.Create(t.Context(), me, origin, calendarKey("one more"))
	wantFields(t, err, "scope")
	w.mustKey(t, me, plain(maxCalendars))
}
