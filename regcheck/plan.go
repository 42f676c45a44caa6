package regcheck

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/chartindex"
	"github.com/regwarden/regwarden/regcheck/internal/credentials"
	"github.com/regwarden/regwarden/regcheck/internal/endpoint"
	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// Plan is a definition that can be checked: defaults are filled in, and everything is parsed. It has the secrets of the definition.
type Plan struct {
	kind         Kind          // not empty
	endpoint     string        // as it is written
	base         endpoint.Base // origin and path of the API, or of the files of a chart repository
	endpointPath string        // the part of the path that is in endpoint, not in basePath
	contentPath  string
	reference    oci.Reference // of contentPath, if one was written
	versions     string        // the range of versions of contentPath, if one was written
	references   []oci.Reference
	provider     ProviderType
	login        credentials.Login
	tls          credentials.Certificates

	passCredentials bool      // to other hosts that the index of a chart repository names
	unknown         []Problem // members that do not exist
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

// repositories returns the content path and the repositories of the references, each once.
func (p *Plan) repositories() (all []string) {
	if p.contentPath != "" {
		all = append(all, p.contentPath)
	}
	for _, r := range p.references {
		if !slices.Contains(all, r.Repository) {
			all = append(all, r.Repository)
		}
	}
	return all
}

// repository returns the first of the repositories, empty if there is none.
func (p *Plan) repository() string {
	if all := p.repositories(); len(all) > 0 {
		return all[0]
	}
	return ""
}

// visible returns what reports show of the definition.
func (p *Plan) visible() string {
	text := p.base.String() + "\n" + p.contentPath + "\n" + p.login.Username
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
	p := &Plan{kind: cmp.Or(d.Kind, KindOCI), endpoint: d.Endpoint, provider: d.ProviderType, unknown: d.Unknown}
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
		p.login = d.Auth.Read(&url.URL{Scheme: p.base.Scheme, Host: p.base.HostPort()}, found.note)
		p.tls = d.Auth.TLS.Read(parseKey, found.note)
	}
	return p, found
}

func (p *Plan) readContentPath(written string, found *problems) {
	p.contentPath = readPath("baseContentPath", written, found)
	if r, ok := p.readReference(p.contentPath); ok {
		p.contentPath, p.reference = r.Repository, r
	} else if repository, of, ok := p.readRange(p.contentPath); ok {
		p.contentPath, p.versions = repository, of
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
	ok = name != "" && version != "" && !strings.ContainsAny(name, " /@") &&
		(chartindex.IsRange(version) || !strings.ContainsAny(version, " /@:"))
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
	if d.Auth != nil && d.Auth.Kind().IsObtained() && !d.Auth.Kind().IsLocal() {
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
