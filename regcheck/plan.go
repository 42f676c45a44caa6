package regcheck

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/certs"
	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/endpoint"
	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/source"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

const maxPEM = 256 << 10 // bytes of a field

// Plan is a definition that can be checked: defaults are filled in, and everything is parsed. It has the secrets of the definition.
type Plan struct {
	kind         Kind          // not empty
	endpoint     string        // as it is written
	base         endpoint.Base // origin and path of the API, or of the files of a chart repository
	endpointPath string        // the part of the path that is in endpoint, not in basePath
	contentPath  string
	reference    oci.Reference // of contentPath, if one was written
	references   []oci.Reference
	provider     ProviderType
	auth         AuthType
	username     string
	password     string // of Basic
	token        string
	source       source.Source // of the types whose credentials are obtained
	roots        []*x509.Certificate
	clientCert   *tls.Certificate

	passCredentials bool // to other hosts that the index of a chart repository names
	parseKey        bool // instead of only recognizing it
	skipVerify      bool
	unknown         []Problem // members that do not exist
	ignoredTLS      []string  // members of auth.tls that have no effect because it is not enabled
}

// Parse parses a definition, or lists everything that prevents it from being checked.
func Parse(d Definition) (*Plan, []Problem) {
	p, problems := d.read(true)
	if len(problems) > 0 {
		return nil, problems
	}
	return p, nil
}

// Endpoint returns the endpoint as it is written.
func (p *Plan) Endpoint() string { return p.endpoint }

// Registry returns the base URL of the API, as a Report has it.
func (p *Plan) Registry() string { return p.base.String() }

// secretField returns the field to correct if the registry rejects the credentials.
func (p *Plan) secretField() string {
	switch {
	case p.source != nil: // the credentials were obtained: the definition has no password
		return "auth"
	case p.auth == Token:
		return "auth.token"
	case p.auth == Basic:
		return "auth.password"
	default:
		return "auth.type"
	}
}

// userField returns the field to correct if the credentials are valid but have no permission.
func (p *Plan) userField() string {
	if p.auth == Basic && p.source == nil {
		return "auth.username"
	}
	return p.secretField()
}

