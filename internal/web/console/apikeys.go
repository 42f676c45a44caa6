package console

import (
	"net/http"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/internal/web/console/views"
	"github.com/regwarden/regwarden/internal/web/console/words"
	"github.com/regwarden/regwarden/secret"
)

const (
	pathKeys = "/console/api-keys"

	keyLifetime = 90 * words.Day // proposed for new keys
)

type keysPage struct {
	Filter filter
	Keys   []auth.APIKey
	Pager  views.Pager
	Empty  views.Empty
	Others bool // keys of other users may be listed too
	caller auth.Principal
	now    time.Time
}

// MayChange reports whether the caller may change a key.
func (p keysPage) MayChange(k auth.APIKey) bool { return mayOpenKey(p.caller, k.UserUID) }

// mayOpenKey reports whether the caller may open the page of a key of that user, on which it is changed.
func mayOpenKey(caller auth.Principal, user string) bool {
	return user == caller.UserUID || caller.Can(access.ManageAllAPIKeys)
}

// State returns whether a key can be used.
func (p keysPage) State(k auth.APIKey) string {
	switch {
	case !k.ExpiresAt.After(p.now):
		return "expired"
	case !k.Active:
		return "inactive"
	}
	return "active"
}

// keyHandlers has the pages of API keys.
type keyHandlers struct {
	keys     *auth.APIKeys
	projects *directory.Directory
	now      func() time.Time
}

// listKeys is GET /console/api-keys.
func (h keyHandlers) listKeys(c *call) (err error) {
	page := keysPage{Filter: c.newFilter("Name or user contains", pathKeys), Others: c.principal.Can(access.ReadAllAPIKeys),
		caller: c.principal, now: h.now()}
	page.Keys, page.Pager, err = listPage(c.URL, func(after auth.APIKey) ([]auth.APIKey, bool, error) {
		return h.keys.List(c.Context(), c.principal, after)
	}, func(k auth.APIKey) bool { return page.Filter.matches(k.Name, k.Email) })
	if err != nil {
		return err
	}
	page.Empty = views.Empty{Text: "There are no API keys yet. Programs use an API key in place of an email and a password.",
		Path: pathKeys + "/new", Action: "Create an API key"}
	if page.Filter.Value != "" {
		page.Empty = views.Empty{Text: "No API key matches the filter.", Path: pathKeys, Action: "Show all"}
	}
	return c.show("apikeys.html", "API keys", page)
}

const titleNewKey = "Create an API key"

func keyForm(button, action, name string, expires time.Time) *forms.Form {
	return forms.New(button, action, forms.Field{Name: "name", Label: "Name", Value: name,
		Hint:     "For example the program that uses the key.",
		Required: true},
		forms.Field{Name: "expiresAt", Label: "Expires on", Type: "date", Value: lastDay(expires), Hint: "At the end of this day (UTC).",
			Required: true})
}

func (h keyHandlers) newKeyForm(c *call) (*forms.Form, error) {
	f := keyForm("Create", pathKeys+"/new", "", h.now().Add(keyLifetime))
	scope := forms.Field{Name: "scope", Label: "May", Type: "select", Value: c.query("scope")}
	for _, d := range access.Scopes {
		if d.Scope != access.ScopeCalendar { // the page Expiry creates those, and shows their links
			scope.Options = append(scope.Options, forms.Options(string(d.Scope), words.Capital(d.Description))...)
		}
	}
	f.Fields = append(f.Fields, scope)
	in := forms.Field{Name: "project", Label: "Project", Type: "select", Options: forms.Options("", "No limit"),
		Hint: "A key of a project sees and changes nothing of other projects."}
	for project, err := range paging.All(func(after directory.Project) ([]directory.Project, bool, error) {
		return h.projects.ListProjects(c.Context(), c.principal, after)
	}) {
		if err != nil {
			return nil, err
		}
		in.Options = append(in.Options, forms.Options(project.UID, project.Name)...)
	}
	if len(in.Options) > 1 {
		f.Fields = append(f.Fields, in)
	}
	if c.principal.Can(access.CreateAllAPIKeys) {
		f.Fields = append(f.Fields, forms.Field{Name: "user", Label: "User",
			Hint: "Email of the owner. Leave it empty for a key of your own."})
	}
	return f, nil
}

