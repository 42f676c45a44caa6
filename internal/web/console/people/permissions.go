package people

import (
	"slices"
	"strings"

	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/web/console/forms"
)

// group is what permissions are about, with what each permits in words.
type group struct {
	label string
	words []permissionWords
}

type permissionWords struct {
	permission access.Permission
	may        string
}

// groups has all permissions that roles can grant.
var groups = []group{
	{"Registries", []permissionWords{
		{access.ReadRegistries, "See stored registries, with secrets masked"},
		{access.ValidateRegistries, "Check and scan definitions, and check stored registries"},
		{access.CreateRegistries, "Store registries"},
		{access.ChangeRegistries, "Change registries"},
		{access.DeleteRegistries, "Delete registries"},
		{access.SyncRegistries, "Synchronize the content of registries"}}},
	{"Projects and alerts", []permissionWords{
		{access.ReadAllProjects, "See all projects with their alerts"},
		{access.CreateProjects, "Create projects"},
		{access.ChangeProjects, "Rename and label projects"},
		{access.DeleteProjects, "Delete projects"},
		{access.ConfigureAlerts, "Manage alert channels"}}},
	{"Users and teams", []permissionWords{
		{access.ReadUsers, "See users"},
		{access.CreateUsers, "Create users"},
		{access.ChangeUsers, "Change names, roles and projects of users"},
		{access.DeleteUsers, "Delete users"},
		{access.SetPasswords, "Set passwords of users"},
		{access.DisableUsers, "Disable and enable users"},
		{access.Provision, "Provision users and teams as an identity provider does, by SCIM"},
		{access.ReadTeams, "See teams"},
		{access.CreateTeams, "Create teams"},
		{access.ChangeTeams, "Change names, users, roles and projects of teams"},
		{access.DeleteTeams, "Delete teams"}}},
	{"Roles and logins", []permissionWords{
		{access.ReadRoles, "See roles"},
		{access.CreateRoles, "Create roles"},
		{access.ChangeRoles, "Change roles"},
		{access.DeleteRoles, "Delete roles"},
		{access.ReadTrusts, "See the identity provider and trust rules"},
		{access.CreateTrusts, "Set the identity provider, create trust rules"},
		{access.DeleteTrusts, "Delete the identity provider and trust rules"}}},
	{"API keys and sessions", []permissionWords{
		{access.ReadAllAPIKeys, "See API keys of all users"},
		{access.CreateAllAPIKeys, "Create API keys for other users"},
		{access.ManageAllAPIKeys, "Change and delete API keys of all users"},
		{access.RevokeAllTokens, "End sessions of all users"}}},
	{"Organization", []permissionWords{
		{access.ReadAllAudits, "Read the whole audit log"},
		{access.ReadSettings, "See the settings of the service"},
		{access.ChangeTenant, "Change settings of the organization, such as the password policy"}}},
}

// permissionFields has a group of checkboxes for each group of permissions.
func permissionFields(granted []access.Permission) (fields []forms.Field) {
	for _, g := range groups {
		f := forms.Field{Name: "permission", Path: "permissions", Label: g.label, Type: "checkboxes"}
		chosen := []string{}
		for _, w := range g.words {
			hint := string(w.permission)
			if slices.Contains(access.OfProjects(), w.permission) {
				hint += ", also in single projects"
			}
			f.Options = append(f.Options, forms.Option{Value: string(w.permission), Label: w.may, Hint: hint})
			if slices.Contains(granted, w.permission) {
				chosen = append(chosen, string(w.permission))
			}
		}
		f.Value = strings.Join(chosen, " ")
		f.Key = strings.ReplaceAll(strings.ToLower(g.label), " ", "-")
		fields = append(fields, f)
	}
	return fields
}

// mays is a heading with what permissions of its group permit.
type mays struct {
	Label string
	May   []string
}

// inWords returns what permissions permit.
func inWords(granted []access.Permission) (all []mays) {
	for _, g := range groups {
		one := mays{Label: g.label}
		for _, w := range g.words {
			if slices.Contains(granted, w.permission) {
				one.May = append(one.May, w.may)
			}
		}
		if len(one.May) > 0 {
			all = append(all, one)
		}
	}
	return all
}
