package scim

import (
	"net/http"
	"strconv"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/web/fieldnames"
	"github.com/regwarden/regwarden/internal/web/people"
)

const userType = "User"

var userFields = fieldnames.Names{"emailId": "userName", "name": "displayName", "firstName": "name.givenName",
	"lastName": "name.familyName"}

// userHandlers handles the routes of users.
type userHandlers struct{ directory directory.Provisioning }

func (h userHandlers) operations() []people.Operation {
	return []people.Operation{
		{Method: "GET", Path: api.PathSCIMUsers, Handle: h.list},
		{Method: "POST", Path: api.PathSCIMUsers, Handle: h.create},
		{Method: "GET", Path: api.PathSCIMUser, Handle: h.get},
		{Method: "PUT", Path: api.PathSCIMUser, Handle: h.replace},
		{Method: "PATCH", Path: api.PathSCIMUser, Handle: h.patch},
		{Method: "DELETE", Path: api.PathSCIMUser, Handle: h.delete},
	}
}

func shownUser(u directory.ProvisionedUser) api.SCIMUser {
	return api.SCIMUser{Schemas: []string{api.SCIMUserSchema}, ID: u.UID, ExternalID: u.ExternalID, UserName: u.Email,
		Name: api.SCIMName{GivenName: u.FirstName, FamilyName: u.LastName}, DisplayName: u.Name,
		Emails: []api.SCIMEmail{{Value: u.Email, Type: "work", Primary: true}}, Active: u.Active,
		Meta: api.SCIMMeta{ResourceType: userType, Created: u.CreatedAt, Location: api.PathSCIMUsers + "/" + u.UID}}
}

// list is GET /scim/v2/Users.
func (h userHandlers) list(c people.Call) (int, any, error) {
	q, err := readQuery(c.URL.Query(), "username", "emails")
	if err != nil {
		return 0, nil, err
	}
	found, total, err := h.directory.Users(c.Context(), c.Principal, q.lookup)
	var resources []any
	for _, user := range found {
		if q.matches(func(t term) bool { return userHas(user, t) }) {
			resources = append(resources, shownUser(user))
		}
	}
	return http.StatusOK, q.page(resources, total), err
}

// userHas reports whether a user has an attribute with a value. One that users do not have here has none.
func userHas(u directory.ProvisionedUser, t term) bool {
	switch t.attr {
	case "id":
		return t.value == u.UID
	case "externalid":
		return t.value == u.ExternalID
	case "username", "emails":
		return directory.SameEmail(t.value, u.Email)
	case "active":
		return t.value == strconv.FormatBool(u.Active)
	}
	return false
}

// get is GET /scim/v2/Users/{uid}.
func (h userHandlers) get(c people.Call) (int, any, error) {
	user, err := h.directory.User(c.Context(), c.Principal, c.PathValue("uid"))
	return http.StatusOK, shownUser(user), err
}

// create is POST /scim/v2/Users.
func (h userHandlers) create(c people.Call) (int, any, error) {
	sent, err := readResource(c)
	input := directory.ProvisionedUser{Active: true}
	if err == nil {
		input, err = changedUser(input, sent)
	}
	if err == nil {
		input, err = h.directory.CreateUser(c.Context(), c.Principal, c.Origin, input)
	}
	if err != nil {
		return 0, nil, userFields.Err(err)
	}
	shown := shownUser(input)
	c.Header.Set("Location", shown.Meta.Location)
	return http.StatusCreated, shown, nil
}

// replace is PUT /scim/v2/Users/{uid}. What it does not say about active and externalId stays: a user must not come back by mistake.
func (h userHandlers) replace(c people.Call) (int, any, error) {
	sent, err := readResource(c)
	if err == nil {
		_, err = changedUser(directory.ProvisionedUser{}, sent) // before the transaction
	}
	if err != nil {
		return 0, nil, err
	}
	return h.change(c, func(stored directory.ProvisionedUser) (directory.ProvisionedUser, error) {
		stored.Email, stored.PersonName = "", directory.PersonName{}
		return changedUser(stored, sent)
	})
}

// patch is PATCH /scim/v2/Users/{uid}.
func (h userHandlers) patch(c people.Call) (int, any, error) {
	operations, err := readPatch(c)
	if err != nil {
		return 0, nil, err
	}
	return h.change(c, func(stored directory.ProvisionedUser) (directory.ProvisionedUser, error) {
		return changedUser(stored, operations...)
	})
}

func (h userHandlers) change(c people.Call, change func(directory.ProvisionedUser) (directory.ProvisionedUser, error)) (int, any, error) {
	user, err := h.directory.ChangeUser(c.Context(), c.Principal, c.Origin, c.PathValue("uid"), change)
	return http.StatusOK, shownUser(user), userFields.Err(err)
}

// delete is DELETE /scim/v2/Users/{uid}.
func (h userHandlers) delete(c people.Call) (int, any, error) {
	return http.StatusNoContent, nil, h.directory.DeleteUser(c.Context(), c.Principal, c.Origin, c.PathValue("uid"))
}

// changedUser returns a user after operations. It must have a userName then.
func changedUser(u directory.ProvisionedUser, operations ...operation) (directory.ProvisionedUser, error) {
	for _, o := range operations {
		if err := setUser(&u, o); err != nil {
			return u, err
		}
	}
	if u.Email == "" {
		return u, fault.InvalidField("userName", "is required")
	}
	return u, nil
}

// setUser does an operation to a user. Attributes that users do not have here are ignored.
func setUser(u *directory.ProvisionedUser, o operation) (err error) {
	field := func(to *string, name string) {
		var text string
		if text, err = o.text(name); err == nil {
			*to = text
		}
	}
	switch o.at.attr {
	case "":
		return o.each(func(one operation) error { return setUser(u, one) })
	case "username":
		field(&u.Email, "userName")
	case "externalid":
		field(&u.ExternalID, "externalId")
	case "displayname":
		field(&u.Name, "displayName")
	case "name":
		return setName(u, o, field, &err)
	case "active":
		var is bool
		if is, err = o.truth("active"); err == nil {
			u.Active = is
		}
	}
	return err
}

// setName sets the parts of a name, which come one by one or as an object.
func setName(u *directory.ProvisionedUser, o operation, field func(to *string, name string), err *error) error {
	switch o.at.sub {
	case "givenname":
		field(&u.FirstName, "name.givenName")
	case "familyname":
		field(&u.LastName, "name.familyName")
	case "":
		if o.op == opRemove || o.value == nil {
			u.FirstName, u.LastName = "", ""
			return nil
		}
		return o.each(func(part operation) error {
			part.at.attr, part.at.sub = "name", part.at.attr
			return setUser(u, part)
		})
	}
	return *err
}
