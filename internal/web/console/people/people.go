// Package people has the pages of invitations, roles, teams, the identity provider, trust rules and second factors.
//
// Package console finds the session of a request, reads its form, and shows what these handlers return.
package people

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/federation"
	"github.com/regwarden/regwarden/internal/service/invitations"
	"github.com/regwarden/regwarden/internal/service/roles"
	"github.com/regwarden/regwarden/internal/service/secondfactor"
	"github.com/regwarden/regwarden/internal/web/console/forms"
)

// Call is a request to a page.
type Call struct {
	*http.Request
	Principal auth.Principal
	Origin    audit.Origin

	Show      func(template, title string, data any) error
	ShowAgain func(err error, template, title string, data any) error // with the problems of a refused form
	Redirect  func(path, notice string) error                         // notice is a key of Notices, or empty
}

// ShowRead is Show for data that was read with err.
func (c Call) ShowRead(err error, template, title string, data any) error {
	if err != nil {
		return err
	}
	return c.Show(template, title, data)
}

// done ends a change that came to err: it redirects, or returns err.
func (c Call) done(err error, path, notice string) error {
	if err != nil {
		return err
	}
	return c.Redirect(path, notice)
}

// showForm shows a page that consists of a form.
func (c Call) showForm(title string, f *forms.Form) error {
	return c.Show("form.html", title, f.Focus())
}

func (c Call) showFormAgain(err error, title string, f *forms.Form) error {
	return c.ShowAgain(err, "form.html", title, f.Refuse(c, err))
}

// confirmation asks before an action that cannot be undone.
type confirmation struct{ Question, Text, Action, Button, Cancel string }

func (c Call) confirm(asked confirmation) error { return c.Show("confirm.html", asked.Question, asked) }

// Page is a page or an action.
type Page struct {
	Method, Path string
	Handle       func(Call) error
	Label, Icon  string            // of the entry in the navigation; empty: none
	Permission   access.Permission // without it the page is refused, and the entry is left out
	MaxBody      int64             // 0 means that of small forms
	Anonymous    bool              // needs no session
}

// Pages has what the pages show. SSO may be nil: there are no logins by identity providers then.
type Pages struct {
	Directory *directory.Directory
	Roles     *roles.Roles
	Invited   *invitations.Service
	SSO       *federation.SSO
	Factors   *secondfactor.Service
}

// All lists the pages, in the order of the navigation.
func (p Pages) All() []Page {
	pages := slices.Concat(teamHandlers{directory.Teams{Directory: p.Directory}, p.Roles}.pages(), roleHandlers{p.Roles}.pages())
	if p.SSO != nil {
		pages = append(pages, providerHandlers{directory.Providers{Directory: p.Directory},
			directory.Teams{Directory: p.Directory}, p.SSO}.pages()...)
	}
	pages = append(pages, invitationHandlers{p.Invited, p.Roles}.pages()...)
	pages = append(pages, trustHandlers{directory.Trusts{Directory: p.Directory}, p.Roles}.pages()...)
	return append(pages, factorHandlers{p.Factors, directory.Factors{Directory: p.Directory}}.pages()...)
}

// Notices are the messages about changes, by their names in addresses.
var Notices = map[string]string{
	"invitationAccepted": "Your password is set. Log in with it.",

	"roleCreated": "The role is created.",
	"roleSaved":   "The role is saved. It counts at once for all who have it.",
	"roleDeleted": "The role is deleted.",

	"factorRemoved": "Your second factor is removed. Logins ask for the password alone.",
	"factorReset":   "The second factor of the user is removed. Its password and sessions stay.",
	"factorSet":     "The setting is stored. Sessions go on.",

	"teamCreated": "The team is created.",
	"teamSaved":   "The team is saved.",
	"teamDeleted": "The team is deleted. Its users no longer have its roles.",

	"providerSaved":    "The identity provider is saved.",
	"providerOff":      "No user can log in by the identity provider now. Sessions that began there end at their next check.",
	"providerDeleted":  "The identity provider is deleted.",
	"trustRuleCreated": "The trust rule is created.",
	"trustRuleDeleted": "The trust rule is deleted. Tokens that it issued are no longer accepted.",
}

// pathOf returns the address of one item of a list, or of an action on it.
func pathOf(list, uid string, action ...string) string {
	return strings.Join(append([]string{list, url.PathEscape(uid)}, action...), "/")
}

// notFound returns an error, or the fault of what does not exist.
func notFound(err error, message string) error {
	if err != nil {
		return err
	}
	return fault.ResourceNotFound(message)
}