// newKey is GET /console/api-keys/new.
func (h keyHandlers) newKey(c *call) error {
	form, err := h.newKeyForm(c)
	if err != nil {
		return err
	}
	return c.showForm(titleNewKey, form)
}

type createdKeyPage struct {
	auth.APIKey
	Key string
}

// createKey is POST /console/api-keys/new. Its response is the only page with the new key; sending the form again is refused, since the
// name is in use.
func (h keyHandlers) createKey(c *call) error {
	expires, problems := endOfDay(c.PostFormValue("expiresAt"))
	input := auth.NewAPIKey{Name: c.PostFormValue("name"), User: c.PostFormValue("user"), ExpiresAt: expires,
		Limit: access.Limit{Scope: access.Scope(c.PostFormValue("scope")), Project: c.PostFormValue("project")}}
	form, err := h.newKeyForm(c)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		problems = fault.Join(problems, h.keys.Problems(c.principal, input))
		return c.showFormAgain(fault.InvalidFields(problems...), titleNewKey, form)
	}
	created, key, err := h.keys.Create(c.Context(), c.principal, c.origin, input)
	if err != nil {
		return c.showFormAgain(err, titleNewKey, form)
	}
	return h.showCreatedKey(c, created, key)
}

func (h keyHandlers) showCreatedKey(c *call, created auth.APIKey, key secret.String) error {
	return c.showStatus(http.StatusCreated, "createdkey.html", "API key created", createdKeyPage{created, key.Reveal()})
}

// endOfDay parses the date at whose end a key expires.
func endOfDay(text string) (time.Time, []fault.Field) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return time.Time{}, fault.FieldProblem("expiresAt", "must be a date such as 2027-01-31")
	}
	return at.Add(words.Day), nil
}

// lastDay returns the day at whose end, or during which, a key expires.
func lastDay(expires time.Time) string {
	return expires.Add(-time.Nanosecond).UTC().Format(time.DateOnly)
}

func editKeyForm(key auth.APIKey) *forms.Form {
	return keyForm("Save", pathOf(pathKeys, key.UID), key.Name, key.ExpiresAt)
}

// editKey is GET /console/api-keys/{uid}.
func (h keyHandlers) editKey(c *call) error {
	key, err := h.keys.Get(c.Context(), c.principal, c.PathValue("uid"))
	if err != nil {
		return err
	}
	return c.showForm("API key "+key.Name, editKeyForm(key))
}

// updateKey is POST /console/api-keys/{uid}. The time of the expiry stays as it is unless the day changes.
func (h keyHandlers) updateKey(c *call) error {
	key, err := h.keys.Get(c.Context(), c.principal, c.PathValue("uid"))
	if err != nil {
		return err
	}
	name, date := c.PostFormValue("name"), c.PostFormValue("expiresAt")
	change := auth.APIKeyChange{Name: &name}
	var problems []fault.Field
	if date != lastDay(key.ExpiresAt) {
		var expires time.Time
		expires, problems = endOfDay(date)
		change.ExpiresAt = &expires
	}
	if len(problems) > 0 {
		err = fault.InvalidFields(fault.Join(problems, h.keys.ChangeProblems(change))...)
	} else {
		_, err = h.keys.Update(c.Context(), c.principal, c.origin, key.UID, change)
	}
	if err != nil {
		return c.showFormAgain(err, "API key "+key.Name, editKeyForm(key))
	}
	return c.redirect(pathKeys, "keySaved")
}

// setKeyActive is POST /console/api-keys/{uid}/activate and deactivate.
func (h keyHandlers) setKeyActive(active bool, notice string) func(*call) error {
	return func(c *call) error {
		change := auth.APIKeyChange{Active: &active}
		if _, err := h.keys.Update(c.Context(), c.principal, c.origin, c.PathValue("uid"), change); err != nil {
			return err
		}
		return c.redirect(pathKeys, notice)
	}
}

// confirmDeleteKey is GET /console/api-keys/{uid}/delete.
func (h keyHandlers) confirmDeleteKey(c *call) error {
	key, err := h.keys.Get(c.Context(), c.principal, c.PathValue("uid"))
	if err != nil {
		return err
	}
	return c.confirm(confirmation{Question: "Delete the API key " + key.Name + "?",
		Text:   "Programs that use the key of " + key.Email + " are refused at once. This cannot be undone.",
		Action: pathOf(pathKeys, key.UID, "delete"), Button: "Delete the API key", Cancel: pathKeys})
}
