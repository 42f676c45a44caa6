// Package invitations invites users to set their password: makes the link, and sends it by email where the service has a mail server.
package invitations

import (
	"context"
	"fmt"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/alerts"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/secret"
)

// Service is safe for concurrent use.
type Service struct {
	directory.Invitations
	Mailer *alerts.Mailer
	Links  string // what precedes the key in links; empty without console
}

// Sent is an invitation that was made.
type Sent struct {
	directory.Invitation
	Link        secret.String // empty without console
	Emailed     bool
	MailProblem string // why it was not sent by email
}

// Invite makes the link by which another user of the organization sets its password, in place of a former one, and sends it to the user's
// address. An email that cannot be sent is not a fault: the caller has the link.
//
// Faults: those of directory.Invitations.Invite.
func (s *Service) Invite(ctx context.Context, p auth.Principal, origin audit.Origin, named string) (Sent, error) {
	made, err := s.Invitations.Invite(ctx, p, origin, named)
	if err != nil {
		return Sent{}, err
	}
	sent := Sent{Invitation: made}
	if s.Links == "" {
		sent.MailProblem = "the console is off, or the setting public-url is missing"
		return sent, nil
	}
	sent.Link = secret.String(s.Links + made.Key.Reveal())
	sent.MailProblem, err = s.Mailer.Send(ctx, made.OrgUID, made.Email, "[regwarden] Set your password",
		fmt.Sprintf("You can use regwarden, which checks container registries, as %s", made.Email),
		fmt.Sprintf("in the organization %q.", alerts.OrgName(made.Org)), "",
		"To set your password, open this link within 3 days:", "", sent.Link.Reveal(), "",
		"The link can be used once. If you do not expect it, do nothing.")
	sent.Emailed = err == nil && sent.MailProblem == ""
	return sent, err
}
