package regcheck

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/certs"
	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/endpoint"
	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

const maxPEM = 256 << 10 // bytes of a field

// plan is a definition as read: defaults filled in, everything parsed.
type plan struct {
	base         endpoint.Base // origin and path of the API
	endpointPath string        // the part of the path that is in endpoint, not in basePath
	contentPath  string
	reference    oci.Reference // of contentPath, if one was written
	references   []oci.Reference
	provider     ProviderType
	auth         AuthType
	username     string
	password     string // of Basic
	token        string
	roots        []*x509.Certificate
	clientCert   *tls.Certificate
	parseKey     bool // instead of only recognizing it
	skipVerify   bool
	unknown      []Problem // members that do not exist
	ignoredTLS   []string  // members of auth.tls that have no effect because it is not enabled
}

// secretField returns the field to correct if the registry rejects the credentials.
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

// userField returns the field to correct if the credentials are valid but have no permission.
func (p *plan) userField() string {
	if p.auth == Basic {
		return "auth.username"
	}
	return p.secretField()
}

// login returns the credentials for a token service.
func (p *plan) login() challenge.Login {
	switch {
	case p.auth == Basic:
		return challenge.Login{User: p.username, Password: p.password}
	case p.auth == Token && p.username != "":
		return challenge.Login{User: p.username, Password: p.token}
	case p.auth == Token:
		return challenge.Login{Refresh: p.token}
	}
	return challenge.Login{}
}

// authorizations returns the headers in which credentials are sent, to know them in responses.
func (p *plan) authorizations() []string {
	switch {
	case p.auth == Basic:
		return []string{challenge.Basic(p.username, p.password)}
	case p.auth == Token:
		return []string{"Bearer " + p.token, challenge.Basic(p.username, p.token)}
	}
	return nil
}

// visible returns what reports show of the definition.
func (p *plan) visible() string {
	text := p.base.String() + "\n" + p.contentPath + "\n" + p.username
	for _, r := range p.references {
		text += "\n" + r.String()
	}
	return text
}

// problems are collected while a definition is read, so that all of them are reported at once.
type problems []Problem

func (p *problems) add(field, format string, args ...any) {
	p.note(field, message.Of(format, args...))
}

// note adds a problem unless it is empty.
func (p *problems) note(field string, problem Text) {
	if problem != "" {
		*p = append(*p, Problem{field, Audience{}.Show(problem), problem})
	}
}

// read returns the plan of a definition, and all problems that prevent it from being tried.
func (d Definition) read(parseKey bool) (*plan, []Problem) {
	var found problems
	p := &plan{provider: d.ProviderType, unknown: d.Unknown, parseKey: parseKey}
	p.readBase(d.Endpoint, d.BasePath, &found)
	p.contentPath = readPath("baseContentPath", d.BaseContentPath, &found)
	if r, ok := oci.ReadReference(p.contentPath, p.isHost); ok {
		p.contentPath, p.reference = r.Repository, r
	}
	p.readReferences(d.References, &found)
	switch p.provider {
	case "":
		p.provider = Helm
	case Helm, Zarf, Pack:
	default:
		found.add("providerType", "must be one of helm, zarf, pack")
	}
	if d.Auth == nil {
		found.add("auth", `is required; use {{"type": "noAuth"} for a registry without credentials`)
	} else {
		d.Auth.read(p, &found)
	}
	return p, found
}

// readReferences reads the list of artifacts that must be complete.
func (p *plan) readReferences(written []string, found *problems) {
	if len(written) > MaxReferences {
		found.add("references", "must have at most %d entries", MaxReferences)
		written = nil
	}
	for i, text := range written {
		path, problem := endpoint.ReadPath(text)
		r, ok := oci.ReadReference(path, p.isHost)
		switch {
		case problem != "":
		case !ok:
			problem = message.Of("must be repository:tag or repository@digest, without the host, and not %q", wire.CleanText(path))
		case slices.Contains(p.references, r):
			problem = "is already in the list"
		}
		found.note(referenceField(i), problem)
		p.references = append(p.references, r)
	}
}

// isHost reports whether a name is the host of the registry.
func (p *plan) isHost(name string) bool { return endpoint.APIHost(name) == p.base.Host }

func (a *Auth) read(p *plan, found *problems) {
	p.auth = a.Kind()
	if !slices.Contains([]AuthType{NoAuth, Basic, Token}, p.auth) {
		found.add("auth.type", "must be one of noAuth, basic, token")
	}
	a.readCredentials(p, found)
	found.note("auth.username", endpoint.TextProblem(a.Username))
	found.note("auth.password", endpoint.PasswordProblem(a.Password.Reveal()))
	found.note("auth.token", endpoint.TextProblem(a.Token.Reveal()))
	if p.auth != NoAuth && strings.Contains(a.Username, ":") {
		found.add("auth.username", "must not contain a colon (RFC 7617)")
	}
	a.TLS.read(p, found)
}

// readBase joins endpoint and base path. Both may end in the "v2" that every base has.
func (p *plan) readBase(written, basePath string, found *problems) {
	base, problem := endpoint.Read(written)
	found.note("endpoint", problem)
	p.endpointPath = base.Path
	p.base = base.Below(readPath("basePath", basePath, found))
}

func readPath(field, value string, found *problems) string {
	path, problem := endpoint.ReadPath(value)
	found.note(field, problem)
	return path
}

// endpointAt returns the definition's endpoint with its path, at another scheme, host or port.
func (p *plan) endpointAt(origin string) string {
	return strings.TrimSuffix(origin+"/"+p.endpointPath, "/")
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
		found.add("auth.password", "cannot be combined with type %q; remove it, or set {auth.type} to basic", p.auth)
	}
	if (p.auth == NoAuth || p.auth == Basic) && a.Token != "" {
		found.add("auth.token", "cannot be combined with type %q; remove it, or set {auth.type} to token", p.auth)
	}
	p.username, p.password, p.token = a.Username, a.Password.Reveal(), a.Token.Reveal()
}

func (t TLS) read(p *plan, found *problems) {
	ca, certificate, key := strings.TrimSpace(t.CA), strings.TrimSpace(t.Certificate), strings.TrimSpace(t.Key.Reveal())
	if tooLong("auth.tls.ca", ca, found) || tooLong("auth.tls.certificate", certificate, found) || tooLong("auth.tls.key", key, found) {
		return
	}
	if !t.Enabled {
		p.ignoredTLS = t.given()
		return
	}
	p.skipVerify = t.InsecureSkipVerify
	p.roots, p.clientCert = certs.Read(ca, certificate, key, p.parseKey, func(member string, problem Text) { found.note("auth.tls."+member, problem) })
}

// given returns the members that have a value, other than enabled.
func (t TLS) given() (names []string) {
	for _, member := range []struct {
		name  string
		given bool
	}{{"ca", t.CA != ""}, {"certificate", t.Certificate != ""}, {"key", t.Key != ""}, {"insecureSkipVerify", t.InsecureSkipVerify}} {
		if member.given {
			names = append(names, "auth.tls."+member.name)
		}
	}
	return names
}

func tooLong(field, text string, found *problems) bool {
	if len(text) <= maxPEM {
		return false
	}
	found.add(field, "must be at most %d bytes", maxPEM)
	return true
}
