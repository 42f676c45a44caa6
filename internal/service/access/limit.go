package access

import (
	"slices"
	"strings"
)

// OwnAccount is what every user may: manage its own sessions, API keys and password. No role names it, and a limited API key lacks it:
// it could otherwise create a key without limits.
const OwnAccount Permission = "account.manage"

// Scope names the permissions that an API key may use of those of its user.
type Scope string

// Scopes.
const (
	ScopeAll        Scope = "all"
	ScopeRead       Scope = "read"
	ScopeCheck      Scope = "check"
	ScopeRegistries Scope = "registries"
	ScopeProvision  Scope = "provision"
	ScopeCalendar   Scope = "calendar" // of a key that is part of a URL: see auth.Authenticator.Calendar
)

// ScopeDefinition is a scope and what it allows.
type ScopeDefinition struct {
	Scope       Scope
	Description string
	Permissions []Permission // none for ScopeAll: all of them
}

// Scopes lists the scopes.
var Scopes = []ScopeDefinition{
	{ScopeAll, "whatever its user may do", nil},
	{ScopeRead, "read, change and check nothing", []Permission{ReadRegistries, ReadAllProjects, ReadUsers, ReadAllAudits, ReadAllAPIKeys,
		ReadTeams, ReadTrusts, ReadRoles, ReadSettings, ReadOrgs}},
	{ScopeCheck, "see the registries, and check definitions and registries", []Permission{ReadRegistries, ReadAllProjects,
		ValidateRegistries}},
	{ScopeRegistries, "see, check, store, change, delete and synchronize registries", []Permission{ReadRegistries, ReadAllProjects,
		ValidateRegistries, CreateRegistries, ChangeRegistries, DeleteRegistries, SyncRegistries}},
	{ScopeProvision, "provision users and teams by SCIM, nothing else", []Permission{Provision}},
	{ScopeCalendar, "show what expires in a calendar, by a link with the key, nothing else", []Permission{ReadRegistries, ReadAllAPIKeys}},
}

// ScopeProblem returns why a text is not a scope, "" if it is. The empty text is ScopeAll.
func ScopeProblem(scope Scope) string {
	var names []string
	for _, d := range Scopes {
		if scope == "" || d.Scope == scope {
			return ""
		}
		names = append(names, string(d.Scope))
	}
	return "must be one of " + strings.Join(names, ", ")
}

// Limit restricts a caller to a part of what its user may do. The zero value does not.
type Limit struct {
	Scope   Scope
	Project string // uid; in it, only what a role can grant in a project is allowed
}

// None reports whether there is no limit.
func (l Limit) None() bool { return l.Project == "" && (l.Scope == "" || l.Scope == ScopeAll) }

// Allows reports whether a permission in a project can be used. The empty project is what is in none.
func (l Limit) Allows(permission Permission, project string) bool {
	if l.Project != "" && (project != l.Project || !slices.Contains(ofProjects, permission)) {
		return false
	}
	return l.Scope == "" || l.Scope == ScopeAll || slices.ContainsFunc(Scopes, func(d ScopeDefinition) bool {
		return d.Scope == l.Scope && slices.Contains(d.Permissions, permission)
	})
}

// SeesProjects reports whether the caller may see projects at all, those that its user is a member of among them.
func (l Limit) SeesProjects() bool { return Limit{Scope: l.Scope}.Allows(ReadAllProjects, "") }

// Sees reports whether what is in a project exists for the caller.
func (l Limit) Sees(project string) bool {
	return l.SeesProjects() && (l.Project == "" || l.Project == project)
}
