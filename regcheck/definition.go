package regcheck

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/regwarden/regwarden/secret"
)

// ProviderType says what kind of artifact the registry is for.
type ProviderType string

// Provider types; an empty one means Helm.
const (
	Helm ProviderType = "helm"
	Zarf ProviderType = "zarf"
	Pack ProviderType = "pack"
)

// AuthType says how to sign in to the registry.
type AuthType string

// Auth types; an empty one is derived from the credentials that are there.
const (
	NoAuth AuthType = "noAuth"
	Basic  AuthType = "basic"
	Token  AuthType = "token"
)

// Definition describes a registry as users write it down. The zero value is not usable: Problems
// tells what is missing.
type Definition struct {
	Endpoint        string       `json:"endpoint"`
	BasePath        string       `json:"basePath,omitempty"`
	BaseContentPath string       `json:"baseContentPath,omitempty"`
	ProviderType    ProviderType `json:"providerType,omitempty"`
	Auth            *Auth        `json:"auth"`

	// Unknown lists members that were sent and that no definition has (NoteUnknown). A check warns of each.
	Unknown []Problem `json:"-"`
}

// Auth are the credentials of a registry.
type Auth struct {
	Type     AuthType      `json:"type,omitempty"`
	Username string        `json:"username,omitempty"`
	Password secret.String `json:"password,omitempty"`
	Token    secret.String `json:"token,omitempty"`
	TLS      TLS           `json:"tls,omitzero"`
}

// TLS says whom to trust and how to identify ourselves. Unless Enabled, the rest does not count.
type TLS struct {
	CA                 string        `json:"ca,omitempty"`
	Certificate        string        `json:"certificate,omitempty"`
	Enabled            bool          `json:"enabled,omitempty"`
	InsecureSkipVerify bool          `json:"insecureSkipVerify,omitempty"`
	Key                secret.String `json:"key,omitempty"`
}

// Problem is one thing wrong with one field. Field is its JSON path.
type Problem struct {
	Field   string `json:"field"`
	Problem string `json:"problem"`
}

// DefinitionError says that a definition can't be tried. It lists every problem at once.
type DefinitionError struct {
	Problems []Problem `json:"problems"`
}

func (e *DefinitionError) Error() string {
	var text strings.Builder
	text.WriteString("definition cannot be used")
	for _, p := range e.Problems {
		fmt.Fprintf(&text, "; %s: %s", p.Field, p.Problem)
	}
	return text.String()
}

// Lengths in bytes that a field may have.
const (
	maxEndpoint = 2048
	maxPEM      = 256 << 10
	maxField    = 4096
)

// Problems lists everything that keeps the definition from being tried; empty when it can be.
func (d Definition) Problems() []Problem {
	_, problems := d.read()
	return problems
}

// plan is a definition as read: defaults filled in, everything parsed.
type plan struct {
	base         target // origin and path of the API
	endpointPath string // the part of the path that stands in endpoint and not in basePath
	contentPath  string
	provider     ProviderType
	auth         AuthType
	username     string
	password     string // of Basic
	token        string
	roots        []*x509.Certificate
	clientCert   *tls.Certificate
	skipVerify   bool
	unknown      []Problem // members that do not exist
	ignoredTLS   []string  // members of auth.tls that have no effect because it is not enabled
}

// secretField is the field to blame when the registry refuses the credentials.
func (p *plan) secretField() string {
	switch p.auth {
	case Token:
		return "auth.token"
	case Basic:
		return "auth.password"
	default:
		return "auth.type"
	}
}

// userField is the field to blame when the credentials are good but have no right at all.
func (p *plan) userField() string {
	switch p.auth {
	case Token:
		return "auth.token"
	case Basic:
		return "auth.username"
	default:
		return "auth.type"
	}
}

type problems []Problem

func (p *problems) add(field, format string, args ...any) {
	*p = append(*p, Problem{field, fmt.Sprintf(format, args...)})
}

