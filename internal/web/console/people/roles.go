package people

import (
	"slices"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/roles"
	"github.com/regwarden/regwarden/internal/web/console/forms"
)

const pathRoles = "/console/roles"

// roleHandlers has the pages of roles.
type roleHandlers struct{ roles *roles.Roles }

func (h roleHandlers) pages() []Page {
	return []Page{
		{Method: "GET", Path: pathRoles, Handle: h.list, Label: "Roles", Icon: "roles", Permission: access.ReadRoles},
		{Method: "GET", Path: pathRoles + "/new", Handle: h.showNew, Permission: access.CreateRoles},
		{Method: "POST", Path: pathRoles + "/new", Handle: h.create},
		{Method: "GET", Path: pathRoles + "/{uid}", Handle: h.show, Permission: access.ReadRoles},
		{Method: "POST", Path: pathRoles + "/{uid}", Handle: h.update},
		{Method: "GET", Path: pathRoles + "/{uid}/delete", Handle: h.confirmDelete, Permission: access.DeleteRoles},
		{Method: "POST", Path: pathRoles + "/{uid}/delete", Handle: h.delete},
	}
}

type rolesPage struct {
	Roles     []roles.Role
	MayCreate bool
}

// list is GET /console/roles.
func (h roleHandlers) list(c Call) error {
	list, err := h.roles.List(c.Context(), c.Principal)
	return c.ShowRead(err, "roles.html", "Roles", rolesPage{list, c.Principal.Can(access.CreateRoles)})
}

// rolePage is a role: what it permits, and a form for who may change it.
type rolePage struct {
	roles.Role
	May       []mays
	Form      *forms.Form // nil for a built-in role, and for a caller who may not change it
	MayDelete bool
}

// Path returns the address of the page, or of an action on its role.
func (p rolePage) Path(action ...string) string { return pathOf(pathRoles, p.UID, action...) }

func (h roleHandlers) page(c Call) (rolePage, error) {
	role, err := h.roles.Get(c.Context(), c.Principal, c.PathValue("uid"))
	page := rolePage{Role: role, May: inWords(role.Permissions)}
	if !role.BuiltIn && c.Principal.Can(access.ChangeRoles) {
		page.Form = roleForm("Save", page.Path(), role)
	}
	page.MayDelete = !role.BuiltIn && c.Principal.Can(access.DeleteRoles)
	return page, err
}

const titleNewRole = "Create a role"

func roleForm(button, action string, role roles.Role) *forms.Form {
	fields := []forms.Field{
		{Name: "name", Label: "Name", Value: role.Name, Required: true},
		{Name: "description", Label: "Description", Value: role.Description, Hint: "What the role is for."},
		{Name: "inProjects", Label: "Can be given in single projects", Type: "checkbox", Value: forms.Truth(role.InProjects),
			Hint: "It can have only the permissions that say so."},
	}
	return forms.New(button, action, append(fields, permissionFields(role.Permissions)...)...)
}

// sentRole returns the role that was entered.
func sentRole(c Call) roles.Input {
	input := roles.Input{Name: c.PostFormValue("name"), Description: c.PostFormValue("description"),
		InProjects: c.PostFormValue("inProjects") == "true"}
	for _, f := range permissionFields(nil) {
		for _, permission := range f.SentBoxes(c) {
			input.Permissions = append(input.Permissions, access.Permission(permission))
		}
	}
	return input
}

// showNew is GET /console/roles/new.
func (h roleHandlers) showNew(c Call) error {
	return c.showForm(titleNewRole, roleForm("Create", pathRoles+"/new", roles.Role{}))
}

// create is POST /console/roles/new.
func (h roleHandlers) create(c Call) error {
	input := sentRole(c)
	uid, err := "", fault.InvalidIfAny(input.Problems())
	if err == nil || !c.Principal.Can(access.CreateRoles) { // the refusal is recorded
		uid, err = h.roles.Create(c.Context(), c.Principal, c.Origin, input)
	}
	if err != nil {
		return c.showFormAgain(err, titleNewRole, roleForm("Create", pathRoles+"/new", roles.Role{}))
	}
	return c.Redirect(pathOf(pathRoles, uid), "roleCreated")
}

// show is GET /console/roles/{uid}.
func (h roleHandlers) show(c Call) error {
	page, err := h.page(c)
	return c.ShowRead(err, "role.html", page.Name, page)
}

// update is POST /console/roles/{uid}.
func (h roleHandlers) update(c Call) error {
	input := sentRole(c)
	err := fault.InvalidIfAny(input.Problems())
	if err == nil || !c.Principal.Can(access.ChangeRoles) { // the refusal is recorded
		err = h.roles.Update(c.Context(), c.Principal, c.Origin, c.PathValue("uid"), input)
	}
	if err == nil {
		return c.Redirect(pathOf(pathRoles, c.PathValue("uid")), "roleSaved")
	}
	page, errRead := h.page(c)
	if errRead != nil || page.Form == nil {
		return err
	}
	page.Form.Refuse(c, err)
	return c.ShowAgain(err, "role.html", page.Name, page)
}

// confirmDelete is GET /console/roles/{uid}/delete.
func (h roleHandlers) confirmDelete(c Call) error {
	list, err := h.roles.OfOrg(c.Context(), c.Principal.OrgUID)
	at := slices.IndexFunc(list, func(r roles.Role) bool { return r.UID == c.PathValue("uid") })
	if err != nil || at < 0 {
		return notFound(err, "Role not found.")
	}
	page := rolePage{Role: list[at]}
	return c.confirm(confirmation{Question: "Delete the role " + page.Name + "?",
		Text:   "A role that a user, a team or a trust rule has is not deleted.",
		Action: page.Path("delete"), Button: "Delete the role", Cancel: pathRoles})
}

// delete is POST /console/roles/{uid}/delete.
func (h roleHandlers) delete(c Call) error {
	err := h.roles.Delete(c.Context(), c.Principal, c.Origin, c.PathValue("uid"))
	return c.done(err, pathRoles, "roleDeleted")
}
