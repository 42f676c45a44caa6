package directory

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/storage/identities"
	"github.com/regwarden/regwarden/internal/storage/provisioned"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// CodeExternalIDExists is the code of a conflict of two users, or two teams, that the identity provider calls alike.
const CodeExternalIDExists = "ExternalIdAlreadyExists"

// Provisioning is what the identity provider of an organization does to its users and teams by SCIM. It requires access.Provision; for the
// rest the user of the API key decides, without the limit of the key.
type Provisioning struct{ *Directory }

// ProvisionedUser is a user as SCIM knows it.
type ProvisionedUser struct {
	UID, Email string
	PersonName
	ExternalID string // of the identity provider; may be empty
	Active     bool
	CreatedAt  time.Time
}

// Lookup finds at most one user or team, by the only field that is set, or if none is set, a page of all.
type Lookup struct {
	UID, Name, ExternalID *string // Name is the email of a user
	Limit, Offset         int
}

// problems lists the problems of a user, under emailId, name, firstName, lastName and externalId.
func (u ProvisionedUser) problems() []fault.Field {
	all := append(fault.FieldProblem("emailId", names.EmailProblem(u.Email)), u.PersonName.problems()...)
	return append(all, fault.FieldProblem("externalId", externalProblem(u.ExternalID))...)
}

// externalProblem allows what can be a subject of OpenID Connect, and names.
func externalProblem(id string) string {
	if id == "" {
		return ""
	}
	return names.NameProblem(id)
}

func visibleProvisioned(u provisioned.User) ProvisionedUser {
	return ProvisionedUser{UID: u.UID, Email: u.Email, PersonName: PersonName{u.Name, u.FirstName, u.LastName}, ExternalID: u.ExternalID,
		Active: u.DisabledAt.IsZero(), CreatedAt: u.CreatedAt}
}

// own returns the caller without the limit of its API key, or the fault of a caller who may not provision or lacks the permission itself.
func (d Provisioning) own(p auth.Principal, needs access.Permission) (auth.Principal, error) {
	if err := p.May(access.Provision); err != nil {
		return p, err
	}
	p.Limit = access.Limit{}
	return p, p.May(needs)
}

// Users returns the users that a lookup finds, and how many there are in all.
//
// Faults: Forbidden.
func (d Provisioning) Users(ctx context.Context, p auth.Principal, by Lookup) (list []ProvisionedUser, total int64, err error) {
	own, err := d.own(p, access.ReadUsers)
	if err != nil {
		return nil, 0, err
	}
	err = d.db.View(ctx, func(tx *store.Tx) error {
		orgUID, err := own.FindOrgUID(ctx, tx)
		if err != nil {
			return err
		}
		found, count, err := lookUp(ctx, tx.SCIM.Users, orgUID, by, names.Canonical)
		list, total = nil, count
		for _, user := range found {
			list = append(list, visibleProvisioned(user))
		}
		return err
	})
	return list, total, fault.Wrap("list provisioned users", err)
}

// lookUp returns the users or teams that a lookup finds, and how many there are in all. stored returns a name as it is stored.
func lookUp[T any](ctx context.Context, in provisioned.Records[T], orgUID string, by Lookup, stored func(name string) string) (
	list []T, total int64, err error) {
	var one T
	switch {
	case by.UID != nil:
		one, err = in.Get(ctx, orgUID, *by.UID)
	case by.Name != nil:
		one, err = in.ByName(ctx, orgUID, stored(*by.Name))
	case by.ExternalID != nil:
		one, err = in.ByExternalID(ctx, orgUID, *by.ExternalID)
	default:
		if total, err = in.Count(ctx, orgUID); err == nil && by.Limit > 0 {
			list, err = in.Page(ctx, orgUID, by.Limit, by.Offset)
		}
		return list, total, err
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil, 0, nil
	}
	return []T{one}, 1, err
}

// User returns a user by uid.
//
// Faults: Forbidden; NotFound.
func (d Provisioning) User(ctx context.Context, p auth.Principal, uid string) (ProvisionedUser, error) {
	list, _, err := d.Users(ctx, p, Lookup{UID: &uid})
	if err == nil && len(list) == 0 {
		err = auth.UserNotFound(store.ErrNotFound)
	}
	if err != nil {
		return ProvisionedUser{}, err
	}
	return list[0], nil
}

