package directory

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/service/trustrule"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/storage/trusts"
)

// maxTrusts bounds the trust rules of an organization: an exchange of a token reads those of its issuer.
const maxTrusts = 100

// Trust is a rule by which an organization accepts tokens of another issuer.
type Trust struct {
	UID, Name        string
	Issuer, Audience string
	Claims           trustrule.Conditions
	Role             auth.Role
	Projects         []Project // List leaves them out
	CA, Keys         string
	Reusable         bool
	CreatedAt        time.Time
	LastUsedAt       time.Time // zero for an unused rule
}

// NewTrust is the input of Trusts.Create.
type NewTrust struct {
	Name             string
	Issuer, Audience string
	Claims           trustrule.Conditions
	Role             auth.Role // empty for member
	Projects         []string  // uids or names of projects
	CA, Keys         string
	Reusable         bool
}

// Trusts manages the trust rules of organizations.
type Trusts struct{ *Directory }

// Problems lists the problems of a new rule that can be found without the store, under name, issuer, audience, claims, role, ca and
// keys.
func (d Trusts) Problems(t NewTrust) (problems []fault.Field) {
	for _, field := range []struct{ name, problem string }{{"name", names.NameProblem(t.Name)},
		{"issuer", trustrule.IssuerProblem(t.Issuer)}, {"audience", trustrule.AudienceProblem(t.Audience)},
		{"claims", t.Claims.Problem(t.Issuer)}, {"role", oneRoleProblem(cmp.Or(t.Role, auth.RoleMember))},
		{"ca", trustrule.CAProblem(t.CA)}, {"keys", trustrule.KeysProblem(t.Keys)}} {
		problems = append(problems, fault.FieldProblem(field.name, field.problem)...)
	}
	return problems
}

// Create creates a rule, and the user without a password as which the callers that it accepts act.
//
// Faults: Invalid with the fields of Problems, and projects and org; Forbidden; Conflict with CodeTrustExists.
func (d Trusts) Create(ctx context.Context, p auth.Principal, origin audit.Origin, input NewTrust) (Trust, error) {
	if problems := d.Problems(input); len(problems) > 0 {
		return Trust{}, fault.InvalidFields(problems...)
	}
	uid, now := uuid.NewString(), d.now()
	rule := trusts.Rule{UID: uid, Name: strings.TrimSpace(input.Name), Canonical: names.Canonical(input.Name), Issuer: input.Issuer,
		Audience: input.Audience, Claims: input.Claims, CA: input.CA, Keys: input.Keys, Reusable: input.Reusable, CreatedAt: now,
		Role: string(cmp.Or(input.Role, auth.RoleMember))}
	err := d.change(ctx, attempt{origin: origin, principal: p, permission: access.CreateTrusts, action: audit.TrustCreate,
		object: input.Name}, func(tx *store.Tx) (changeResult, error) {
		org, err := p.Org(ctx, tx)
		if err != nil {
			return changeResult{}, err
		}
		rule.OrgUID = org.UID
		if err := mayGive(ctx, tx, p, org.UID, auth.Role(rule.Role), Members(input.Projects)); err != nil {
			return changeResult{}, err
		}
		return changeResult{orgUID: org.UID, uid: uid}, auth.OrgNotFound(insertTrust(ctx, tx, rule, Members(input.Projects)))
	})
	return visibleTrust(rule), err
}

// oneRoleProblem returns why a rule cannot have a role, "" if it can.
func oneRoleProblem(role auth.Role) string {
	if len(role.All()) > 1 {
		return "must be one role"
	}
	return access.Problem(role, access.Assignable())
}

// insertTrust adds a rule and its user. The canonical name of the user has a space, so it is not an email.
func insertTrust(ctx context.Context, tx *store.Tx, rule trusts.Rule, projects []ProjectRole) error {
	rules, err := tx.Trusts.OfOrg(ctx, rule.OrgUID)
	if err != nil {
		return err
	}
	if len(rules) >= maxTrusts {
		return fault.InvalidField("name", fmt.Sprintf("exceeds the limit of %d trust rules per organization; delete one first", maxTrusts))
	}
	user := store.User{UID: rule.UID, OrgUID: rule.OrgUID, Email: rule.Name, Canonical: "workload " + rule.UID, Role: rule.Role,
		RoleNamed: true, Workload: true, PasswordChangedAt: rule.CreatedAt, CreatedAt: rule.CreatedAt}
	if err := insertUser(ctx, tx, user, NewUser{Projects: projects}); err != nil {
		return err
	}
	return auth.ExistsAs(tx.Trusts.Insert(ctx, rule), CodeTrustExists, "The organization already has a trust rule with this name.")
}

// List lists the rules of the caller's organization by name, without their projects. It requires access.ReadTrusts.
func (d Trusts) List(ctx context.Context, p auth.Principal) (list []Trust, err error) {
	if err := p.May(access.ReadTrusts); err != nil {
		return nil, err
	}
	err = d.db.View(ctx, func(tx *store.Tx) error {
		orgUID, err := p.FindOrgUID(ctx, tx)
		if err != nil {
			return err
		}
		rules, err := tx.Trusts.OfOrg(ctx, orgUID)
		for _, rule := range rules {
			list = append(list, visibleTrust(rule))
		}
		return err
	})
	return list, fault.Wrap("list trust rules", err)
}

// Get returns a rule with its projects. It requires access.ReadTrusts.
//
// Faults: Forbidden; NotFound.
func (d Trusts) Get(ctx context.Context, p auth.Principal, uid string) (found Trust, err error) {
	if err := p.May(access.ReadTrusts); err != nil {
		return found, err
	}
	err = d.db.View(ctx, func(tx *store.Tx) error {
		orgUID, err := p.FindOrgUID(ctx, tx)
		if err != nil {
			return err
		}
		rule, err := tx.Trusts.Get(ctx, orgUID, uid)
		if err != nil {
			return trustNotFound(err)
		}
		found = visibleTrust(rule)
		found.Projects, err = projectNames(ctx, tx, store.User{OrgUID: orgUID, UID: uid})
		return err
	})
	return found, fault.Wrap("look up a trust rule", err)
}

// Delete deletes a rule. Tokens that were issued by it are not accepted any more.
//
// Faults: Forbidden; NotFound.
func (d Trusts) Delete(ctx context.Context, p auth.Principal, origin audit.Origin, uid string) error {
	return d.change(ctx, attempt{origin: origin, principal: p, permission: access.DeleteTrusts, action: audit.TrustDelete, object: uid},
		func(tx *store.Tx) (changeResult, error) {
			orgUID, err := p.FindOrgUID(ctx, tx)
			if err != nil {
				return changeResult{}, err
			}
			rule, err := tx.Trusts.Get(ctx, orgUID, uid)
			if err == nil {
				err = tx.Users.Delete(ctx, orgUID, uid)
			}
			return changeResult{orgUID: rule.OrgUID, uid: uid}, trustNotFound(err)
		})
}

func trustNotFound(err error) error { return auth.NotFoundAs(err, "Trust rule not found.") }

func visibleTrust(r trusts.Rule) Trust {
	return Trust{UID: r.UID, Name: r.Name, Issuer: r.Issuer, Audience: r.Audience, Claims: r.Claims,
		Role: auth.Role(r.Role).Direct(), CA: r.CA, Keys: r.Keys, Reusable: r.Reusable, CreatedAt: r.CreatedAt, LastUsedAt: r.LastUsedAt}
}
