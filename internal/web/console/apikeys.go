package console

import (
	"net/http"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/secret"
)

const (
	pathKeys = "/console/api-keys"

	day         = 24 * time.Hour
	keyLifetime = 90 * day // proposed for new keys
)

type keysPage struct {
	Filter filter
	Keys   []auth.APIKey
	Pager  pager
	Empty  empty
	Others bool // keys of other users may be listed too
	now    time.Time
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

// listKeys is GET /console/api-keys.
func (s *Console) listKeys(c *call) (err error) {
	page := keysPage{Filter: c.newFilter("Name or user contains", pathKeys), Others: c.principal.Can(auth.ReadAllAPIKeys), now: s.Now()}
	page.Keys, page.Pager, err = listPage(c, func(after auth.APIKey) ([]auth.APIKey, bool, error) {
		return s.Auth.APIKeys.List(c.Context(), c.principal, "", after)
	}, func(k auth.APIKey) bool { return page.Filter.matches(k.Name, k.Email) })
	if err != nil {
		return err
	}
	page.Empty = empty{Text: "There are no API keys yet. Programs use an API key in place of an email and a password.", Path: pathKeys + "/new", Action: "Create an API key"}
	if page.Filter.Value != "" {
		page.Empty = empty{Text: "No API key matches the filter.", Path: pathKeys, Action: "Show all"}
	}
	return c.show("apikeys.html", "API keys", page)
}

const titleNewKey = "Create an API key"

func keyForm(button, action, name string, expires time.Time) *form {
	return newForm(button, action, field{Name: "name", Label: "Name", Value: name, Hint: "For example the program that uses the key.", Required: true},
		field{Name: "expiresAt", Label: "Expires on", Type: "date", Value: lastDay(expires), Hint: "At the end of this day (UTC).", Required: true})
}

func (s *Console) newKeyForm(c *call) *form {
	f := keyForm("Create", pathKeys+"/new", "", s.Now().Add(keyLifetime))
	if c.principal.Can(auth.CreateAllAPIKeys) {
		f.Fields = append(f.Fields, field{Name: "user", Label: "User", Hint: "Email of the owner. Leave it empty for a key of your own."})
	}
	return f
}

// newKey is GET /console/api-keys/new.
func (s *Console) newKey(c *call) error { return c.showForm(titleNewKey, s.newKeyForm(c)) }

type createdKeyPage struct {
	auth.APIKey
	Key string
}

// createKey is POST /console/api-keys/new. Its response is the only page with the new key; sending the form again is refused, since the
// name is in use.
func (s *Console) createKey(c *call) error {
	expires, problems := endOfDay("expiresAt", c.PostFormValue("expiresAt"))
	input := auth.NewAPIKey{Name: c.PostFormValue("name"), User: c.PostFormValue("user"), ExpiresAt: expires}
	if len(problems) > 0 {
		problems = fault.Join(problems, s.Auth.APIKeys.Problems(c.principal, input))
		return c.showFormAgain(fault.InvalidFields(problems...), titleNewKey, s.newKeyForm(c))
	}
	created, key, err := s.Auth.APIKeys.Create(c.Context(), c.principal, c.origin, input)
	if err != nil {
		return c.showFormAgain(err, titleNewKey, s.newKeyForm(c))
	}
	return s.showCreatedKey(c, created, key)
}

func (s *Console) showCreatedKey(c *call, created auth.APIKey, key secret.String) error {
	return c.showStatus(http.StatusCreated, "createdkey.html", "API key created", createdKeyPage{created, key.Reveal()})
}

// endOfDay parses a date, and returns the end of that day.
func endOfDay(field, text string) (time.Time, []fault.Field) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return time.Time{}, fault.FieldProblem(field, "must be a date such as 2027-01-31")
	}
	return at.Add(day), nil
}

// lastDay returns the day at whose end, or during which, a key expires.
func lastDay(expires time.Time) string {
	return expires.Add(-time.Nanosecond).UTC().Format(time.DateOnly)
}

func editKeyForm(key auth.APIKey) *form {
	return keyForm("Save", pathOf(pathKeys, key.UID), key.Name, key.ExpiresAt)
}

// editKey is GET /console/api-keys/{uid}.
func (s *Console) editKey(c *call) error {
	key, err := s.Auth.APIKeys.Get(c.Context(), c.principal, c.PathValue("uid"))
	if err != nil {
		return err
	}
	return c.showForm("API key "+key.Name, editKeyForm(key))
}

// updateKey is POST /console/api-keys/{uid}. The time of the expiry stays as it is unless the day changes.
func (s *Console) updateKey(c *call) error {
	key, err := s.Auth.APIKeys.Get(c.Context(), c.principal, c.PathValue("uid"))
	if err != nil {
		return err
	}
	name, date := c.PostFormValue("name"), c.PostFormValue("expiresAt")
	change := auth.APIKeyChange{Name: &name}
	var problems []fault.Field
	if date != lastDay(key.ExpiresAt) {
		var expires time.Time
		expires, problems = endOfDay("expiresAt", date)
		change.ExpiresAt = &expires
	}
	if len(problems) > 0 {
		err = fault.InvalidFields(fault.Join(problems, s.Auth.APIKeys.ChangeProblems(change))...)
	} else {
		_, err = s.Auth.APIKeys.Update(c.Context(), c.principal, c.origin, key.UID, change)
	}
	if err != nil {
		return c.showFormAgain(err, "API key "+key.Name, editKeyForm(key))
	}
	return c.redirect(pathKeys, "keySaved")
}

// setKeyActive is POST /console/api-keys/{uid}/activate and deactivate.
func (s *Console) setKeyActive(active bool, notice string) func(*call) error {
	return func(c *call) error {
		change := auth.APIKeyChange{Active: &active}
		if _, err := s.Auth.APIKeys.Update(c.Context(), c.principal, c.origin, c.PathValue("uid"), change); err != nil {
			return err
		}
		return c.redirect(pathKeys, notice)
	}
}

// confirmDeleteKey is GET /console/api-keys/{uid}/delete.
func (s *Console) confirmDeleteKey(c *call) error {
	key, err := s.Auth.APIKeys.Get(c.Context(), c.principal, c.PathValue("uid"))
	if err != nil {
		return err
	}
	return c.confirm(confirmation{Question: "Delete the API key " + key.Name + "?",
		Text:   "Programs that use the key of " + key.Email + " are refused at once. This cannot be undone.",
		Action: pathOf(pathKeys, key.UID, "delete"), Button: "Delete the API key", Cancel: pathKeys})
}

// deleteKey is POST /console/api-keys/{uid}/delete.
func (s *Console) deleteKey(c *call) error {
	if err := s.Auth.APIKeys.Delete(c.Context(), c.principal, c.origin, c.PathValue("uid")); err != nil {
		return err
	}
	return c.redirect(pathKeys, "keyDeleted")
}
