// Package access has the permissions of the service and the roles that grant them. Each decision about what a caller may do is a look-up
// in its table of roles.
package access

import (
	"slices"
	"strings"
)

// Permission is required for an operation that not every role may do. Its text is part of the response that refuses it: what it is
// about, and the operation.
type Permission string

// Permissions. Users need none for their own sessions, keys and password.
const (
	ReadRegistries     Permission = "registry.get" // with secrets masked
	ValidateRegistries Permission = "registry.validate"
	CreateRegistries   Permission = "registry.create"
	ChangeRegistries   Permission = "registry.update"
	DeleteRegistries   Permission = "registry.delete"
	SyncRegistries     Permission = "registry.sync"
	OpenRegistries     Permission = "registry.open" // read the secrets; operators only, who have the key
	ReadOrgs           Permission = "org.list"
	CreateOrgs         Permission = "org.create"
	RenameOrgs         Permission = "org.update"
	DeleteOrgs         Permission = "org.delete"
	ReadAllProjects    Permission = "project.listAll"
	CreateProjects     Permission = "project.create"
	ChangeProjects     Permission = "project.update"
	DeleteProjects     Permission = "project.delete"
	ReadUsers          Permission = "user.list"
	CreateUsers        Permission = "user.create"
	ChangeUsers        Permission = "user.update" // names, email, roles, projects, enabled or not
	DeleteUsers        Permission = "user.delete"
	ReadAllAudits      Permission = "audit.listAll"
	ReadAllAPIKeys     Permission = "apiKey.listAll"
	CreateAllAPIKeys   Permission = "apiKey.createForOthers"
	ManageAllAPIKeys   Permission = "apiKey.manageAll"
	SetPasswords       Permission = "user.setPassword" // #nosec G101 -- a word, not a credential
	DisableUsers       Permission = "user.disable"
	Provision          Permission = "user.provision" // users and teams by SCIM, with what the user of the API key may do with them
	RevokeAllTokens    Permission = "token.revokeAll"
	ConfigureAlerts    Permission = "alert.update"
	ReadTeams          Permission = "team.list"
	CreateTeams        Permission = "team.create"
	ChangeTeams        Permission = "team.update" // names, members, roles
	DeleteTeams        Permission = "team.delete"
	ReadTrusts         Permission = "trust.list"
	CreateTrusts       Permission = "trust.create"
	DeleteTrusts       Permission = "trust.delete"
	ReadRoles          Permission = "role.list"
	CreateRoles        Permission = "role.create"
	ChangeRoles        Permission = "role.update"
	DeleteRoles        Permission = "role.delete"
	ReadSettings       Permission = "setting.list"  // of the service, with secrets masked
	ChangeTenant       Permission = "tenant.update" // settings of the organization
	RotateServiceKeys  Permission = "key.rotate"    // operators only: the keys serve all organizations
)

// Role is the uid of a role, which for built-in ones is their name too, or several separated by spaces.
type Role string

// Built-in roles. The operator uses the command line on the host, belongs to no organization and may do everything.
const (
	Admin          Role = "admin"
	Member         Role = "member"
	Viewer         Role = "viewer"
	RegistryEditor Role = "registry-editor"
	Auditor        Role = "auditor"
	Operator       Role = "operator"

	None Role = "none" // grants nothing in the organization: the user has only what its roles in projects grant
)

// Definition is a role and what it grants.
type Definition struct {
	Role        Role
	Description string
	InProjects  bool // can be given in single projects, where it grants those of its permissions that are about registries and alerts
	Permissions []Permission
}

