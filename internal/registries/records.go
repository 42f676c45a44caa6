package registries

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/regcheck"
)

// CodeRegistryExists says that the organization has a registry of that name.
const CodeRegistryExists = "RegistryAlreadyExists"

// Registry is a kept definition as it may be shown: masks stand where secrets are stored.
type Registry struct {
	UID, OrgUID, Name                       string
	Version                                 int64 // counts its replacements, from 1
	CreatedAt, UpdatedAt                    time.Time
	Annotations, Labels                     map[string]string
	Definition                              regcheck.Definition // byte for byte as it was sent
	Scope                                   string
	SyncSupported, SpectroManifest, Private bool
	Sync                                    SyncStatus
}

// Summary is a registry in a list.
type Summary = store.RegistrySummary

// Wanted is a definition that is to be kept.
type Wanted struct {
	Org                                     string // an operator names the organization; others leave it empty
	Name                                    string // unique in the organization
	ProjectUID                              string // of a new definition: the project to store it in, which cannot be deleted before it; may be empty
	Annotations, Labels                     map[string]string
	Definition                              regcheck.Definition
	Scope                                   string
	SyncSupported, SpectroManifest, Private bool
	SkipSync                                bool          // no synchronization because of this change
	Undecoded                               []fault.Field // problems of reading the request, told together with ours
}

// Create keeps a definition and returns its uid. The registry is not contacted.
//
// Faults: Invalid with the fields of the document that clients send (metadata.name, spec.endpoint, …);
// Forbidden, also at a quota of the organization; NotFound with CodeProjectNotFound; Conflict with CodeRegistryExists.
func (s *Service) Create(ctx context.Context, p auth.Principal, origin audit.Origin, w Wanted) (string, error) {
	if err := s.allowed(ctx, p, origin, auth.CreateRegistries, audit.RegistryCreate, w.Name); err != nil {
		return "", err
	}
	if problems := w.problems(maskProblems(w.Definition)); len(problems) > 0 {
		return "", fault.InvalidFields(problems...)
	}
	now := s.now()
	made := w.record()
	made.UID, made.Version, made.CreatedAt, made.UpdatedAt = uuid.NewString(), 1, now, now
	err := s.db.InTx(ctx, func(tx *store.Tx) error {
		org, err := p.Org(ctx, tx, w.Org)
		if err != nil {
			return err
		}
		made.OrgUID = org.UID
		if err := tx.Registries.Insert(ctx, made); err != nil {
			return nameTaken(err)
		}
		if err := s.withinQuota(ctx, tx, made.OrgUID, store.Usage{}); err != nil {
			return err
		}
		if err := putInProject(ctx, tx, made, w.ProjectUID); err != nil {
			return err
		}
		return s.changed(ctx, tx, p, origin, audit.RegistryCreate, made, w.SkipSync)
	})
	return made.UID, asDone("store a registry", s.recordRefusal(ctx, p, origin, audit.RegistryCreate, w.Name, err))
}

// putInProject stores a new definition in a project, which may have been deleted since the request began.
func putInProject(ctx context.Context, tx *store.Tx, made store.Registry, projectUID string) error {
	if projectUID == "" {
		return nil
	}
	err := tx.Projects.SetOfRegistry(ctx, made.OrgUID, made.UID, projectUID)
	if errors.Is(err, store.ErrNotFound) {
		return fault.NoSuchProject(fault.CodeProjectNotFound)
	}
	return err
}

// replaceTries bounds how often a replacement starts anew because another one came between.
const replaceTries = 4

// Replace puts another definition in the place of a kept one. Secrets that are empty or masked are the stored
// ones, if these may be sent where the new definition leads. The registry is not contacted.
//
// Faults: as Create; NotFound; Conflict with CodeSecretUnreadable when a stored secret is needed.
func (s *Service) Replace(ctx context.Context, p auth.Principal, origin audit.Origin, uid string, w Wanted) error {
	if err := s.allowed(ctx, p, origin, auth.ChangeRegistries, audit.RegistryUpdate, uid); err != nil {
		return err
	}
	for range replaceTries {
		again, err := s.replace(ctx, p, origin, uid, w)
		if !again {
			return asDone("replace a registry", s.recordRefusal(ctx, p, origin, audit.RegistryUpdate, uid, err))
		}
	}
	return fault.Busy("The registry is being changed by others at this moment. Try again.", time.Second)
}

// replace tries once. Certificates and keys are parsed outside the transaction, which therefore demands the
// version that was read.
func (s *Service) replace(ctx context.Context, p auth.Principal, origin audit.Origin, uid string, w Wanted) (again bool, err error) {
	kept, err := s.kept(ctx, p.OrgUID, uid)
	if err != nil {
		return false, err
	}
	filled, unfilled, err := kept.fill(w.Definition)
	if err != nil {
		return false, err
	}
	w.Definition = filled
	if problems := w.problems(unfilled); len(problems) > 0 {
		return false, fault.InvalidFields(problems...)
	}
	changed := w.record()
	changed.UID, changed.OrgUID, changed.Version = uid, kept.OrgUID, kept.Version
	changed.CreatedAt, changed.UpdatedAt = kept.CreatedAt, s.now()
	err = s.db.InTx(ctx, func(tx *store.Tx) error {
		before, err := tx.Registries.Usage(ctx, changed.OrgUID)
		if err != nil {
			return err
		}
		if err := tx.Registries.Replace(ctx, changed); err != nil {
			return nameTaken(err)
		}
		if err := s.withinQuota(ctx, tx, changed.OrgUID, before); err != nil {
			return err
		}
		return s.changed(ctx, tx, p, origin, audit.RegistryUpdate, changed, w.SkipSync)
	})
	return errors.Is(err, store.ErrNotFound), err // replaced or deleted meanwhile: look again
}

