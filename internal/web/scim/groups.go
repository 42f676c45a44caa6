package scim

import (
	"net/http"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/web/fieldnames"
	"github.com/regwarden/regwarden/internal/web/people"
)

const groupType = "Group"

var groupFields = fieldnames.Names{"name": "displayName", "users": "members"}

// groupHandlers handles the routes of groups, which are teams.
type groupHandlers struct{ directory directory.Provisioning }

func (h groupHandlers) operations() []people.Operation {
	return []people.Operation{
		{Method: "GET", Path: api.PathSCIMGroups, Handle: h.list},
		{Method: "POST", Path: api.PathSCIMGroups, Handle: h.create},
		{Method: "GET", Path: api.PathSCIMGroup, Handle: h.get},
		{Method: "PUT", Path: api.PathSCIMGroup, Handle: h.replace},
		{Method: "PATCH", Path: api.PathSCIMGroup, Handle: h.patch},
		{Method: "DELETE", Path: api.PathSCIMGroup, Handle: h.delete},
	}
}

func shownGroup(t directory.ProvisionedTeam, withMembers bool) api.SCIMGroup {
	shown := api.SCIMGroup{Schemas: []string{api.SCIMGroupSchema}, ID: t.UID, ExternalID: t.ExternalID, DisplayName: t.Name,
		Meta: api.SCIMMeta{ResourceType: groupType, Created: t.CreatedAt, Location: api.PathSCIMGroups + "/" + t.UID}}
	if withMembers {
		members := []api.SCIMMember{}
		for _, member := range t.Members {
			members = append(members, api.SCIMMember{Value: member.UserUID, Display: member.Email, Type: userType})
		}
		shown.Members = &members
	}
	return shown
}

// list is GET /scim/v2/Groups.
func (h groupHandlers) list(c people.Call) (int, any, error) {
	q, err := readQuery(c.URL.Query(), "displayname")
	if err != nil {
		return 0, nil, err
	}
	ofMembers := slices.ContainsFunc(q.terms, func(t term) bool { return t.attr == "members" })
	found, total, err := h.directory.Teams(c.Context(), c.Principal, q.lookup, q.members || ofMembers)
	var resources []any
	for _, team := range found {
		if q.matches(func(t term) bool { return groupHas(team, t) }) {
			resources = append(resources, shownGroup(team, q.members))
		}
	}
	return http.StatusOK, q.page(resources, total), err
}

// groupHas reports whether a group has an attribute with a value.
func groupHas(t directory.ProvisionedTeam, is term) bool {
	switch is.attr {
	case "id":
		return is.value == t.UID
	case "externalid":
		return is.value == t.ExternalID
	case "displayname":
		return directory.TeamOfGroup(is.value) == t.Name
	case "members":
		return slices.ContainsFunc(t.Members, func(m directory.TeamMember) bool { return m.UserUID == is.value })
	}
	return false
}

// get is GET /scim/v2/Groups/{uid}.
func (h groupHandlers) get(c people.Call) (int, any, error) {
	members := wantsMembers(c.URL.Query())
	team, err := h.directory.Team(c.Context(), c.Principal, c.PathValue("uid"), members)
	return http.StatusOK, shownGroup(team, members), err
}

// group is a team whose members are being changed.
type group struct {
	*directory.ProvisionedTeam
	present map[string]bool
}

// changedGroup returns a team after operations.
func changedGroup(t directory.ProvisionedTeam, operations ...operation) (directory.ProvisionedTeam, error) {
	g := group{&t, map[string]bool{}}
	for _, member := range t.Members {
		g.present[member.UserUID] = true
	}
	for _, o := range operations {
		if err := g.set(o); err != nil {
			return t, err
		}
	}
	if t.Name == "" {
		return t, fault.InvalidField("displayName", "is required")
	}
	t.Members = nil
	for uid, is := range g.present {
		if is {
			t.Members = append(t.Members, directory.TeamMember{UserUID: uid})
		}
	}
	slices.SortFunc(t.Members, func(a, b directory.TeamMember) int { return strings.Compare(a.UserUID, b.UserUID) })
	return t, nil
}

