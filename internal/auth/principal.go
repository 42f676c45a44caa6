package auth

import (
	"context"
	"errors"
	"fmt"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
)

// Role is what a principal is in its organization.
type Role string

// Roles. The operator works on the host's command line, belongs to no organization and may do everything.
const (
	RoleAdmin    Role = "admin"
	RoleMember   Role = "member"
	RoleOperator Role = "operator"
)

// Permission is something that not every role may do. Its text is part of the answer that refuses it.
type Permission string

// Permissions. What every user may do with its own things needs none.
const (
	ValidateRegistries Permission = "registry.validate" // and read those that are kept, secrets masked
	CreateRegistries   Permission = "registry.create"
	ChangeRegistries   Permission = "registry.update"
	DeleteRegistries   Permission = "registry.delete"
	SyncRegistries     Permission = "registry.sync"
	OpenRegistries     Permission = "registry.open" // read the secrets: the operator's, who has the key
	ReadOrgs           Permission = "org.list"
	CreateOrgs         Permission = "org.create"
	ReadAllProjects    Permission = "project.listAll"
	CreateProjects     Permission = "project.create"
	ChangeProjects     Permission = "project.update"
	DeleteProjects     Permission = "project.delete"
	ReadUsers          Permission = "user.list"
	CreateUsers        Permission = "user.create"
	ChangeUsers        Permission = "user.update" // names, email, role, projects, enabled or not
	DeleteUsers        Permission = "user.delete"
	ReadAllAudits      Permission = "audit.listAll"
	ReadAllAPIKeys     Permission = "apiKey.listAll"
	CreateAllAPIKeys   Permission = "apiKey.createForOthers"
	ManageAllAPIKeys   Permission = "apiKey.manageAll"
	SetPasswords       Permission = "user.setPassword" // #nosec G101 -- a word, not a credential
	DisableUsers       Permission = "user.disable"
	RevokeAllTokens    Permission = "token.revokeAll"
	ConfigureAlerts    Permission = "alert.update"
	RotateServiceKeys  Permission = "key.rotate" // the operator's: the keys serve all organizations
)

// granted lists what a role may do within its organization. The operator is not listed: it may do all.
var granted = map[Role]map[Permission]bool{
	RoleAdmin: {ValidateRegistries: true, ReadAllProjects: true, CreateProjects: true, ChangeProjects: true, DeleteProjects: true, ReadUsers: true,
		CreateUsers: true, ChangeUsers: true, DeleteUsers: true, ReadAllAudits: true, ReadAllAPIKeys: true, CreateAllAPIKeys: true, ManageAllAPIKeys: true,
		SetPasswords: true, DisableUsers: true, RevokeAllTokens: true, ConfigureAlerts: true,
		CreateRegistries: true, ChangeRegistries: true, DeleteRegistries: true, SyncRegistries: true},
	RoleMember: {ValidateRegistries: true},
}

// Principal is the caller, in its organization. The zero value may do nothing.
type Principal struct {
	UserUID, OrgUID, OrgName, Email string
	Role                            Role
	SessionUID, APIKeyUID           string // which of them is set depends on what was presented
	Method                          audit.AuthMethod
}

// Operator is the principal of the command line, which acts on the store by intent of whoever has the host.
func Operator() Principal {
	return Principal{Role: RoleOperator, Email: "operator", Method: audit.MethodCLI}
}

// May returns nil, or the fault that refuses a permission.
func (p Principal) May(permission Permission) error {
	if p.Can(permission) {
		return nil
	}
	return &fault.Error{Kind: fault.Forbidden, Code: fault.CodeOperationForbidden, Reason: string(permission),
		Message: fmt.Sprintf("Operation '%s' is forbidden. Ask an administrator of your organization for it.", permission)}
}

// Can tells what May decides.
func (p Principal) Can(permission Permission) bool {
	return p.Role == RoleOperator || granted[p.Role][permission]
}

// Event begins the audit record of something that the principal does.
func (p Principal) Event(origin audit.Origin, action audit.Action) audit.Event {
	return audit.Event{OrgUID: p.OrgUID, ActorUID: p.UserUID, ActorName: p.Email, Method: p.Method, Action: action, Origin: origin}
}

// Org returns the organization that a call is about. A user's is its own, whether it names it or not.
// An operator has to name one.
func (p Principal) Org(ctx context.Context, tx *store.Tx, name string) (store.Org, error) {
	canonical := Canonical(name)
	if p.Role != RoleOperator {
		if canonical != "" && canonical != Canonical(p.OrgName) {
			return store.Org{}, noSuchOrg() // the same answer whether it exists or not
		}
		return tx.Orgs.Get(ctx, p.OrgUID)
	}
	if canonical == "" {
		return store.Org{}, fault.InvalidFields(fault.Field{Field: "org", Problem: "is required"})
	}
	org, err := tx.Orgs.ByName(ctx, canonical)
	if errors.Is(err, store.ErrNotFound) {
		return store.Org{}, noSuchOrg()
	}
	return org, err
}

// FindOrgUID is Org for callers that need the uid only. The uid of a user's own organization is known without the store.
func (p Principal) FindOrgUID(ctx context.Context, tx *store.Tx, name string) (string, error) {
	if name == "" && p.OrgUID != "" {
		return p.OrgUID, nil
	}
	org, err := p.Org(ctx, tx, name)
	return org.UID, err
}

// NoSuchUser turns store.ErrNotFound into the fault of a missing user.
func NoSuchUser(err error) error {
	return asNotFound(err, "There is no such user in the organization.")
}

// FindUser finds a user by uid, or else by email, in the caller's organization or the one that an operator names.
func (p Principal) FindUser(ctx context.Context, tx *store.Tx, org, user string) (store.Org, store.User, error) {
	in, err := p.Org(ctx, tx, org)
	if err != nil {
		return store.Org{}, store.User{}, err
	}
	found, err := userOf(ctx, tx, in, user)
	return in, found, err
}

func userOf(ctx context.Context, tx *store.Tx, org store.Org, named string) (store.User, error) {
	user, err := tx.Users.Get(ctx, org.UID, named)
	if errors.Is(err, store.ErrNotFound) {
		user, err = tx.Users.ByEmail(ctx, org.UID, Canonical(named))
	}
	return user, NoSuchUser(err)
}

func noSuchOrg() error {
	return fault.ResourceNotFound("There is no organization of that name.")
}
