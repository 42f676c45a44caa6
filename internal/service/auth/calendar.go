package auth

import (
	"context"
	"slices"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth/randomkey"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// calendarPrefix is that of keys in the URLs of calendars. Calendar services and proxies store URLs, so no other key is accepted there,
// and such a key is refused in headers.
const calendarPrefix = "rwl_" // #nosec G101 -- a prefix, not a credential

const maxCalendars = 5 // of a user

// prefixOf returns the prefix of the keys of a scope.
func prefixOf(scope access.Scope) string {
	if scope == access.ScopeCalendar {
		return calendarPrefix
	}
	return apiKeyPrefix
}

// ByCalendarKey returns the user whose calendar has this key in its URL, limited to what a calendar needs. admit is called before the
// store is read.
//
// Faults: Unauthenticated; those of admit; Unavailable when the store does not respond.
func (a *Authenticator) ByCalendarKey(ctx context.Context, key secret.String, admit func() error) (Principal, error) {
	hash, ok := randomkey.Hash(calendarPrefix, key)
	if !ok {
		return Principal{}, unauthorized(ReasonMalformed)
	}
	if _, known := a.cache.get(credentialID(hash), audit.MethodAPIKey); !known {
		if err := admit(); err != nil {
			return Principal{}, err
		}
	}
	return a.byKey(ctx, hash)
}

// calendarsOf counts the keys of calendars.
func calendarsOf(keys []store.APIKey) int {
	return len(slices.DeleteFunc(slices.Clone(keys), func(k store.APIKey) bool { return access.Scope(k.Scope) != access.ScopeCalendar }))
}