// set does an operation to a group. Attributes that groups do not have here are ignored.
func (g group) set(o operation) (err error) {
	switch o.at.attr {
	case "":
		return o.each(g.set)
	case "displayname":
		g.Name, err = o.text("displayName")
	case "externalid":
		g.ExternalID, err = o.text("externalId")
	case "members":
		err = g.setMembers(o)
	}
	return err
}

// setMembers adds, replaces or removes members. To remove, they are named by the filter of the path as in RFC 7644, or by a value as Entra
// ID does.
func (g group) setMembers(o operation) error {
	if f := o.at.filter; f != nil {
		if o.op != opRemove || f.attr != "value" || f.sub != "" || o.at.sub != "" {
			return fault.InvalidField("path", `must be members or, to remove one, members[value eq "…"]`)
		}
		g.present[f.value] = false
		return nil
	}
	uids, err := memberUIDs(o.value)
	if err != nil {
		return err
	}
	if o.op == opReplace || o.op == opRemove && o.value == nil {
		clear(g.present)
	}
	for _, uid := range uids {
		if o.op == opAdd && g.present[uid] {
			g.Added = append(g.Added, uid)
		}
		g.present[uid] = o.op != opRemove
	}
	return nil
}

// memberUIDs reads a list of members, or a single one.
func memberUIDs(value any) (uids []string, err error) {
	list, ok := value.([]any)
	if !ok && value != nil {
		list = []any{value}
	}
	for _, one := range list {
		uid := ""
		member, _ := one.(map[string]any)
		err := operation{op: opAdd, value: member}.each(func(o operation) (err error) {
			if o.at.attr == "value" {
				uid, err = o.text("members")
			}
			return err
		})
		if err != nil || uid == "" {
			return nil, fault.InvalidField("members", `must be a list of objects with the member value`)
		}
		uids = append(uids, uid)
	}
	return uids, nil
}

// create is POST /scim/v2/Groups.
func (h groupHandlers) create(c people.Call) (int, any, error) {
	sent, err := readResource(c)
	input := directory.ProvisionedTeam{}
	if err == nil {
		input, err = changedGroup(input, sent)
	}
	if err == nil {
		input, err = h.directory.CreateTeam(c.Context(), c.Principal, c.Origin, input)
	}
	if err != nil {
		return 0, nil, groupFields.Err(err)
	}
	shown := shownGroup(input, true)
	c.Header.Set("Location", shown.Meta.Location)
	return http.StatusCreated, shown, nil
}

// replace is PUT /scim/v2/Groups/{uid}. What it does not say about externalId stays.
func (h groupHandlers) replace(c people.Call) (int, any, error) {
	sent, err := readResource(c)
	if err == nil {
		_, err = changedGroup(directory.ProvisionedTeam{}, sent)
	}
	if err != nil {
		return 0, nil, err
	}
	team, err := h.directory.ChangeTeam(c.Context(), c.Principal, c.Origin, c.PathValue("uid"),
		func(stored directory.ProvisionedTeam) (directory.ProvisionedTeam, error) {
			stored.Name, stored.Members = "", nil
			return changedGroup(stored, sent)
		})
	return http.StatusOK, shownGroup(team, true), groupFields.Err(err)
}

// patch is PATCH /scim/v2/Groups/{uid}. It returns no body, since a group can be large.
func (h groupHandlers) patch(c people.Call) (int, any, error) {
	operations, err := readPatch(c)
	if err == nil {
		_, err = h.directory.ChangeTeam(c.Context(), c.Principal, c.Origin, c.PathValue("uid"),
			func(stored directory.ProvisionedTeam) (directory.ProvisionedTeam, error) {
				return changedGroup(stored, operations...)
			})
	}
	return http.StatusNoContent, nil, groupFields.Err(err)
}

// delete is DELETE /scim/v2/Groups/{uid}.
func (h groupHandlers) delete(c people.Call) (int, any, error) {
	return http.StatusNoContent, nil, h.directory.DeleteTeam(c.Context(), c.Principal, c.Origin, c.PathValue("uid"))
}