// provision makes a change while no other one of the organization's provisioning or teams is made.
func (d Provisioning) provision(ctx context.Context, p auth.Principal, origin audit.Origin, needs access.Permission, action audit.Action,
	object string, change func(tx *store.Tx, own auth.Principal, orgUID string) (changeResult, error)) error {
	return d.change(ctx, attempt{origin: origin, principal: p, permission: access.Provision, action: action, object: object, byKey: true},
		func(tx *store.Tx) (changeResult, error) {
			own, err := d.own(p, needs)
			if err != nil {
				return changeResult{}, err
			}
			orgUID, err := own.FindOrgUID(ctx, tx)
			if err == nil {
				err = auth.OrgNotFound(tx.Orgs.Lock(ctx, orgUID))
			}
			if err != nil {
				return changeResult{}, err
			}
			return change(tx, own, orgUID)
		})
}

// CreateUser creates a user without a password. Its first login at the identity provider leads to it, if the login has the external id.
//
// Faults: Invalid with emailId, name, firstName, lastName, externalId; Forbidden; Conflict with CodeUserExists, CodeExternalIDExists.
func (d Provisioning) CreateUser(ctx context.Context, p auth.Principal, origin audit.Origin, input ProvisionedUser) (
	ProvisionedUser, error) {
	if problems := input.problems(); len(problems) > 0 {
		return input, fault.InvalidFields(problems...)
	}
	now := d.now()
	input.UID, input.Email, input.CreatedAt = uuid.NewString(), strings.TrimSpace(input.Email), now
	err := d.provision(ctx, p, origin, access.CreateUsers, audit.UserCreate, input.Email,
		func(tx *store.Tx, own auth.Principal, orgUID string) (changeResult, error) {
			role, err := roleOfNew(ctx, tx, orgUID)
			if err == nil {
				err = mayGive(ctx, tx, own, orgUID, role, nil)
			}
			if err == nil {
				err = userExists(tx.Users.Insert(ctx, store.User{UID: input.UID, OrgUID: orgUID, Email: input.Email,
					Canonical: names.Canonical(input.Email), Role: string(role), Name: input.Name, FirstName: input.FirstName,
					LastName: input.LastName, PasswordChangedAt: now, CreatedAt: now}))
			}
			if err == nil {
				err = externalExists(tx.SCIM.PutUser(ctx, orgUID, input.UID, input.ExternalID, true))
			}
			if err == nil && !input.Active {
				err = tx.Users.Disable(ctx, orgUID, input.UID, now)
			}
			return changeResult{orgUID: orgUID, uid: input.UID}, err
		})
	return input, err
}

// roleOfNew returns the role of a new user: as after its first login, none if the identity provider decides about teams.
func roleOfNew(ctx context.Context, tx *store.Tx, orgUID string) (auth.Role, error) {
	provider, err := tx.Identities.Provider(ctx, orgUID)
	if errors.Is(err, store.ErrNotFound) {
		provider, err = identities.Provider{}, nil
	}
	if provider.Settings.UseTeams() {
		return access.None, err
	}
	return auth.RoleMember, err
}

func externalExists(err error) error {
	return auth.ExistsAs(err, CodeExternalIDExists, "The organization already has one with this externalId.")
}

