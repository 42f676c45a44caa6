package api

import "strings"

// Teams is the response of GET PathTeams. All teams are on one page.
type Teams struct {
	Items    []Team   `json:"items"`
	ListMeta ListMeta `json:"listmeta"`
}

// Team is a team of users, who have its roles in addition to their own.
type Team struct {
	Metadata Metadata `json:"metadata"`
	Spec     TeamSpec `json:"spec"`
}

// TeamSpec has the uids of the users of a team and its roles in the organization. Sources is sso for a team that was made for a group of
// the identity provider.
type TeamSpec struct {
	Users   []string `json:"users"`
	Roles   []string `json:"roles"`
	Sources []string `json:"sources"`
}

// TeamRequest is the body of POST PathTeams and PUT PathTeam.
type TeamRequest struct {
	Metadata Named           `json:"metadata"`
	Spec     TeamRequestSpec `json:"spec"`
}

// TeamRequestSpec is the part of a team that administrators set. Users are uids or email addresses. Without roles, those that are stored
// stay; PUT PathTeamRoles removes them.
type TeamRequestSpec struct {
	Users []string `json:"users"`
	Roles []string `json:"roles"`
}

// PatchOperation is an element of the body of PATCH PathTeam, a JSON Patch (RFC 6902) of a TeamRequest without move and copy.
type PatchOperation struct {
	Op    string `json:"op"` // add, replace, remove or test
	Path  string `json:"path"`
	Value any    `json:"value,omitzero"` // an empty list is sent
}

// TeamRoles is the response of GET PathTeamRoles. The body of PUT is UserRoles.
type TeamRoles struct {
	Roles          []Ref `json:"roles"`
	InheritedRoles []Ref `json:"inheritedRoles"` // always empty
}

// TeamProjects is the response of GET PathTeamProjects. The body of PUT is UserProjects.
type TeamProjects struct {
	Projects []TeamProject `json:"projects"`
}

// TeamProject has the roles of a team in a project.
type TeamProject struct {
	UID            string `json:"uid"`
	Name           string `json:"name"`
	Roles          []Ref  `json:"roles"`
	InheritedRoles []Ref  `json:"inheritedRoles"` // always empty
}

// TeamWorkspaces is the body of PUT PathTeamWorkspaceRoles, which must be empty.
type TeamWorkspaces struct {
	Workspaces []struct{} `json:"workspaces"`
}

// TeamSummaryRequest is the body of POST PathTeamSummary. The order that public clients send is ignored.
type TeamSummaryRequest struct {
	Filter TeamFilter `json:"filter"`
}

// TeamFilter selects teams.
type TeamFilter struct {
	Name TextFilter `json:"name"`
}

// TeamSummaries is the response of POST PathTeamSummary.
type TeamSummaries struct {
	Items    []TeamSummary `json:"items"`
	ListMeta ListMeta      `json:"listmeta"`
}

// TeamSummary is one team of a summary.
type TeamSummary struct {
	Metadata Metadata        `json:"metadata"`
	Spec     TeamSummarySpec `json:"spec"`
}

// TeamSummarySpec names what belongs to a team. The name of a user is its email address.
type TeamSummarySpec struct {
	Projects []Ref `json:"projects"`
	Roles    []Ref `json:"roles"`
	Users    []Ref `json:"users"`
}

// Matches reports whether the filter selects a text.
func (f TextFilter) Matches(text string) bool {
	fold := func(s string) string { return s }
	if f.IgnoreCase {
		fold = strings.ToLower
	}
	text = fold(text)
	for _, rule := range []struct {
		want *string
		test func(text, want string) bool
	}{
		{f.Eq, func(text, want string) bool { return text == want }},
		{f.Ne, func(text, want string) bool { return text != want }},
		{f.Contains, strings.Contains},
		{f.BeginsWith, strings.HasPrefix},
	} {
		if rule.want != nil && !rule.test(text, fold(*rule.want)) {
			return false
		}
	}
	return true
}