// login returns the credentials for a token service.
func (p *Plan) login() challenge.Login {
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
func (p *Plan) authorizations() []string {
	switch {
	case p.auth == Basic:
		return []string{challenge.Basic(p.username, p.password)}
	case p.auth == Token:
		return []string{"Bearer " + p.token, challenge.Basic(p.username, p.token)}
	}
	return nil
}

// visible returns what reports show of the definition.
func (p *Plan) visible() string {
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

// read returns what could be parsed of a definition, and all its problems.
func (d Definition) read(parseKey bool) (*Plan, []Problem) {
	var found problems
	p := &Plan{kind: cmp.Or(d.Kind, KindOCI), endpoint: d.Endpoint, provider: d.ProviderType, unknown: d.Unknown, parseKey: parseKey}
	p.readBase(d.Endpoint, d.BasePath, &found)
	p.readContentPath(d.BaseContentPath, &found)
	p.readReferences(d.References, &found)
	switch p.kind {
	case KindOCI:
		p.noteUnused(d)
	case KindChartRepository:
		d.readChartRepository(&found)
		p.passCredentials = d.Auth != nil && d.Auth.PassCredentials
	default:
		found.add("kind", "must be one of oci, chartRepository")
	}
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

func (p *Plan) readContentPath(written string, found *problems) {
	p.contentPath = readPath("baseContentPath", written, found)
	if r, ok := p.readReference(p.contentPath); ok {
		p.contentPath, p.reference = r.Repository, r
	}
	if p.kind == KindChartRepository && strings.ContainsAny(p.contentPath, "/:@ ") {
		found.add("baseContentPath", "must be the name of a chart, or name:version, for {kind} %s", p.kind)
	}
}

// readReference reads an artifact, or a version of a chart, which is a Reference with the name of the chart and the version as its tag.
func (p *Plan) readReference(path string) (r oci.Reference, ok bool) {
	if p.kind != KindChartRepository {
		return oci.ReadReference(path, p.isHost)
	}
	name, version, _ := strings.Cut(path, ":")
	ok = name != "" && version != "" && !strings.ContainsAny(path, "/@ ") && !strings.Contains(version, ":")
	return oci.Reference{Repository: name, Tag: version}, ok
}

// noteUnused adds what only a chart repository has to the unknown members.
func (p *Plan) noteUnused(d Definition) {
	if d.Auth != nil && d.Auth.PassCredentials {
		p.unknown = append(slices.Clone(p.unknown), Problem{Field: "auth.passCredentials", Problem: "is only for chart repositories"})
	}
}

// readChartRepository reads what a chart repository does not have.
func (d Definition) readChartRepository(found *problems) {
	if d.ProviderType != "" && d.ProviderType != Helm {
		found.add("providerType", "must be helm for {kind} %s", d.Kind)
	}
	if d.Auth != nil && d.Auth.Kind().IsObtained() {
		found.add("auth.type", "must be one of noAuth, basic, token for {kind} %s", d.Kind)
	}
}

// readReferences reads the list of artifacts that must be complete.
func (p *Plan) readReferences(written []string, found *problems) {
	if len(written) > MaxReferences {
		found.add("references", "must have at most %d entries", MaxReferences)
		written = nil
	}
	for i, text := range written {
		path, problem := endpoint.ReadPath(text)
		r, ok := p.readReference(path)
		switch {
		case problem != "":
		case !ok && p.kind == KindChartRepository:
			problem = message.Of("must be the name of a chart and a version, name:version, and not %q", wire.CleanText(path))
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
func (p *Plan) isHost(name string) bool { return endpoint.APIHost(name) == p.base.Host }

func (a *Auth) read(p *Plan, found *problems) {
	p.auth = a.Kind()
	if !(slices.Contains([]AuthType{NoAuth, Basic, Token}, p.auth) || p.auth.IsObtained()) {
		found.add("auth.type", "must be one of noAuth, basic, token, ecr, gcp, azure, github")
	}
	a.readCredentials(p, found)
	a.readSource(p, found)
	found.note("auth.username", endpoint.TextProblem(a.Username))
	found.note("auth.password", endpoint.PasswordProblem(a.Password.Reveal()))
	found.note("auth.token", endpoint.TextProblem(a.Token.Reveal()))
	if p.auth != NoAuth && strings.Contains(a.Username, ":") {
		found.add("auth.username", "must not contain a colon (RFC 7617)")
	}
	a.TLS.read(p, found)
}

// readBase joins endpoint and base path. Both may end in the "v2" that the base of every API has.
func (p *Plan) readBase(written, basePath string, found *problems) {
	read := endpoint.Read
	if p.kind == KindChartRepository {
		read = endpoint.ReadFiles
	}
	base, problem := read(written)
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
func (p *Plan) endpointAt(origin string) string {
	return strings.TrimSuffix(origin+"/"+p.endpointPath, "/")
}

func (a *Auth) readCredentials(p *Plan, found *problems) {
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

func (t TLS) read(p *Plan, found *problems) {
	ca, certificate, key := strings.TrimSpace(t.CA), strings.TrimSpace(t.Certificate), strings.TrimSpace(t.Key.Reveal())
	if tooLong("auth.tls.ca", ca, found) || tooLong("auth.tls.certificate", certificate, found) || tooLong("auth.tls.key", key, found) {
		return
	}
	if !t.Enabled {
		p.ignoredTLS = t.given()
		return
	}
	p.skipVerify = t.InsecureSkipVerify
	note := func(member string, problem Text) { found.note("auth.tls."+member, problem) }
	p.roots, p.clientCert = certs.Read(ca, certificate, key, p.parseKey, note)
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

// member is a part of auth that belongs to one type.
type member struct {
	name     string
	kind     AuthType
	given    bool
	settings source.Settings
}

func (a *Auth) members() []member {
	return []member{{"aws", ECR, a.AWS != nil, a.AWS}, {"gcp", GCP, a.GCP != nil, a.GCP}, {"azure", Azure, a.Azure != nil, a.Azure},
		{"github", GitHub, a.GitHub != nil, a.GitHub}}
}

// readSource reads what credentials are obtained with.
func (a *Auth) readSource(p *Plan, found *problems) {
	for _, m := range a.members() {
		switch {
		case m.given && m.kind != p.auth:
			found.add("auth."+m.name, "cannot be combined with type %q; remove it, or set {auth.type} to %s", p.auth, m.kind)
		case !m.given && m.kind == p.auth:
			found.add("auth."+m.name, "is required for type %q", m.kind)
		case m.given:
			p.source = m.settings.Source(&url.URL{Scheme: p.base.Scheme, Host: p.base.HostPort()}, found.note)
		}
	}
	if p.auth.IsObtained() && p.base.Scheme == "http" {
		found.add("endpoint", "must use https for {auth.type} %s", p.auth)
	}
	if p.auth.IsObtained() && (a.Username != "" || a.Password != "" || a.Token != "") {
		found.add("auth.type", "%q obtains username and password; remove {auth.username}, {auth.password} and {auth.token}", p.auth)
	}
}
