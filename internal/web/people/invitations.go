package people

import (
	"net/http"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/invitations"
	"github.com/regwarden/regwarden/secret"
)

// invitationHandlers handles the routes of links by which users set their password.
type invitationHandlers struct{ *invitations.Service }

func (h invitationHandlers) operations() []Operation {
	return []Operation{
		{Method: "POST", Path: api.PathUserInvitation, Handle: h.invite, Announced: true},
		{Method: "PATCH", Path: api.PathPasswordActivation, Handle: h.accept, Public: true},
	}
}

// invite is POST /v1/users/{uid}/invitation.
func (h invitationHandlers) invite(c Call) (int, any, error) {
	sent, err := h.Invite(c.Context(), c.Principal, c.Origin, c.PathValue("uid"))
	return http.StatusCreated, api.Invitation{Link: sent.Link.Reveal(), Token: sent.Key.Reveal(), ExpiresAt: sent.ExpiresAt,
		Emailed: sent.Emailed, EmailProblem: sent.MailProblem}, err
}

// accept is PATCH /v1/auth/password/{passwordToken}/activate.
func (h invitationHandlers) accept(c Call) (int, any, error) {
	var body api.NewPassword
	err := c.Read(&body, func() []fault.Field { return nil })
	if err == nil {
		err = h.Accept(c.Context(), c.Origin, secret.String(c.PathValue("passwordToken")), body.Password)
	}
	return http.StatusNoContent, nil, err
}
