package registries

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
)

// Conflict codes.
const (
	CodeRegistryExists  = "RegistryAlreadyExists" // the organization uses the name already
	CodeRegistryChanged = "RegistryChanged"       // after the version that the caller has
)

// RegistryInput is a registry to store.
type RegistryInput struct {
	Kind                                    Kind              // that Replace requires; AnyKind: any
	Name                                    string            // unique in the organization
	ProjectUID                              string            // of a new definition: that cannot be deleted before it; may be empty
	Annotations, Labels                     map[string]string // nil: of a stored registry they stay
	Definition                              regcheck.Definition
	Scope                                   string
	SyncSupported, SpectroManifest, Private bool
	SkipSync                                bool          // no synchronization because of this change
	Version                                 int64         // that Replace requires; 0: any
	Undecoded                               []fault.Field // problems of decoding the request, reported with the others
	Origin                                  store.Origin  // of a new registry that is read from a cluster
	Delay                                   time.Duration // of the first check

	// Over returns the definition with the fields of a stored one, masked, that the format of the request does not have; nil if it has all.
	Over func(stored regcheck.Definition) regcheck.Definition
}

// over returns the input with the parts of a stored registry that it replaces without having them.
func (input RegistryInput) over(stored storedRegistry) RegistryInput {
	if input.Annotations == nil {
		input.Annotations = stored.Annotations
	}
	if input.Labels == nil {
		input.Labels = stored.Labels
	}
	if input.Over != nil {
		sent := input.Definition
		input.Definition = input.Over(masked(stored.Registry))
		if !sameTarget(input.Definition, masked(stored.Registry)) || stored.damage != nil && input.Kind == ECRKind {
			dropTaken(input.Definition.Auth, sent.Auth)
		}
	}
	return input
}

// dropTaken removes the masks that a definition has from a stored one, a key with its certificate. Stored secrets are not sent to another
// target, and Terraform's provider has no field for these. The format of ECR has none for a session token that cannot be decrypted either.
func dropTaken(a, sent *regcheck.Auth) {
	if a == nil || sent == nil {
		return
	}
	given := map[string]bool{}
	for _, s := range sent.Secrets() {
		given[s.Field] = *s.Value != ""
	}
	for _, s := range a.Secrets() {
		if *s.Value != mask || given[s.Field] {
			continue
		}
		if *s.Value = ""; s.Field == "auth.tls.key" {
			a.TLS.Certificate = ""
		}
	}
}

// Create stores a registry and returns its uid. The registry is not contacted by the call.
//
// Faults: Invalid with the fields of the document that clients send (metadata.name, spec.endpoint, …);
// Forbidden, also at a quota of the organization; NotFound with CodeProjectNotFound; Conflict with CodeRegistryExists.
func (s *Service) Create(ctx context.Context, p auth.Principal, origin audit.Origin, input RegistryInput) (string, error) {
	if err := s.recordRefusal(ctx, p, origin, audit.RegistryCreate, input.Name,
		p.MayIn(access.CreateRegistries, input.ProjectUID)); err != nil {
		return "", err
	}
	return s.create(ctx, p, origin, input, input.definitionProblems(maskProblems(input.Definition)))
}

// create stores a registry whose permission was checked, with the problems of its definition.
func (s *Service) create(ctx context.Context, p auth.Principal, origin audit.Origin, input RegistryInput,
	found []fault.Field) (string, error) {
	if problems := input.problems(found); len(problems) > 0 {
		return "", fault.InvalidFields(problems...)
	}
	now := s.now()
	created := input.row()
	created.UID, created.Version, created.CreatedAt, created.UpdatedAt = uuid.NewString(), 1, now, now
	err := s.db.InTx(ctx, func(tx *store.Tx) error {
		org, err := p.Org(ctx, tx)
		if err != nil {
			return err
		}
		created.OrgUID = org.UID
		if err := tx.Registries.Insert(ctx, created); err != nil {
			return auth.OrgNotFound(nameTaken(err)) // deleted concurrently
		}
		if err := s.checkQuota(ctx, tx, created.OrgUID, store.Usage{}); err != nil {
			return err
		}
		if err := putInProject(ctx, tx, created, input.ProjectUID); err != nil {
			return err
		}
		if input.Origin.Object != "" {
			if err := tx.Origins.Set(ctx, created.OrgUID, created.UID, input.Origin); err != nil {
				return err
			}
		}
		return s.changed(ctx, tx, p, s.succeeded(p, origin, audit.RegistryCreate, created.OrgUID, created.UID), created, input)
	})
	return created.UID, fault.Wrap("store a registry", s.recordRefusal(ctx, p, origin, audit.RegistryCreate, input.Name, err))
}

