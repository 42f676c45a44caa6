package people

import (
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/invitations"
	"github.com/regwarden/regwarden/internal/service/roles"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/secret"
)

const (
	pathUsers  = "/console/users"
	pathInvite = pathUsers + "/invite"

	// PathInvitation precedes the key of a link by which a user sets its password.
	PathInvitation = "/console/invitation/"
)

// invitationHandlers has the pages that invite users, and the one that their links lead to.
type invitationHandlers struct {
	*invitations.Service
	roles *roles.Roles
}

func (h invitationHandlers) pages() []Page {
	return []Page{
		{Method: "GET", Path: pathInvite, Handle: h.showInvite, Permission: access.CreateUsers},
		{Method: "POST", Path: pathInvite, Handle: h.inviteNew},
		{Method: "POST", Path: pathUsers + "/{uid}/invite", Handle: h.invite},
		{Method: "GET", Path: PathInvitation + "{key}", Handle: h.show, Anonymous: true},
		{Method: "POST", Path: PathInvitation + "{key}", Handle: h.accept, Anonymous: true},
	}
}

const titleInvite = "Invite a user"

func (h invitationHandlers) inviteForm(c Call) (*forms.Form, error) {
	known, err := ReadKnown(c.Context(), h.roles, c.Principal)
	return forms.New("Invite", pathInvite,
		forms.Field{Name: "emailId", Label: "Email", Type: "email", Required: true},
		known.Field(auth.RoleMember, "What the user may do in the organization.")), err
}

// showInvite is GET /console/users/invite. A link is a way to set the password, so that the page needs that permission too.
func (h invitationHandlers) showInvite(c Call) error {
	if err := c.Principal.May(access.SetPasswords); err != nil {
		return err
	}
	form, err := h.inviteForm(c)
	if err != nil {
		return err
	}
	return c.showForm(titleInvite, form)
}

// inviteNew is POST /console/users/invite: it creates the user, and shows the link.
func (h invitationHandlers) inviteNew(c Call) error {
	if err := c.Principal.May(access.SetPasswords); err != nil { // before the user is created
		return err
	}
	known, err := ReadKnown(c.Context(), h.roles, c.Principal)
	if err != nil {
		return err
	}
	user, err := h.CreateUser(c.Context(), c.Principal, c.Origin,
		directory.NewUser{Email: c.PostFormValue("emailId"), WithoutPassword: true, Role: known.Sent(c)})
	if err != nil {
		form, formErr := h.inviteForm(c)
		if formErr != nil {
			return formErr
		}
		return c.showFormAgain(err, titleInvite, form)
	}
	return h.showLink(c, user.UID)
}

// invite is POST /console/users/{uid}/invite.
func (h invitationHandlers) invite(c Call) error { return h.showLink(c, c.PathValue("uid")) }

// invitedPage shows a link this one time.
type invitedPage struct {
	Email, Link, MailProblem string
	Emailed                  bool
	ExpiresAt                time.Time
}

func (h invitationHandlers) showLink(c Call, user string) error {
	sent, err := h.Invite(c.Context(), c.Principal, c.Origin, user)
	return c.ShowRead(err, "invited.html", "Link for "+sent.Email,
		invitedPage{sent.Email, sent.Link.Reveal(), sent.MailProblem, sent.Emailed, sent.ExpiresAt})
}

// acceptPage is where a user sets its password.
type acceptPage struct {
	Email, Org string
	Form       *forms.Form
}

func (h invitationHandlers) acceptPage(c Call) (acceptPage, error) {
	i, err := h.Get(c.Context(), secret.String(c.PathValue("key")))
	return acceptPage{i.Email, i.Org, forms.New("Set the password", c.URL.Path,
		forms.Field{Name: "password", Label: "Password", Type: "password", Autocomplete: "new-password", Hint: auth.PasswordHint,
			Required: true})}, err
}

const titleAccept = "Set your password"

// show is GET /console/invitation/{key}.
func (h invitationHandlers) show(c Call) error {
	page, err := h.acceptPage(c)
	return c.ShowRead(err, "invitation.html", titleAccept, page)
}

// accept is POST /console/invitation/{key}.
func (h invitationHandlers) accept(c Call) error {
	page, err := h.acceptPage(c)
	if err != nil {
		return err
	}
	err = h.Accept(c.Context(), c.Origin, secret.String(c.PathValue("key")), secret.String(c.PostFormValue("password")))
	if fault.KindOf(err) == fault.NotFound { // used by another request
		return err
	}
	if err != nil {
		page.Form.Refuse(c, err)
		return c.ShowAgain(err, "invitation.html", titleAccept, page)
	}
	return c.Redirect("/console/login", "invitationAccepted")
}