// changed does what belongs to every change of a definition, in its transaction.
func (s *Service) changed(ctx context.Context, tx *store.Tx, p auth.Principal, origin audit.Origin, action audit.Action, r store.Registry, skipSync bool) error {
	at, err := s.scheduleFirstCheck(ctx, tx, p, s.now())
	if err != nil {
		return err
	}
	if err := tx.Watch.Schedule(ctx, r.OrgUID, r.UID, at); err != nil {
		return err
	}
	if err := s.scheduleSync(ctx, tx, p, r, skipSync); err != nil {
		return err
	}
	return tx.Audits.Append(ctx, s.done(p, origin, action, r.OrgUID, r.UID))
}

// Delete forgets a definition and what was learned of it. A check of it that is under way ends as it would have.
//
// Faults: Forbidden; NotFound.
func (s *Service) Delete(ctx context.Context, p auth.Principal, origin audit.Origin, uid string) error {
	if err := s.allowed(ctx, p, origin, auth.DeleteRegistries, audit.RegistryDelete, uid); err != nil {
		return err
	}
	if !isUID(uid) {
		return noSuchRegistry()
	}
	err := s.db.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.Registries.Delete(ctx, p.OrgUID, uid); err != nil {
			return notFound(err)
		}
		return tx.Audits.Append(ctx, s.done(p, origin, audit.RegistryDelete, p.OrgUID, uid))
	})
	return asDone("delete a registry", err)
}

// Get returns a registry of the caller's organization.
//
// Faults: NotFound.
func (s *Service) Get(ctx context.Context, p auth.Principal, uid string) (Registry, error) {
	if !isUID(uid) {
		return Registry{}, noSuchRegistry()
	}
	var r store.Registry
	var row store.RegistrySync
	err := s.db.View(ctx, func(tx *store.Tx) (err error) {
		if r, err = tx.Registries.GetPlain(ctx, p.OrgUID, uid); err != nil {
			return notFound(err)
		}
		row, err = syncRow(ctx, tx, p.OrgUID, uid)
		return err
	})
	shown := visible(r)
	shown.Sync = syncStatusOf(r.SyncSupported, row)
	return shown, asDone("look up a registry", err)
}

// List returns the page of an organization's registries, by name, that follows one of them, and whether there may be more.
// The zero value precedes all. room is an earlier page, whose memory is used again, or nil: a list of thousands would otherwise
// cost more in garbage collection than in reading. An operator names the organization; others leave it empty.
func (s *Service) List(ctx context.Context, p auth.Principal, org string, after Summary, room []Summary) (list []Summary, more bool, err error) {
	err = s.db.View(ctx, func(tx *store.Tx) error {
		orgUID, err := p.FindOrgUID(ctx, tx, org)
		if err != nil {
			return err
		}
		list, more, err = tx.Registries.OfOrg(ctx, orgUID, after, room)
		return err
	})
	return list, more, asDone("list registries", err)
}

// Find looks a registry up by uid or name. An operator names the organization; others leave it empty.
//
// Faults: NotFound.
func (s *Service) Find(ctx context.Context, p auth.Principal, org, nameOrUID string) (Registry, error) {
	var r store.Registry
	err := s.db.View(ctx, func(tx *store.Tx) error {
		in, err := p.Org(ctx, tx, org)
		if err != nil {
			return err
		}
		if r, err = tx.Registries.ByName(ctx, in.UID, auth.Canonical(nameOrUID)); errors.Is(err, store.ErrNotFound) {
			r, err = tx.Registries.GetPlain(ctx, in.UID, nameOrUID)
		}
		return notFound(err)
	})
	return visible(r), asDone("look up a registry", err)
}

// allowed decides whether p may, and records a refusal.
func (s *Service) allowed(ctx context.Context, p auth.Principal, origin audit.Origin, permission auth.Permission, action audit.Action, object string) error {
	return s.recordRefusal(ctx, p, origin, action, object, p.May(permission))
}

// recordRefusal records an error that is a refusal, and returns it. Other errors pass.
func (s *Service) recordRefusal(ctx context.Context, p auth.Principal, origin audit.Origin, action audit.Action, object string, refusal error) error {
	if refusal == nil || fault.KindOf(refusal) != fault.Forbidden {
		return refusal
	}
	event := p.Event(origin, action)
	event.UID, event.At, event.Object, event.Outcome, event.Reason = audit.NewUID(), s.now(), object, audit.Refused, codeOf(refusal)
	if err := s.append(ctx, event); err != nil {
		return err
	}
	return refusal
}

func (s *Service) done(p auth.Principal, origin audit.Origin, action audit.Action, orgUID, uid string) audit.Event {
	event := p.Event(origin, action)
	event.UID, event.At, event.OrgUID, event.Object, event.Outcome = origin.RecordUID(), s.now(), orgUID, uid, audit.Succeeded
	return event
}

// isUID tells what can be a uid from the names that public clients put in its place, which may be any text.
func isUID(text string) bool {
	_, err := uuid.Parse(text)
	return err == nil && len(text) == len(uuid.UUID{}.String())
}

func notFound(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return noSuchRegistry()
	}
	return err
}

func nameTaken(err error) error {
	if errors.Is(err, store.ErrExists) {
		return &fault.Error{Kind: fault.Conflict, Code: CodeRegistryExists, Message: "Your organization has a registry of that name."}
	}
	return err
}

func asDone(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
