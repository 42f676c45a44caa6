package alerts

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// reserveContacts counts each webhook origin (scheme, host, port) that is new to the organization as a contact caused by the user.
// Origins count when a channel is stored, in the same transaction, and not when an alert is delivered: whether a request is refused
// must not depend on the state of registries.
//
// The first contact must be available now. The others are reserved ahead, so that a long list can be stored.
func (s *Channels) reserveContacts(ctx context.Context, tx *store.Tx, p auth.Principal, in Scope, channels ...store.Channel) error {
	if p.UserUID == "" {
		return nil // an operator
	}
	added, err := newOrigins(ctx, tx, in.OrgUID, channels)
	if err != nil {
		return err
	}
	for i := range added {
		wait, _, err := tx.Allowances.ReserveContact(ctx, p.UserUID, s.config.ChecksPerMinute, s.now())
		if err != nil {
			return err
		}
		if i == 0 && wait > 0 {
			return &fault.Error{Kind: fault.Limited, Code: fault.CodeTooManyRequests, RetryAfter: wait,
				Message: "Too many webhooks with a new scheme, host or port in the last minute. Retry after the time in Retry-After."}
		}
	}
	return nil
}

// newOrigins counts the origins of channels that no stored channel of the organization has.
func newOrigins(ctx context.Context, tx *store.Tx, orgUID string, channels []store.Channel) (int, error) {
	stored, err := tx.Channels.Webhooks(ctx, orgUID)
	if err != nil {
		return 0, err
	}
	known, added := map[string]bool{"": true}, 0 // an email channel has none
	for _, c := range stored {
		known[originOf(c.HTTP.URL)] = true
	}
	for _, c := range channels {
		if origin := originOf(c.HTTP.URL); !known[origin] {
			known[origin] = true
			added++
		}
	}
	return added, nil
}

// retryAfterUpdate returns when the pending deliveries of an updated channel are sent: at once, but to a webhook only firstWait after
// its last attempt. The addresses of its host may change between attempts, and updates are not limited.
func retryAfterUpdate(old store.Channel, now time.Time) time.Time {
	if earliest := old.Status.At.Add(firstWait); old.Type == TypeHTTP && earliest.After(now) && !old.Status.At.After(now) {
		return earliest
	}
	return now
}
