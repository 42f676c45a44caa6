package alerts

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/secret"
)

// Bounds of the channels of one component: an alert is written to all of them in one transaction.
const (
	maxChannels    = 20 // in a project
	maxOrgChannels = 100
)

// Channel is one way by which alerts leave a project. When it is shown, what may be secret is masked; when it is
// wanted, a mask means what is stored, if that may be sent where the channel leads.
type Channel struct {
	UID           string
	Type          string
	Active        bool
	AlertAllUsers bool
	Identifiers   []string // email addresses
	Unconfirmed   []string // of these, the ones that get no alerts because they did not confirm
	HTTP          *HTTP
	Status        store.ChannelStatus
	CreatedAt     time.Time
}

// HTTP is where and what a channel of type http sends.
type HTTP struct {
	URL     secret.String
	Method  string // POST when empty
	Headers map[string]secret.String
	Body    secret.String // a template; empty: the alert as JSON
	Secret  secret.String // signs what is sent; never shown
}

// Service keeps channels and delivers alerts by them. It is safe for concurrent use.
type Service struct {
	db     *store.DB
	config Config
	now    func() time.Time
}

// New makes a service on an opened store.
func New(db *store.DB, c Config) *Service {
	return &Service{db: db, config: c.withDefaults(), now: time.Now}
}

// Scope is whose channels a call is about. The project is one that the caller may see.
type Scope struct{ OrgUID, ProjectUID, Component string }

