package alerts

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// Replace replaces the channels of a component by inputs. An input updates the stored channel that has its uid or, without a uid,
// the same destination. If then one input without a uid and one stored channel of its type remain, the input updates this channel: its
// destination was changed. Other inputs are added, and the remaining stored channels deleted.
//
// Faults: Invalid, the fields beginning with channels[i]; Forbidden; Limited; NotFound for an unknown component.
func (s *Channels) Replace(ctx context.Context, p auth.Principal, origin audit.Origin, in Scope, inputs []Channel) error {
	return s.change(ctx, p, origin, in, audit.AlertUpdate, "", func(tx *store.Tx, stored []store.Channel, record recorder) error {
		if err := s.checkCount(ctx, tx, in, len(stored), len(inputs), "channels"); err != nil {
			return err
		}
		matched, problems := match(inputs, stored)
		filled := make([]store.Channel, len(inputs))
		for i, input := range inputs {
			old := store.Channel{}
			if matched[i] >= 0 {
				old = stored[matched[i]]
			}
			var wrong []fault.Field
			var err error
			if filled[i], wrong, err = s.complete(ctx, tx, in, input, old); err != nil {
				return err
			}
			problems = append(problems, prefixed(fmt.Sprintf("channels[%d].", i), wrong)...)
		}
		if len(problems) > 0 {
			return fault.InvalidFields(problems...)
		}
		if err := s.reserveContacts(ctx, tx, p, in, filled...); err != nil {
			return err
		}
		return s.replace(ctx, tx, in, stored, filled, matched, record)
	})
}

func (s *Channels) replace(ctx context.Context, tx *store.Tx, in Scope, stored, filled []store.Channel, matched []int,
	record recorder) error {
	updated := map[int]bool{}
	for _, index := range matched {
		updated[index] = true
	}
	for i, old := range stored {
		if updated[i] {
			continue
		}
		if err := s.remove(ctx, tx, old, record); err != nil {
			return err
		}
	}
	for i, c := range filled {
		var err error
		if matched[i] >= 0 {
			err = s.update(ctx, tx, stored[matched[i]], c, int64(i), record)
		} else {
			c.UID, c.Position = uuid.NewString(), int64(i)
			err = s.insert(ctx, tx, in, c, record)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// prefixed adds a prefix to the fields of problems.
func prefixed(prefix string, list []fault.Field) []fault.Field {
	for i := range list {
		list[i].Field = prefix + list[i].Field
	}
	return list
}

// match returns the index of the stored channel that each input updates, -1 for none.
func match(inputs []Channel, stored []store.Channel) ([]int, []fault.Field) {
	matched, taken, unknown := make([]int, len(inputs)), map[int]bool{}, problems(nil)
	take := func(i int, fits func(store.Channel) bool) bool {
		for j, c := range stored {
			if !taken[j] && fits(c) {
				matched[i], taken[j] = j, true
				return true
			}
		}
		return false
	}
	for i, input := range inputs {
		matched[i] = -1
		if input.UID != "" && !take(i, func(c store.Channel) bool { return c.UID == input.UID }) {
			unknown.add(fmt.Sprintf("channels[%d].uid", i), "must be the uid of a channel of this component, and must not be repeated")
		}
	}
	for i, input := range inputs {
		if input.UID == "" {
			take(i, func(c store.Channel) bool { return sameDestination(input, c) })
		}
	}
	for _, kind := range []string{TypeEmail, TypeHTTP} {
		matchLast(kind, inputs, stored, matched, taken)
	}
	return matched, unknown
}

// matchLast matches the only input of a type that is left and has no uid with the only stored channel of the type that is left.
func matchLast(kind string, inputs []Channel, stored []store.Channel, matched []int, taken map[int]bool) {
	var left, storedLeft []int
	for i, input := range inputs {
		if input.Type == kind && input.UID == "" && matched[i] < 0 {
			left = append(left, i)
		}
	}
	for j, c := range stored {
		if c.Type == kind && !taken[j] {
			storedLeft = append(storedLeft, j)
		}
	}
	if len(left) == 1 && len(storedLeft) == 1 {
		matched[left[0]] = storedLeft[0]
	}
}

// sameDestination reports whether an input without a uid has the destination of a stored channel: public clients send whole lists
// without uids.
func sameDestination(input Channel, c store.Channel) bool {
	if input.Type != c.Type {
		return false
	}
	if input.Type == TypeEmail {
		return input.AlertAllUsers == c.AlertAllUsers && slices.Equal(input.Identifiers, c.Identifiers)
	}
	return input.HTTP != nil && c.HTTP.URL != "" && (input.HTTP.URL.Reveal() == c.HTTP.URL ||
		input.HTTP.URL.Reveal() == maskURL(c.HTTP.URL))
}
