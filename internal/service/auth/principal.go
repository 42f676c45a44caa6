package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/service/membership"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// Role is the role of a principal in its organization.
type Role = access.Role

// Roles that the code names.
const (
	RoleAdmin    = access.Admin
	RoleMember   = access.Member
	RoleOperator = access.Operator
)

// Principal is the caller and its organization. The zero value has no permission.
type Principal struct {
	UserUID, OrgUID, OrgName, Email string
	Role                            Role
	Grants                          *access.Grants // in projects; nil for none
	SessionUID, APIKeyUID           string         // which one is set depends on the credential
	Method                          audit.AuthMethod
	Limit                           access.Limit // of the API key; the zero value for other credentials
}

// Operator is the principal of the command line. Access to the host grants it.
func Operator() Principal {
	return Principal{Role: RoleOperator, Email: "operator", Method: audit.MethodCLI}
}

// May returns nil, or the fault that refuses a permission.
func (p Principal) May(permission access.Permission) error {
	if p.Can(permission) {
		return nil
	}
	whom := "Ask an administrator of your organization for it."
	switch {
	case !p.Limit.None() && !p.Limit.Allows(permission, p.Limit.Project):
		whom = "The API key is limited: use another one, or log in."
	case access.OperatorOnly(permission):
		whom = "Only the operator may do it, on the server, with the command line of regwarden."
	}
	return &fault.Error{Kind: fault.Forbidden, Code: fault.CodeOperationForbidden, Reason: string(permission),
		Message: fmt.Sprintf("Operation '%s' is forbidden. %s", permission, whom)}
}

// Can reports whether May returns nil.
func (p Principal) Can(permission access.Permission) bool {
	return p.Limit.Allows(permission, "") && p.Grants.Of(p.Role, permission)
}

// CanIn reports whether the principal has a permission in a project, or in the whole organization. The empty project is what is in none.
func (p Principal) CanIn(permission access.Permission, project string) bool {
	return p.Limit.Allows(permission, project) && (p.Grants.Of(p.Role, permission) || p.Grants.In(project, permission))
}

// MayIn is May for a project.
func (p Principal) MayIn(permission access.Permission, project string) error {
	if p.CanIn(permission, project) {
		return nil
	}
	return p.May(permission)
}

// CanAnywhere reports whether the principal has a permission in the organization or in one of its projects.
func (p Principal) CanAnywhere(permission access.Permission) bool {
	return p.Can(permission) || len(p.Where(permission)) > 0
}

// Where lists the projects, by uid, in which a principal has a permission that it does not have in the whole organization.
func (p Principal) Where(permission access.Permission) (projects []string) {
	if p.Limit.Project == "" && !p.Limit.Allows(permission, "") {
		return nil
	}
	if p.Limit.Project == "" {
		return p.Grants.Where(permission)
	}
	if p.CanIn(permission, p.Limit.Project) {
		projects = []string{p.Limit.Project}
	}
	return projects
}

// MayAnywhere returns nil if CanAnywhere, or the fault of May.
func (p Principal) MayAnywhere(permission access.Permission) error {
	if p.CanAnywhere(permission) {
		return nil
	}
	return p.May(permission)
}

// withGrants reads the roles in projects and by teams of a principal whose stored role says that there are some: its permissions are the
// union of all.
func (p Principal) withGrants(ctx context.Context, tx *store.Tx) (Principal, error) {
	if !p.Role.Includes(access.More) {
		return p.withCustom(ctx, tx)
	}
	granted, err := tx.Teams.Granted(ctx, p.OrgUID, p.UserUID)
	p.Role, p.Grants = cmp.Or(p.Role.Direct(), access.None), &access.Grants{Projects: map[string]access.Role{}}
	for _, g := range granted {
		if role := access.Role(g.Roles); g.ProjectUID == "" {
			p.Role = p.Role.And(role)
		} else {
			p.Grants.Projects[g.ProjectUID] = p.Grants.Projects[g.ProjectUID].And(role)
		}
	}
	if err != nil {
		return p, err
	}
	return p.withCustom(ctx, tx)
}

// withCustom reads the roles of the organization of a principal who has one of them.
func (p Principal) withCustom(ctx context.Context, tx *store.Tx) (Principal, error) {
	custom := p.Role.HasCustom()
	if p.Grants != nil {
		custom = custom || slices.ContainsFunc(slices.Collect(maps.Values(p.Grants.Projects)), access.Role.HasCustom)
	}
	if !custom {
		return p, nil
	}
	defined, err := membership.Custom(ctx, tx, p.OrgUID)
	if p.Grants == nil {
		p.Grants = &access.Grants{}
	}
	p.Grants.Custom = defined
	return p, err
}

// HasAll reports whether the caller has all permissions that roles can grant.
func (p Principal) HasAll() bool {
	return p.Role == RoleOperator || p.Role.Includes(RoleAdmin) && p.Limit.None()
}

// Covers returns nil if the caller may do all that a user may, else the fault of a permission that only the user has: with the password
// or a key of the user it would have that too.
func (p Principal) Covers(ctx context.Context, tx *store.Tx, user store.User) error {
	if p.HasAll() || user.UID == p.UserUID {
		return nil
	}
	of, err := Principal{UserUID: user.UID, OrgUID: user.OrgUID, Role: Role(user.Role)}.withGrants(ctx, tx)
	for _, permission := range access.Permissions() {
		if err == nil && of.Can(permission) {
			err = p.May(permission)
		}
		for _, project := range of.Where(permission) {
			if err == nil {
				err = p.MayIn(permission, project)
			}
		}
	}
	return err
}