// putInProject stores a new definition in a project, which may have been deleted since the request began.
func putInProject(ctx context.Context, tx *store.Tx, created store.Registry, projectUID string) error {
	if projectUID == "" {
		return nil
	}
	err := tx.Projects.SetOfRegistry(ctx, created.OrgUID, created.UID, projectUID)
	if errors.Is(err, store.ErrNotFound) {
		return fault.ProjectNotFound(fault.CodeProjectNotFound)
	}
	return err
}

// replaceAttempts is how often a replacement is attempted while concurrent ones succeed.
const replaceAttempts = 4

// Replace replaces a stored registry. Annotations and labels that are nil stay. Secrets that are empty or masked are the stored ones, if
// these may be sent to the target of the new definition. The registry is not contacted by the call.
//
// Faults: as Create; NotFound; Conflict with CodeRegistryChanged or CodeRegistryReadOnly, or with CodeSecretUnreadable when a stored secret
// is needed.
func (s *Service) Replace(ctx context.Context, p auth.Principal, origin audit.Origin, uid string, input RegistryInput) error {
	if err := s.allowedOn(ctx, p, origin, access.ChangeRegistries, audit.RegistryUpdate, uid); err != nil {
		return err
	}
	for range replaceAttempts {
		again, err := s.replace(ctx, p, origin, uid, input)
		if !again {
			return fault.Wrap("replace a registry", s.recordRefusal(ctx, p, origin, audit.RegistryUpdate, uid, err))
		}
	}
	return fault.Busy("The registry is being changed concurrently. Try again.", time.Second)
}

// replace attempts it once. Certificates and keys are parsed outside the transaction, which therefore requires the version that was
// read.
func (s *Service) replace(ctx context.Context, p auth.Principal, origin audit.Origin, uid string,
	input RegistryInput) (again bool, err error) {
	stored, err := s.read(ctx, p.OrgUID, uid)
	if err != nil {
		return false, err
	}
	if !input.Kind.is(stored.Registry) {
		return false, NotFound(store.ErrNotFound)
	}
	if err := readOnly(stored.Origin); err != nil {
		return false, err
	}
	if input.Version != 0 && input.Version != stored.Version {
		return false, &fault.Error{Kind: fault.Conflict, Code: CodeRegistryChanged,
			Message: "The registry was changed after you opened it. Your changes are not stored."}
	}
	input = input.over(stored)
	filled, unfilled, err := stored.fill(input.Definition)
	if err != nil {
		return false, err
	}
	input.Definition = filled
	if problems := input.problems(input.definitionProblems(unfilled)); len(problems) > 0 {
		return false, fault.InvalidFields(problems...)
	}
	err = s.storeReplacement(ctx, p, origin, stored, input)
	return errors.Is(err, store.ErrNotFound), err // replaced or deleted concurrently: read it again
}

// storeReplacement replaces what was read by an input without problems.
func (s *Service) storeReplacement(ctx context.Context, p auth.Principal, origin audit.Origin, stored storedRegistry,
	input RegistryInput) error {
	changed := input.row()
	changed.Kind = string(kindOf(input.Definition, Kind(stored.Kind)))
	changed.UID, changed.OrgUID, changed.Version = stored.UID, stored.OrgUID, stored.Version
	changed.CreatedAt, changed.UpdatedAt = stored.CreatedAt, s.now()
	return s.db.InTx(ctx, func(tx *store.Tx) error {
		before, err := tx.Registries.Usage(ctx, changed.OrgUID)
		if err != nil {
			return err
		}
		if err := tx.Registries.Replace(ctx, changed); err != nil {
			return nameTaken(err)
		}
		if err := s.checkQuota(ctx, tx, changed.OrgUID, before); err != nil {
			return err
		}
		fields := changedFields(stored.Registry, changed)
		record := s.succeeded(p, origin, audit.RegistryUpdate, changed.OrgUID, changed.UID)
		record.Reason = audit.ChangedReason(fields)
		if err := s.changed(ctx, tx, p, record, changed, input); err != nil {
			return err
		}
		return clearExpiry(ctx, tx, changed, fields)
	})
}

