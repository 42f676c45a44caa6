// Package mutes manages times without alerts: of a registry, of those with a label, or of the whole organization. Checks go on. A
// registry whose health after a mute differs from that before it raises an alert then.
package mutes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/storage/mutes"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// Limits.
const (
	maxMutes = 100 // of an organization: a check reads them
	longest  = 366 * 24 * time.Hour
	maxText  = 256 // bytes of a label and of a reason
)

// Input is a new mute. Without registry and label it is of the whole organization.
type Input struct {
	RegistryUID, Label string    // KEY=VALUE, or KEY alone for every value
	From               time.Time // zero for now
	Until              time.Time
	Reason             string
}

// Mute is a time without alerts.
type Mute struct {
	Input
	UID, RegistryName, CreatedBy string
	CreatedAt                    time.Time
	Active                       bool // now; else it begins later
	MayDelete                    bool // the caller may end it
}

// Mutes is safe for concurrent use.
type Mutes struct {
	db  *store.DB
	now func() time.Time
}

// New returns the mutes of an open store.
func New(db *store.DB, now func() time.Time) *Mutes { return &Mutes{db, now} }

func (i Input) problems(now time.Time) (problems []fault.Field) {
	from := i.From
	if from.IsZero() {
		from = now
	}
	for _, rule := range []struct {
		broken         bool
		field, problem string
	}{
		{i.RegistryUID != "" && i.Label != "", "label", "cannot be combined with registryUid"},
		{len(i.Label) > maxText || strings.HasPrefix(i.Label, "="), "label",
			fmt.Sprintf("must be KEY or KEY=VALUE, at most %d bytes", maxText)},
		{len(i.Reason) > maxText, "reason", fmt.Sprintf("must be at most %d bytes", maxText)},
		{i.Until.IsZero(), "until", "is required"},
		{!i.Until.IsZero() && (!i.Until.After(now) || !i.Until.After(from)), "until", "must be in the future and after from"},
		{i.Until.Sub(now) > longest, "until", "must be within a year"},
	} {
		if rule.broken {
			problems = append(problems, fault.Field{Field: rule.field, Problem: rule.problem})
		}
	}
	return problems
}

// Create stores a mute. It requires access.ConfigureAlerts, of a registry in the project of the registry.
//
// Faults: Invalid with the fields of Input; Forbidden; NotFound for a registry that the caller may not read.
func (m *Mutes) Create(ctx context.Context, p auth.Principal, origin audit.Origin, input Input) (string, error) {
	now := m.now()
	if problems := input.problems(now); len(problems) > 0 {
		return "", fault.InvalidFields(problems...)
	}
	key, value, _ := strings.Cut(input.Label, "=")
	created := mutes.Mute{UID: uuid.NewString(), OrgUID: p.OrgUID, RegistryUID: input.RegistryUID, Key: key, Value: value,
		Reason: strings.TrimSpace(input.Reason), CreatedBy: p.Email, From: input.From, Until: input.Until, CreatedAt: now}
	if created.From.IsZero() {
		created.From = now
	}
	err := m.change(ctx, p, origin, audit.AlertMute, created, func(tx *store.Tx) error {
		existing, err := tx.Mutes.OfOrg(ctx, p.OrgUID, now)
		if err == nil && len(existing) >= maxMutes {
			return fault.InvalidField("until", fmt.Sprintf("exceeds the limit of %d mutes per organization; delete one first", maxMutes))
		}
		if err != nil {
			return err
		}
		return tx.Mutes.Insert(ctx, created)
	})
	return created.UID, err
}

// Delete ends a mute, with the permission that creating it requires.
//
// Faults: Forbidden; NotFound.
func (m *Mutes) Delete(ctx context.Context, p auth.Principal, origin audit.Origin, uid string) error {
	found, err := store.Read(ctx, m.db, func(tx *store.Tx) (mutes.Mute, error) { return tx.Mutes.Get(ctx, p.OrgUID, uid) })
	if errors.Is(err, store.ErrNotFound) || err == nil && !visible(p, found) {
		return fault.ResourceNotFound("Mute not found.")
	}
	if err != nil {
		return fault.Wrap("look up a mute", err)
	}
	return m.change(ctx, p, origin, audit.AlertUnmute, found, func(tx *store.Tx) error {
		if err := tx.Mutes.Delete(ctx, p.OrgUID, uid); !errors.Is(err, store.ErrNotFound) {
			return err
		}
		return fault.ResourceNotFound("Mute not found.") // deleted concurrently
	})
}

// change makes a change if the caller may, and records it or the refusal.
func (m *Mutes) change(ctx context.Context, p auth.Principal, origin audit.Origin, action audit.Action, of mutes.Mute,
	do func(*store.Tx) error) error {
	record := p.AuditRecord(origin, action)
	record.UID, record.At, record.Object, record.Outcome = origin.RecordUID(), m.now(), of.UID, audit.Succeeded
	var refusal error
	err := m.db.InTx(ctx, func(tx *store.Tx) error {
		project, err := projectOf(ctx, tx, p, of)
		if err != nil {
			return err
		}
		if refusal = p.MayIn(access.ConfigureAlerts, project); refusal != nil {
			record.Outcome, record.Reason = audit.Refused, fault.CodeOperationForbidden
		} else if err := do(tx); err != nil {
			return err
		}
		return tx.Audits.Append(ctx, record)
	})
	if err == nil {
		err = refusal
	}
	return fault.Wrap(string(action), err)
}

// projectOf returns the project of the registry that is muted, "" without one. An unknown registry is NotFound.
func projectOf(ctx context.Context, tx *store.Tx, p auth.Principal, of mutes.Mute) (string, error) {
	if of.RegistryUID == "" {
		return "", nil
	}
	project, err := tx.Projects.OfRegistry(ctx, p.OrgUID, of.RegistryUID)
	if errors.Is(err, store.ErrNotFound) || err == nil && !p.CanIn(access.ReadRegistries, project) {
		return "", fault.InvalidField("registryUid", "does not exist in your organization")
	}
	return project, err
}

// List lists the mutes that have not ended, the first to begin first, without those of registries that the caller may not read.
func (m *Mutes) List(ctx context.Context, p auth.Principal) (list []Mute, err error) {
	if err := p.MayAnywhere(access.ReadRegistries); err != nil {
		return nil, err
	}
	now := m.now()
	found, err := store.Read(ctx, m.db, func(tx *store.Tx) ([]mutes.Mute, error) { return tx.Mutes.OfOrg(ctx, p.OrgUID, now) })
	for _, f := range found {
		if !visible(p, f) {
			continue
		}
		label := f.Key
		if f.Value != "" {
			label += "=" + f.Value
		}
		list = append(list, Mute{Input: Input{f.RegistryUID, label, f.From, f.Until, f.Reason}, UID: f.UID, RegistryName: f.RegistryName,
			CreatedBy: f.CreatedBy, CreatedAt: f.CreatedAt, Active: !now.Before(f.From),
			MayDelete: p.CanIn(access.ConfigureAlerts, f.ProjectUID)})
	}
	return list, fault.Wrap("list mutes", err)
}

func visible(p auth.Principal, m mutes.Mute) bool {
	return m.RegistryUID == "" && p.Limit.Project == "" || m.RegistryUID != "" && p.CanIn(access.ReadRegistries, m.ProjectUID)
}