func (d Definition) read() (*plan, []Problem) {
	var found problems
	p := &plan{provider: d.ProviderType, unknown: d.Unknown}
	p.base = readBase(d.Endpoint, d.BasePath, &found)
	p.endpointPath = pathOfEndpoint(d.Endpoint)
	p.contentPath = readPath("baseContentPath", d.BaseContentPath, &found)
	switch p.provider {
	case "":
		p.provider = Helm
	case Helm, Zarf, Pack:
	default:
		found.add("providerType", `is none of "helm", "zarf" and "pack"`)
	}
	if d.Auth == nil {
		found.add("auth", `is required; write {"type": "noAuth"} for a registry without credentials`)
	} else {
		d.Auth.read(p, &found)
	}
	return p, found
}

func (a *Auth) read(p *plan, found *problems) {
	p.auth = a.Kind()
	if !slices.Contains([]AuthType{NoAuth, Basic, Token}, p.auth) {
		found.add("auth.type", `is none of "noAuth", "basic" and "token"`)
	}
	a.readCredentials(p, found)
	checkText("auth.username", a.Username, maxField, found)
	checkText("auth.password", a.Password.Reveal(), maxField, found)
	checkText("auth.token", a.Token.Reveal(), maxField, found)
	if p.auth != NoAuth && strings.Contains(a.Username, ":") {
		found.add("auth.username", "contains a colon, which Basic authentication cannot carry (RFC 7617)")
	}
	a.TLS.read(p, found)
}

// Kind is the type, derived from the credentials when none is written.
func (a *Auth) Kind() AuthType {
	switch {
	case a.Type != "":
		return a.Type
	case a.Token != "":
		return Token
	case a.Username != "" || a.Password != "":
		return Basic
	default:
		return NoAuth
	}
}

func (a *Auth) readCredentials(p *plan, found *problems) {
	if p.auth == Basic && a.Username == "" {
		found.add("auth.username", `is required for type "basic"`)
	}
	if p.auth == Basic && a.Password == "" {
		found.add("auth.password", `is required for type "basic"`)
	}
	if p.auth == Token && a.Token == "" {
		found.add("auth.token", `is required for type "token"`)
	}
	if (p.auth == NoAuth || p.auth == Token) && a.Password != "" {
		found.add("auth.password", "does not belong to type %q; remove it, or write the type \"basic\"", p.auth)
	}
	if (p.auth == NoAuth || p.auth == Basic) && a.Token != "" {
		found.add("auth.token", "does not belong to type %q; remove it, or write the type \"token\"", p.auth)
	}
	p.username, p.password, p.token = a.Username, a.Password.Reveal(), a.Token.Reveal()
}

// checkText refuses what can't travel in a header: a pasted trailing newline most of all.
func checkText(field, value string, limit int, found *problems) {
	if problem := textProblem(value, limit); problem != "" {
		found.add(field, "%s", problem)
	}
}

// TextProblem says what keeps a text from being the value of a field, in words that follow the name of the field; "" when
// nothing does.
func TextProblem(value string) string { return textProblem(value, maxField) }

func textProblem(value string, limit int) string {
	switch {
	case len(value) > limit:
		return fmt.Sprintf("is longer than %d bytes", limit)
	case !utf8.ValidString(value):
		return "is not valid UTF-8"
	case strings.HasSuffix(value, "\n") && !hasControl(strings.TrimRight(value, "\r\n")):
		return "ends with a line end; it was probably pasted along, remove it"
	case hasControl(value):
		return "contains a control character, such as a pasted line end"
	}
	return ""
}

func hasControl(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) }

// SameTarget reports whether secrets stored with one definition may be sent by the other: both lead to
// the same scheme, host, port and path and trust the same certificates. Two definitions of which one
// can't be used are never the same.
func (d Definition) SameTarget(other Definition) bool {
	a, problemsA := d.readTarget()
	b, problemsB := other.readTarget()
	return len(problemsA) == 0 && len(problemsB) == 0 && a == b
}

// trustedTarget is where a definition leads and whom it trusts on the way.
type trustedTarget struct {
	base       target
	trust      string // the PEM texts that count
	skipVerify bool
}

func (d Definition) readTarget() (trustedTarget, []Problem) {
	var found problems
	t := trustedTarget{base: readBase(d.Endpoint, d.BasePath, &found)}
	if d.Auth != nil && d.Auth.TLS.Enabled {
		trust := d.Auth.TLS
		t.trust = strings.TrimSpace(trust.CA) + "\x00" + strings.TrimSpace(trust.Certificate)
		t.skipVerify = trust.InsecureSkipVerify
	}
	return t, found
}