// Channels lists the channels of a component in a project.
//
// Faults: NotFound for an unknown component.
func (s *Service) Channels(ctx context.Context, in Scope) ([]Channel, error) {
	if err := known(in.Component); err != nil {
		return nil, err
	}
	var stored []store.Channel
	var given consent
	err := s.db.View(ctx, func(tx *store.Tx) (err error) {
		if stored, err = tx.Channels.List(ctx, in.OrgUID, in.ProjectUID, in.Component); err == nil {
			given, err = s.consentOf(ctx, tx, in.OrgUID)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list alert channels: %w", err)
	}
	list := make([]Channel, len(stored))
	for i, c := range stored {
		list[i] = visible(c, given)
	}
	return list, nil
}

// Channel returns one channel.
//
// Faults: NotFound for an unknown component or channel.
func (s *Service) Channel(ctx context.Context, in Scope, uid string) (Channel, error) {
	list, err := s.Channels(ctx, in)
	if err != nil {
		return Channel{}, err
	}
	for _, c := range list {
		if c.UID == uid {
			return c, nil
		}
	}
	return Channel{}, noSuchChannel()
}

func known(component string) error {
	for _, c := range Components() {
		if c.Name == component {
			return nil
		}
	}
	return fault.ResourceNotFound("There is no such alert component. GET /v1/projects/alerts lists them.")
}

func noSuchChannel() error {
	return fault.ResourceNotFound("There is no such alert channel.")
}

// Create adds a channel. signing is set when the channel's secret was made here; it is shown this once.
//
// Faults: Invalid; Forbidden; Limited; NotFound for an unknown component.
func (s *Service) Create(ctx context.Context, p auth.Principal, origin audit.Origin, in Scope, w Channel) (uid string, signing secret.String, err error) {
	if w.Type == TypeHTTP && w.HTTP != nil && w.HTTP.Secret == "" {
		signing = secret.String(rand.Text())
		made := *w.HTTP
		made.Secret, w.HTTP = signing, &made
	}
	err = s.change(ctx, p, origin, in, audit.AlertCreate, "", func(tx *store.Tx, stored []store.Channel, record recorder) error {
		if err := s.room(ctx, tx, in, len(stored), len(stored)+1, "type"); err != nil {
			return err
		}
		added, problems, err := s.complete(ctx, tx, in, w, store.Channel{})
		if err != nil || len(problems) > 0 {
			return invalid(problems, err)
		}
		last := int64(0)
		for _, c := range stored {
			last = max(last, c.Position)
		}
		if err := s.reserveContacts(ctx, tx, p, in, added); err != nil {
			return err
		}
		added.UID, added.Position = uuid.NewString(), last+1
		uid = added.UID
		return s.insert(ctx, tx, in, added, record)
	})
	return uid, signing, err
}

// Update replaces a channel.
//
// Faults: Invalid; Forbidden; Limited; NotFound for an unknown component or channel.
func (s *Service) Update(ctx context.Context, p auth.Principal, origin audit.Origin, in Scope, uid string, w Channel) error {
	return s.change(ctx, p, origin, in, audit.AlertUpdate, uid, func(tx *store.Tx, stored []store.Channel, record recorder) error {
		for _, old := range stored {
			if old.UID != uid {
				continue
			}
			changed, problems, err := s.complete(ctx, tx, in, w, old)
			if err != nil || len(problems) > 0 {
				return invalid(problems, err)
			}
			if err := s.reserveContacts(ctx, tx, p, in, changed); err != nil {
				return err
			}
			return s.update(ctx, tx, old, changed, old.Position, record)
		}
		return noSuchChannel()
	})
}

// Replace makes the list of a component's channels the wanted one. A wanted channel is a stored one when it names
// its uid, or names none and leads where that one does. Others are added, and the rest of the stored ones deleted.
//
// Faults: Invalid, the fields beginning with channels[i]; Forbidden; Limited; NotFound for an unknown component.
func (s *Service) Replace(ctx context.Context, p auth.Principal, origin audit.Origin, in Scope, wanted []Channel) error {
	return s.change(ctx, p, origin, in, audit.AlertUpdate, "", func(tx *store.Tx, stored []store.Channel, record recorder) error {
		if err := s.room(ctx, tx, in, len(stored), len(wanted), "channels"); err != nil {
			return err
		}
		matched, problems := match(wanted, stored)
		filled := make([]store.Channel, len(wanted))
		for i, w := range wanted {
			old := store.Channel{}
			if matched[i] >= 0 {
				old = stored[matched[i]]
			}
			var wrong []fault.Field
			var err error
			if filled[i], wrong, err = s.complete(ctx, tx, in, w, old); err != nil {
				return err
			}
			problems = append(problems, below(fmt.Sprintf("channels[%d].", i), wrong)...)
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

// room reports whether a project that has so many channels of a component may have that many.
func (s *Service) room(ctx context.Context, tx *store.Tx, in Scope, has, wants int, field string) error {
	others, err := tx.Channels.Count(ctx, in.OrgUID, in.Component)
	if err != nil {
		return err
	}
	if wants > has && (wants > maxChannels || others-int64(has)+int64(wants) > maxOrgChannels) {
		return fault.InvalidFields(fault.Field{Field: field, Problem: tooMany})
	}
	return nil
}

func (s *Service) replace(ctx context.Context, tx *store.Tx, in Scope, stored, filled []store.Channel, matched []int, record recorder) error {
	kept := map[int]bool{}
	for _, index := range matched {
		kept[index] = true
	}
	for i, old := range stored {
		if kept[i] {
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

// Delete deletes a channel and what it still had to send; all of the component's when uid is empty.
//
// Faults: Forbidden; NotFound for an unknown component or channel.
func (s *Service) Delete(ctx context.Context, p auth.Principal, origin audit.Origin, in Scope, uid string) error {
	return s.change(ctx, p, origin, in, audit.AlertDelete, uid, func(tx *store.Tx, stored []store.Channel, record recorder) error {
		found := uid == ""
		for _, old := range stored {
			if uid != "" && old.UID != uid {
				continue
			}
			found = true
			if err := s.remove(ctx, tx, old, record); err != nil {
				return err
			}
		}
		if !found {
			return noSuchChannel()
		}
		return nil
	})
}

// recorder records one change of a channel, with where it leads.
type recorder func(action audit.Action, c store.Channel) error

// change decides whether the caller may, makes the change and records it, or records the refusal.
func (s *Service) change(ctx context.Context, p auth.Principal, origin audit.Origin, in Scope, action audit.Action, object string,
	change func(*store.Tx, []store.Channel, recorder) error) error {
	event := p.Event(origin, action)
	event.UID, event.At, event.Object = origin.RecordUID(), s.now(), object
	if refusal := p.May(auth.ConfigureAlerts); refusal != nil {
		return s.refuse(ctx, event, fault.CodeOperationForbidden, refusal)
	}
	if err := known(in.Component); err != nil {
		return err
	}
	err := s.db.InTx(ctx, func(tx *store.Tx) error {
		// What is wanted is compared with what is stored, and counted in the whole organization. The same list sent twice at
		// once would have each channel twice.
		if err := tx.Orgs.Lock(ctx, in.OrgUID); err != nil {
			return err
		}
		stored, err := tx.Channels.List(ctx, in.OrgUID, in.ProjectUID, in.Component)
		if err != nil {
			return err
		}
		return change(tx, stored, func(action audit.Action, c store.Channel) error {
			done := event
			done.UID, done.Action, done.Object, done.Target, done.Outcome = origin.RecordUID(), action, c.UID, originOf(c.HTTP.URL), audit.Succeeded
			return tx.Audits.Append(ctx, done)
		})
	})
	known, is := errors.AsType[*fault.Error](err)
	switch {
	case is && known.Kind == fault.Limited:
		return s.refuse(ctx, event, known.Code, err)
	case err == nil || is:
		return err
	}
	return fmt.Errorf("change alert channels: %w", err)
}

// refuse records a refusal and returns it.
func (s *Service) refuse(ctx context.Context, event audit.Event, reason string, refusal error) error {
	event.Outcome, event.Reason = audit.Refused, reason
	if err := s.db.InTx(ctx, func(tx *store.Tx) error { return tx.Audits.Append(ctx, event) }); err != nil {
		return fmt.Errorf("record a refusal: %w", err)
	}
	return refusal
}

func (s *Service) insert(ctx context.Context, tx *store.Tx, in Scope, c store.Channel, record recorder) error {
	c.Component, c.CreatedAt = in.Component, s.now()
	if err := tx.Channels.Insert(ctx, c); err != nil {
		if errors.Is(err, store.ErrNotFound) { // the project was deleted meanwhile
			return fault.ProjectNotFound(fault.CodeResourceNotFound)
		}
		return err
	}
	if err := s.expectConsent(ctx, tx, c); err != nil {
		return err
	}
	return record(audit.AlertCreate, c)
}

func (s *Service) update(ctx context.Context, tx *store.Tx, old, c store.Channel, position int64, record recorder) error {
	c.UID, c.Position = old.UID, position
	if err := tx.Channels.Update(ctx, c, retryAfterUpdate(old, s.now())); err != nil {
		return gone(err)
	}
	if err := s.expectConsent(ctx, tx, c); err != nil {
		return err
	}
	return record(audit.AlertUpdate, c)
}

func (s *Service) remove(ctx context.Context, tx *store.Tx, old store.Channel, record recorder) error {
	if err := tx.Channels.Delete(ctx, old.OrgUID, old.UID); err != nil {
		return gone(err)
	}
	return record(audit.AlertDelete, old)
}

func invalid(problems []fault.Field, err error) error {
	if err != nil {
		return err
	}
	return fault.InvalidFields(problems...)
}

func gone(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return noSuchChannel()
	}
	return err
}
