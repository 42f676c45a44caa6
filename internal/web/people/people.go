// Package people has the HTTP operations of teams, roles, invitations, second factors, settings of organizations, and links by which people
// agree to alerts.
//
// It knows requests and responses as values: package server authenticates, decodes and encodes.
package people

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/alerts"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/federation"
	"github.com/regwarden/regwarden/internal/service/invitations"
	"github.com/regwarden/regwarden/internal/service/roles"
	"github.com/regwarden/regwarden/internal/service/secondfactor"
	"github.com/regwarden/regwarden/internal/service/tenants"
)

// Call is one request.
type Call struct {
	*http.Request
	Origin    audit.Origin
	Principal auth.Principal
	Header    http.Header // of the response

	Body func() ([]byte, error)                              // of JSON
	Form func() (url.Values, error)                          // of a form
	Read func(body any, problems func() []fault.Field) error // decodes an object; problems are those of the decoded one
}

// List is the body of a long list, which is read page by page.
type List struct {
	Read func(after any) (page []any, more bool, err error) // after is nil at first, then the last item
	Tail func() any                                         // members after the items; nil for none
}

// Text is a body that is not JSON.
type Text struct {
	Type  string // its media type
	Bytes []byte
}

// Operation is a route: its status of success, and its body, nil for none.
type Operation struct {
	Method, Path string
	Announced    bool // writes one audit record
	Public       bool // needs no credentials
	SCIM         bool // speaks SCIM: see package scim
	Own          bool // on what is the user's own: a limited API key cannot use it
	Handle       func(Call) (status int, body any, err error)
}

// Handlers handles the operations of this package.
type Handlers struct {
	Directory *directory.Directory
	Roles     *roles.Roles
	Settings  *tenants.Tenants
	SSO       *federation.SSO
	Invited   *invitations.Service
	Reminder  *alerts.OrgReminder
	Confirmed *alerts.Confirmations

	SecondFactor *secondfactor.Service
	CountLogin   func(error) // called with the outcome of each login here
}

// Operations lists all operations of the package.
func (h Handlers) Operations() []Operation {
	return slices.Concat(teamHandlers{directory.Teams{Directory: h.Directory}, h.Roles}.operations(), roleHandlers{h.Roles}.operations(),
		tenantHandlers{directory.Providers{Directory: h.Directory}, h.Settings, h.SSO}.operations(),
		orgLoginHandlers{h.SSO, h.Reminder, h.CountLogin}.operations(), reminderHandlers{h.Settings}.operations(),
		invitationHandlers{h.Invited}.operations(), confirmationHandlers{h.Confirmed}.operations(),
		factorHandlers{h.SecondFactor, h.Directory, h.CountLogin}.operations())
}
