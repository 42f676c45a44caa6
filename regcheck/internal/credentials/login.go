package credentials

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/endpoint"
	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/regcheck/internal/source"
)

// Login are the credentials with which a check uses a registry.
type Login struct {
	Type     Type
	Username string
	Password string        // of Basic
	Token    string        // of Token
	Source   source.Source // of the types whose credentials are obtained
	field    string        // of the definition, to correct if the registry rejects obtained ones
}

// Read reads the credentials for a registry, and notes all problems.
func (a *Auth) Read(registry *url.URL, note source.Note) Login {
	l := Login{Type: a.Kind(), Username: a.Username, Password: a.Password.Reveal(), Token: a.Token.Reveal()}
	if !slices.Contains([]Type{NoAuth, Basic, Token}, l.Type) && !l.Type.IsObtained() ||
		l.Type.IsLocal() && a.Exec == nil && a.File == nil {
		note("auth.type", "must be one of noAuth, basic, token, ecr, gcp, azure, github")
	}
	l.check(note)
	a.readSource(&l, registry, note)
	note("auth.username", endpoint.TextProblem(l.Username))
	note("auth.password", endpoint.PasswordProblem(l.Password))
	note("auth.token", endpoint.TextProblem(l.Token))
	if l.Type != NoAuth && strings.Contains(l.Username, ":") {
		note("auth.username", "must not contain a colon (RFC 7617)")
	}
	return l
}

// check notes what the type requires or excludes.
func (l *Login) check(note source.Note) {
	if l.Type == Basic && l.Username == "" {
		note("auth.username", `is required for type "basic"`)
	}
	if l.Type == Basic && l.Password == "" {
		note("auth.password", `is required for type "basic"`)
	}
	if l.Type == Token && l.Token == "" {
		note("auth.token", `is required for type "token"`)
	}
	if (l.Type == NoAuth || l.Type == Token) && l.Password != "" {
		note("auth.password", message.Of("cannot be combined with type %q; remove it, or set {auth.type} to basic", l.Type))
	}
	if (l.Type == NoAuth || l.Type == Basic) && l.Token != "" {
		note("auth.token", message.Of("cannot be combined with type %q; remove it, or set {auth.type} to token", l.Type))
	}
}

// readSource reads what credentials are obtained with.
func (a *Auth) readSource(l *Login, registry *url.URL, note source.Note) {
	for _, m := range a.members() {
		switch {
		case m.given && m.kind != l.Type:
			note("auth."+m.name, message.Of("cannot be combined with type %q; remove it, or set {auth.type} to %s", l.Type, m.kind))
		case !m.given && m.kind == l.Type && !m.kind.IsLocal():
			note("auth."+m.name, message.Of("is required for type %q", m.kind))
		case m.given:
			l.Source = m.settings.Source(registry, note)
		}
	}
	if l.Type.IsObtained() && !l.Type.IsLocal() && registry.Scheme == "http" {
		note("endpoint", message.Of("must use https for {auth.type} %s", l.Type))
	}
	if l.Type.IsObtained() && (l.Username != "" || l.Password != "" || l.Token != "") {
		note("auth.type", message.Of("%q obtains username and password; remove {auth.username}, {auth.password} and {auth.token}", l.Type))
	}
}

// Obtained returns the login with credentials of its source.
func (l Login) Obtained(got source.Credentials) Login {
	l.Type, l.Username, l.Password, l.field = Basic, got.Username, got.Password.Reveal(), cmp.Or(got.Field, "auth")
	if got.Bearer {
		l.Type, l.Password, l.Token = Token, "", l.Password
	}
	return l
}

// Secret returns the password or token, of which at most one is there.
func (l Login) Secret() string { return l.Password + l.Token }

// SecretField returns the field to correct if the registry rejects the credentials.
func (l Login) SecretField() string {
	switch {
	case l.Source != nil: // the credentials were obtained: the definition has no password
		return l.field
	case l.Type == Token:
		return "auth.token"
	case l.Type == Basic:
		return "auth.password"
	default:
		return "auth.type"
	}
}

// UserField returns the field to correct if the credentials are valid but have no permission.
func (l Login) UserField() string {
	if l.Type == Basic && l.Source == nil {
		return "auth.username"
	}
	return l.SecretField()
}

// ForTokens returns the credentials for a token service.
func (l Login) ForTokens() challenge.Login {
	switch {
	case l.Type == Basic:
		return challenge.Login{User: l.Username, Password: l.Password}
	case l.Type == Token && l.Username != "":
		return challenge.Login{User: l.Username, Password: l.Token}
	case l.Type == Token:
		return challenge.Login{Refresh: l.Token}
	}
	return challenge.Login{}
}

// Authorizations returns the headers in which credentials are sent, to know them in responses.
func (l Login) Authorizations() []string {
	switch {
	case l.Type == Basic:
		return []string{challenge.Basic(l.Username, l.Password)}
	case l.Type == Token:
		return []string{"Bearer " + l.Token, challenge.Basic(l.Username, l.Token)}
	}
	return nil
}

// Direct returns the Authorization that needs no challenge: Basic, or the token as it is; "" if the credentials are not obtained yet.
func (l Login) Direct() string {
	switch {
	case l.Type == Token:
		return "Bearer " + l.Token
	case l.Type.IsObtained():
		return ""
	}
	return challenge.Basic(l.Username, l.Password)
}