// BuiltIn lists the roles that every organization has. The operator is not listed: it has all permissions.
var BuiltIn = []Definition{
	{Admin, "Manages the organization, or in a project its registries and alerts.", true, []Permission{
		ReadRegistries, ValidateRegistries, CreateRegistries, ChangeRegistries, DeleteRegistries, SyncRegistries,
		ReadAllProjects, CreateProjects, ChangeProjects, DeleteProjects, ReadUsers, CreateUsers, ChangeUsers, DeleteUsers,
		ReadAllAudits, ReadAllAPIKeys, CreateAllAPIKeys, ManageAllAPIKeys, SetPasswords, DisableUsers, RevokeAllTokens,
		ConfigureAlerts, ReadSettings, ReadTeams, CreateTeams, ChangeTeams, DeleteTeams,
		ReadTrusts, CreateTrusts, DeleteTrusts, ReadRoles, CreateRoles, ChangeRoles, DeleteRoles, ChangeTenant, Provision}},
	{Member, "Checks definitions and sees the registries.", true, []Permission{ReadRegistries, ValidateRegistries}},
	{Viewer, "Sees the registries, and all projects with their alerts. Changes nothing and checks nothing.", true, []Permission{
		ReadRegistries, ReadAllProjects}},
	{RegistryEditor, "Manages registries and checks them. Sees all projects.", true, []Permission{
		ReadRegistries, ValidateRegistries, CreateRegistries, ChangeRegistries, DeleteRegistries, SyncRegistries, ReadAllProjects}},
	{Auditor, "Reads the audit log, and what it is about: registries, projects, users, teams, API keys and trust rules. Changes nothing.",
		false, []Permission{ReadRegistries, ReadAllProjects, ReadAllAudits, ReadUsers, ReadTeams, ReadAllAPIKeys, ReadTrusts, ReadRoles}},
}

// Assignable lists the built-in roles that users and trust rules can have in an organization, and None.
func Assignable() []Role { return append(rolesOf(func(Definition) bool { return true }), None) }

// InProjects lists the built-in roles that users can have in a project.
func InProjects() []Role { return rolesOf(func(d Definition) bool { return d.InProjects }) }

func rolesOf(include func(Definition) bool) (roles []Role) {
	for _, d := range BuiltIn {
		if include(d) {
			roles = append(roles, d.Role)
		}
	}
	return roles
}

// Problem returns why roles cannot be given, "" if they can: each must be one of those or have the form of one of the organization, and
// none may be given twice.
func Problem(given Role, among []Role) string {
	if given == None && slices.Contains(among, None) {
		return ""
	}
	all := given.All()
	for i, role := range all {
		if !slices.Contains(among, role) && !IsCustom(role) || slices.Contains(all[:i], role) {
			return "must be " + choices(among)
		}
	}
	if len(all) == 0 || Of(all...) != given {
		return "must be " + choices(among)
	}
	return ""
}

// choices returns roles as a list for a sentence.
func choices(roles []Role) string {
	names := make([]string, len(roles))
	for i, role := range roles {
		names[i] = string(role)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Of returns several roles as one.
func Of[T ~string](roles ...T) Role {
	names := make([]string, len(roles))
	for i, role := range roles {
		names[i] = string(role)
	}
	return Role(strings.Join(names, " "))
}

// More is a word of a role as it is stored: the user also has roles in projects or by teams. It grants nothing itself.
const More = "+"

// All returns the single roles. There are none in None.
func (r Role) All() (all []Role) {
	for one := range strings.FieldsSeq(string(r)) {
		if one != More && Role(one) != None {
			all = append(all, Role(one))
		}
	}
	return all
}

// And returns both roles. None is what remains if neither grants anything.
func (r Role) And(other Role) Role {
	all := r.All()
	for _, one := range other.All() {
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	if len(all) == 0 {
		return None
	}
	return Of(all...)
}

// Direct returns the roles without More.
func (r Role) Direct() Role {
	return Role(strings.TrimSuffix(strings.TrimSuffix(string(r), More), " "))
}

// Grants reports whether a role has a permission.
func (r Role) Grants(permission Permission) bool {
	for one := range strings.FieldsSeq(string(r)) {
		if permission == OwnAccount || Role(one) == Operator || granted[Role(one)][permission] {
			return true
		}
	}
	return false
}

// Includes reports whether a role is among several.
func (r Role) Includes(role Role) bool {
	return slices.Contains(strings.Fields(string(r)), string(role))
}

// OperatorOnly reports whether no role of an organization has a permission.
func OperatorOnly(permission Permission) bool {
	return permission != OwnAccount && !granted[Admin][permission]
}

// granted is BuiltIn as a look-up.
var granted = func() map[Role]map[Permission]bool {
	all := map[Role]map[Permission]bool{}
	for _, d := range BuiltIn {
		all[d.Role] = map[Permission]bool{}
		for _, p := range d.Permissions {
			all[d.Role][p] = true
		}
	}
	return all
}()