// clearExpiry removes what checks of the definition before saw of certificates or credentials that are others now, by the changed fields:
// the next check could not raise an alert of those that expire soon. A client certificate, which may be renewed each day, does not count:
// there would be an alert each day of the certificate of the server.
func clearExpiry(ctx context.Context, tx *store.Tx, r store.Registry, fields []string) error {
	ofCredentials := func(field string) bool {
		return strings.HasPrefix(field, "auth.") && !strings.HasPrefix(field, "auth.tls.") && field != "auth.passCredentials"
	}
	certificates, credentials := slices.Contains(fields, "endpoint"), slices.ContainsFunc(fields, ofCredentials)
	if !certificates && !credentials {
		return nil
	}
	return tx.Watch.ClearExpiry(ctx, r.OrgUID, r.UID, certificates, credentials)
}

// changed schedules the first check and the synchronization of a changed definition and records the change, in its transaction.
func (s *Service) changed(ctx context.Context, tx *store.Tx, p auth.Principal, record audit.Record, r store.Registry,
	input RegistryInput) error {
	at, err := s.scheduleFirstCheck(ctx, tx, p, s.now())
	if err != nil {
		return err
	}
	if err := tx.Watch.Schedule(ctx, r.OrgUID, r.UID, at.Add(input.Delay)); err != nil {
		return err
	}
	if err := s.scheduleSync(ctx, tx, p, r, input.SkipSync); err != nil {
		return err
	}
	return tx.Audits.Append(ctx, record)
}

// scheduleSync schedules the synchronization of a changed definition, and drops a running one of the old definition.
func (s *Service) scheduleSync(ctx context.Context, tx *store.Tx, p auth.Principal, r store.Registry, skip bool) error {
	switch {
	case !r.SyncSupported:
		return tx.Syncs.Drop(ctx, r.OrgUID, r.UID)
	case skip:
		return tx.Syncs.Hold(ctx, r.OrgUID, r.UID)
	}
	at, err := s.scheduleFirstCheck(ctx, tx, p, s.now())
	if err != nil {
		return err
	}
	return tx.Syncs.Schedule(ctx, r.OrgUID, r.UID, at)
}

// Delete deletes a stored registry with its history and content. The result of a running check is dropped. One that is read from a cluster
// can be deleted when no server reads this cluster.
//
// Faults: Forbidden; NotFound; Conflict with CodeRegistryReadOnly.
func (s *Service) Delete(ctx context.Context, p auth.Principal, origin audit.Origin, uid string) error {
	if err := s.allowedOn(ctx, p, origin, access.DeleteRegistries, audit.RegistryDelete, uid); err != nil {
		return err
	}
	if err := CheckUID(uid); err != nil {
		return err
	}
	err := s.db.InTx(ctx, func(tx *store.Tx) error {
		object, err := tx.Origins.ReadFrom(ctx, p.OrgUID, uid, s.now())
		if err == nil {
			err = readOnly(object)
		}
		if err != nil {
			return err
		}
		return s.delete(ctx, tx, p, origin, uid)
	})
	return fault.Wrap("delete a registry", err)
}

func (s *Service) delete(ctx context.Context, tx *store.Tx, p auth.Principal, origin audit.Origin, uid string) error {
	if err := tx.Registries.Delete(ctx, p.OrgUID, uid); err != nil {
		return NotFound(err)
	}
	return tx.Audits.Append(ctx, s.succeeded(p, origin, audit.RegistryDelete, p.OrgUID, uid))
}

func nameTaken(err error) error {
	return auth.ExistsAs(err, CodeRegistryExists, "A registry with this name already exists in your organization.")
}