// ChangeUser changes a user. change gets what is stored and returns what to store; its uid and time do not count.
//
// Faults: as of CreateUser, and NotFound; Forbidden also for disabling the caller's own user; Conflict with CodeLastAdmin.
func (d Provisioning) ChangeUser(ctx context.Context, p auth.Principal, origin audit.Origin, uid string,
	change func(stored ProvisionedUser) (ProvisionedUser, error)) (next ProvisionedUser, err error) {
	err = d.provision(ctx, p, origin, access.ChangeUsers, audit.UserUpdate, uid,
		func(tx *store.Tx, own auth.Principal, orgUID string) (changeResult, error) {
			user, stored, err := provisionedUser(ctx, tx, own, orgUID, uid)
			if err != nil {
				return changeResult{}, err
			}
			if next, err = change(stored); err != nil {
				return changeResult{}, err
			}
			if problems := next.problems(); len(problems) > 0 {
				return changeResult{}, fault.InvalidFields(problems...)
			}
			next.UID, next.CreatedAt, next.Email = stored.UID, stored.CreatedAt, strings.TrimSpace(next.Email)
			fields := changedFields(stored, next)
			result := changeResult{orgUID: orgUID, uid: uid, reason: audit.ChangedReason(fields), unchanged: len(fields) == 0}
			if stored.Active != next.Active {
				if result.action = audit.UserDisable; next.Active {
					result.action = audit.UserEnable
				}
				err = d.setActive(ctx, tx, own, user, next.Active)
			}
			if err == nil && stored.ExternalID != next.ExternalID {
				err = externalExists(tx.SCIM.PutUser(ctx, orgUID, uid, next.ExternalID, false))
			}
			if err == nil && (stored.Email != next.Email || stored.PersonName != next.PersonName) {
				err = userExists(tx.Users.Update(ctx, store.User{UID: uid, OrgUID: orgUID, Email: next.Email,
					Canonical: names.Canonical(next.Email), Name: next.Name, FirstName: next.FirstName, LastName: next.LastName}))
			}
			return result, err
		})
	return next, err
}

// provisionedUser returns a user whom the caller may change. It stays as it is until the transaction ends.
func provisionedUser(ctx context.Context, tx *store.Tx, own auth.Principal, orgUID, uid string) (store.User, ProvisionedUser, error) {
	err := tx.Users.Lock(ctx, orgUID, uid)
	user, stored := store.User{}, provisioned.User{}
	if err == nil {
		user, err = tx.Users.Get(ctx, orgUID, uid)
	}
	if err == nil {
		stored, err = tx.SCIM.Users.Get(ctx, orgUID, uid)
	}
	if err == nil {
		err = own.Covers(ctx, tx, user)
	}
	return user, visibleProvisioned(stored), auth.UserNotFound(err)
}

func changedFields(a, b ProvisionedUser) (fields []string) {
	for _, field := range []struct {
		name    string
		changed bool
	}{{"emailId", a.Email != b.Email}, {"name", a.Name != b.Name}, {"firstName", a.FirstName != b.FirstName},
		{"lastName", a.LastName != b.LastName}, {"externalId", a.ExternalID != b.ExternalID}, {"isActive", a.Active != b.Active}} {
		if field.changed {
			fields = append(fields, field.name)
		}
	}
	return fields
}

// setActive disables or enables a user as DisableUser and EnableUser do.
func (d Provisioning) setActive(ctx context.Context, tx *store.Tx, own auth.Principal, user store.User, active bool) error {
	if err := own.May(access.DisableUsers); err != nil {
		return err
	}
	if user.UID == own.UserUID {
		return notSelf(access.DisableUsers)
	}
	if active {
		return tx.Users.Enable(ctx, user.OrgUID, user.UID)
	}
	if err := keepAdmin(ctx, tx, own, user); err != nil {
		return err
	}
	return tx.Users.Disable(ctx, user.OrgUID, user.UID, d.now())
}

// DeleteUser deletes a user.
//
// Faults: Forbidden, also for the caller's own user; NotFound; Conflict with CodeLastAdmin.
func (d Provisioning) DeleteUser(ctx context.Context, p auth.Principal, origin audit.Origin, uid string) error {
	return d.provision(ctx, p, origin, access.DeleteUsers, audit.UserDelete, uid,
		func(tx *store.Tx, own auth.Principal, orgUID string) (changeResult, error) {
			user, _, err := provisionedUser(ctx, tx, own, orgUID, uid)
			if err == nil && user.UID == own.UserUID {
				err = notSelf(access.DeleteUsers)
			}
			if err == nil {
				err = keepAdmin(ctx, tx, own, user)
			}
			if err == nil {
				err = tx.Users.Delete(ctx, orgUID, uid)
			}
			return changeResult{orgUID: orgUID, uid: uid}, err
		})
}

// SameEmail reports whether two texts are one email.
func SameEmail(a, b string) bool { return names.Canonical(a) == names.Canonical(b) }