// AuditRecord returns an audit record of the principal's action, without outcome.
func (p Principal) AuditRecord(origin audit.Origin, action audit.Action) audit.Record {
	return audit.Record{OrgUID: p.OrgUID, ActorUID: p.UserUID, ActorName: p.Email, Method: p.Method, Action: action, Origin: origin}
}

// Succeeded returns the record of a successful action of the principal.
func (p Principal) Succeeded(origin audit.Origin, action audit.Action, object string, at time.Time) audit.Record {
	record := p.AuditRecord(origin, action)
	record.UID, record.At, record.Object, record.Outcome = audit.NewUID(), at, object, audit.Succeeded
	return record
}

// RecordRefusal appends the record of a change that is forbidden, after its transaction. It returns err, and records no other error.
func RecordRefusal(ctx context.Context, db *store.DB, record audit.Record, err error) error {
	if fault.KindOf(err) != fault.Forbidden {
		return err
	}
	record.Outcome, record.Reason = audit.Refused, fault.CodeOperationForbidden
	if err := db.InTx(ctx, func(tx *store.Tx) error { return tx.Audits.Append(ctx, record) }); err != nil {
		return fault.Wrap("record a refusal", err)
	}
	return err
}

// Org returns the organization of the principal, and for an operator without one the only one that exists.
func (p Principal) Org(ctx context.Context, tx *store.Tx) (store.Org, error) {
	if p.Role == RoleOperator && p.OrgUID == "" {
		return onlyOrg(ctx, tx)
	}
	org, err := tx.Orgs.Get(ctx, p.OrgUID)
	return org, OrgNotFound(err)
}

// OperatorOf returns the operator for the named organization, or without a name for the only one.
func OperatorOf(ctx context.Context, db *store.DB, name string) (Principal, error) {
	p := Operator()
	err := db.View(ctx, func(tx *store.Tx) error {
		find := onlyOrg
		if canonical := names.Canonical(name); canonical != "" {
			find = func(ctx context.Context, tx *store.Tx) (store.Org, error) { return tx.Orgs.ByName(ctx, canonical) }
		}
		org, err := find(ctx, tx)
		if errors.Is(err, store.ErrNotFound) {
			return orgNotAmong(ctx, tx)
		}
		p.OrgUID, p.OrgName = org.UID, org.Name
		return err
	})
	return p, err
}

// onlyOrg returns the organization that an operator need not name.
func onlyOrg(ctx context.Context, tx *store.Tx) (store.Org, error) {
	orgs, err := tx.Orgs.List(ctx)
	if err != nil {
		return store.Org{}, err
	}
	if len(orgs) != 1 {
		return store.Org{}, fault.InvalidField("org", "is required; organizations: "+cmp.Or(orgNames(orgs), "none"))
	}
	return orgs[0], nil
}

// maxOrgsNamed is how many organizations an error names.
const maxOrgsNamed = 20

// orgNotAmong is OrgNotFound with the organizations that exist, which only an operator may see.
func orgNotAmong(ctx context.Context, tx *store.Tx) error {
	orgs, err := tx.Orgs.List(ctx)
	switch {
	case err != nil:
		return err
	case len(orgs) == 0:
		return OrgNotFound(store.ErrNotFound)
	}
	return fault.ResourceNotFound("Organization not found. Organizations: " + orgNames(orgs) + ".")
}

func orgNames(orgs []store.Org) string {
	var names []string
	for _, o := range orgs[:min(len(orgs), maxOrgsNamed)] {
		names = append(names, o.Name)
	}
	if more := len(orgs) - maxOrgsNamed; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// FindOrgUID is Org for callers that need only the uid, and mostly needs no query.
func (p Principal) FindOrgUID(ctx context.Context, tx *store.Tx) (string, error) {
	if p.OrgUID != "" {
		return p.OrgUID, nil
	}
	org, err := p.Org(ctx, tx)
	return org.UID, err
}

// UserNotFound turns store.ErrNotFound into the fault of an unknown user.
func UserNotFound(err error) error {
	return NotFoundAs(err, "User not found in the organization.")
}

// FindUser finds a user by uid or email in the caller's organization.
func (p Principal) FindUser(ctx context.Context, tx *store.Tx, user string) (store.Org, store.User, error) {
	in, err := p.Org(ctx, tx)
	if err != nil {
		return store.Org{}, store.User{}, err
	}
	found, err := userOf(ctx, tx, in, user)
	if err == nil && found.Workload && found.UID != p.UserUID {
		err = UserNotFound(store.ErrNotFound)
	}
	return in, found, err
}

func userOf(ctx context.Context, tx *store.Tx, org store.Org, named string) (store.User, error) {
	user, err := tx.Users.Get(ctx, org.UID, named)
	if errors.Is(err, store.ErrNotFound) {
		user, err = tx.Users.ByEmail(ctx, org.UID, names.Canonical(named))
	}
	return user, UserNotFound(err)
}

// OrgNotFound turns store.ErrNotFound into the fault of an unknown organization.
func OrgNotFound(err error) error {
	return NotFoundAs(err, "Organization not found.")
}
