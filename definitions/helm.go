package definitions

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// helmFormats reads Helm's repositories.yaml, the dependencies of charts (Chart.yaml, Chart.lock, requirements.yaml), and helmfile.
var helmFormats = []format{
	{HelmRepositories, isHelmRepositories, readHelmRepositories},
	{HelmChart, isHelmChart, readHelmChart},
	{Helmfile, isHelmfile, readHelmfile},
}

func isHelmRepositories(f *file) bool {
	root := f.root()
	return root.Get("repositories").IsArray() && root.Get("kind") == nil && (root.Get("generated") != nil || root.Get("apiVersion") != nil)
}

func readHelmRepositories(f *file) {
	if f.root() == nil {
		f.unrecognized()
	}
	for _, n := range f.root().Get("repositories").Items() {
		f.scanner.skip(f.at(n.Line, "repository "+n.Get("name").Text()), SkipClassicHelm,
			"Helm uses repositories.yaml only for classic repositories. Charts in OCI registries are used by their URL (oci://…).")
	}
}

func isHelmChart(f *file) bool {
	root := f.root()
	if root.Get("kind") != nil {
		return false
	}
	return isOneOf(root.Get("apiVersion").Text(), "v1", "v2") && root.Get("name").IsText() && root.Get("version") != nil ||
		slices.ContainsFunc(root.Get("dependencies").Items(), func(n *node.Node) bool {
			return n.Get("repository") != nil && n.Get("name").IsText()
		})
}

func isOneOf(text string, list ...string) bool { return slices.Contains(list, text) }

func readHelmChart(f *file) {
	if f.root() == nil {
		f.unrecognized()
	}
	for _, n := range f.root().Get("dependencies").Items() {
		f.helmDependency(n)
	}
}

// helmDependency adds a dependency of a chart. Helm takes credentials from the configuration of the user who runs it. A chart in a public
// registry can be checked without them, so that the definition is complete and anonymous.
func (f *file) helmDependency(n *node.Node) {
	s, name, repository := f.scanner, n.Get("name").Text(), n.Get("repository").Text()
	at := f.at(n.Line, "dependency "+name)
	if line := n.Get("repository"); line != nil {
		at.Line = line.Line
	}
	scheme, _, hasScheme := strings.Cut(repository, "://")
	switch {
	case isTemplate(repository) || isTemplate(name):
		s.skip(at, SkipTemplate, "%s", addressMessages[SkipTemplate])
	case strings.HasPrefix(repository, "@") || strings.HasPrefix(repository, "alias:"):
		s.skip(at, SkipAlias, "The name is that of a repository in Helm's repositories.yaml, which has only classic repositories.")
	case repository == "" || scheme == "file":
		s.skip(at, SkipLocal, "The chart is in a local directory.")
	case scheme == "oci" && strings.Trim(repository, "/") == "oci:":
		s.skip(at, SkipNoHost, "%s", addressMessages[SkipNoHost])
	case scheme == "oci":
		entry{Registry: Registry{Format: HelmChart, Consumer: Helm, Notices: []Notice{helmAnonymous}}, at: at, address: strings.TrimSuffix(repository, "/") + "/" + name}.add(s)
	case scheme == "http" || scheme == "https":
		s.skip(at, SkipClassicHelm, "The repository is a classic Helm repository.")
	case hasScheme:
		s.skip(at, SkipUnsupportedScheme, "Helm reaches the repository through a plugin.")
	default:
		s.problem(at, ProblemWrongShape, "Helm rejects the repository, because it is not a URL. An OCI registry begins with oci://, and the name of a known repository with @.")
	}
}

var helmAnonymous = Notice{NoticeNoMatchingCredentials, "Helm takes the credentials of a chart from its own configuration (helm registry login), which is not part of this file. The check connects without credentials."}

// helmfileTemplate matches the text of a helmfile that is YAML only after its template has been rendered.
var helmfileTemplate = regexp.MustCompile(`(?m)^(repositories|releases|helmDefaults):`)

// helmfile is the state of one file. Its documents are merged.
type helmfile struct {
	*file
	repositories []*chartRepository
	defaults     *node.Node // helmDefaults
}

// chartRepository is an item of "repositories".
type chartRepository struct {
	node    *node.Node
	name    string
	address string
	oci     bool
}

func isHelmfile(f *file) bool {
	documents, err := f.nodes()
	if err != nil {
		return bytes.Contains(f.data, []byte("{{")) && helmfileTemplate.Match(f.data)
	}
	return slices.ContainsFunc(documents, func(n *node.Node) bool {
		return n.Get("kind") == nil && n.Get("jobs") == nil &&
			(hasItemWith(n.Get("releases"), "chart") || hasItemWith(n.Get("repositories"), "url"))
	})
}

func hasItemWith(list *node.Node, key string) bool {
	return slices.ContainsFunc(list.Items(), func(n *node.Node) bool { return n.Get(key).IsText() && n.Get("name").IsText() })
}

func readHelmfile(f *file) {
	documents, err := f.nodes()
	if err != nil && !bytes.Contains(f.data, []byte("{{")) {
		f.unrecognized()
		return
	}
	if err != nil {
		f.scanner.problem(f.at(0, ""), ProblemTemplate, "The helmfile is a template. Scan the output of: helmfile build")
		return
	}
	h := helmfile{file: f}
	for _, document := range documents {
		if defaults := document.Get("helmDefaults"); defaults != nil {
			h.defaults = defaults
		}
		for _, n := range document.Get("repositories").Items() {
			r := &chartRepository{n, n.Get("name").Text(), n.Get("url").Text(), n.Get("oci").Bool()}
			h.repositories = append(h.repositories, r)
		}
	}
	for _, r := range h.repositories {
		h.addRepository(r)
	}
	for _, document := range documents {
		for _, n := range document.Get("releases").Items() {
			h.addRelease(n)
		}
	}
}

func (h *helmfile) addRepository(r *chartRepository) {
	s, at := h.scanner, h.at(r.node.Line, "repository "+r.name)
	e := entry{Registry: Registry{Format: Helmfile, Consumer: Helm}, at: at, address: r.address}
	scheme, _, hasScheme := strings.Cut(r.address, "://")
	switch {
	case isTemplate(r.address):
		s.skip(at, SkipTemplate, "%s", addressMessages[SkipTemplate])
		return
	case r.oci && hasScheme:
		s.problem(at, ProblemWrongShape, "helmfile adds oci:// itself to the URL of a repository with oci: true. Remove the scheme from url.")
		return
	case !r.oci && scheme == "oci":
		e.notice(NoticeTypeMissing, "Helm rejects the URL, because the repository is not marked as an OCI registry. Set oci to true, and remove oci:// from url.")
	case !r.oci:
		s.skip(at, SkipClassicHelm, "The repository is a classic Helm repository. If it is an OCI registry, set oci to true.")
		return
	}
	h.add(e, r, nil)
}

func (h *helmfile) addRelease(n *node.Node) {
	s, chart := h.scanner, n.Get("chart").Text()
	at := h.at(n.Line, "release "+n.Get("name").Text())
	if line := n.Get("chart"); line != nil {
		at.Line = line.Line
	}
	e := entry{Registry: Registry{Format: Helmfile, Consumer: Helm}, at: at, address: cutTag(chart)}
	alias, name, found := strings.Cut(chart, "/")
	r := h.find(alias)
	switch {
	case isTemplate(chart) || r != nil && isTemplate(r.address):
		s.skip(at, SkipTemplate, "%s", addressMessages[SkipTemplate])
	case strings.HasPrefix(chart, "oci://"):
		h.add(e, nil, n)
	case found && r != nil && r.oci:
		e.address = r.address + "/" + name
		h.add(e, r, n)
	case found && r != nil: // its repository is reported
	case strings.HasPrefix(chart, "git::"):
		s.skip(at, SkipGit, "The chart is in a Git repository.")
	case strings.Contains(chart, "://"):
		s.skip(at, SkipNotOCI, "Helm downloads the chart from its URL.")
	case !found || strings.HasPrefix(chart, "/") || strings.HasPrefix(chart, "."):
		s.skip(at, SkipLocal, "The chart is in a local directory.")
	default:
		s.skip(at, SkipAlias, "The chart is in a repository that is not defined in this file, or in a local directory.")
	}
}

// find returns the first repository of this name, nil if there is none.
func (h *helmfile) find(name string) *chartRepository {
	if i := slices.IndexFunc(h.repositories, func(r *chartRepository) bool { return r.name == name }); i >= 0 {
		return h.repositories[i]
	}
	return nil
}

// add adds the registry of a repository, or of a release, whose chart need not be in a repository.
func (h *helmfile) add(e entry, r *chartRepository, release *node.Node) {
	isSet := func(key, inRepository string) bool {
		return release.Get(key).Bool() || h.defaults.Get(key).Bool() || r != nil && r.node.Get(inRepository).Bool()
	}
	e.Definition.Auth = &regcheck.Auth{}
	h.addCredentials(&e, r)
	tls := &e.Definition.Auth.TLS
	if isSet("plainHttp", "plainHttp") {
		e.address = "http://" + strings.TrimPrefix(e.address, "oci://")
	} else {
		tls.InsecureSkipVerify = isSet("insecureSkipTLSVerify", "skipTLSVerify")
		h.addCertificates(&e, r)
		tls.Enabled = *tls != regcheck.TLS{}
	}
	e.add(h.scanner)
}

// addCredentials sets what Helm sends to the registry. helmfile logs in for each repository with credentials, one after the other. Helm
// stores one login for each host, so that the last one counts, for all charts on the host.
func (h *helmfile) addCredentials(e *entry, own *chartRepository) {
	if own != nil && own.text("registryConfig") != "" {
		h.useRegistryConfig(e, own)
		return
	}
	var login *chartRepository
	for _, r := range h.repositories {
		if r.logsIn() && sameRegistry(r.address, e.address) {
			login = r
		}
	}
	if login == nil {
		e.Notices = append(e.Notices, helmAnonymous)
		return
	}
	if own != nil && own != login && own.logsIn() {
		e.notice(NoticeShadowedCredentials, "Helm stores one login for each host, and helmfile logs in again for the repository %q, whose credentials replace these.", login.name)
	}
	login.credentials(e)
}

func sameRegistry(a, b string) bool {
	first, _, _ := readAddress(a)
	second, _, _ := readAddress(b)
	return first == second
}

// useRegistryConfig chooses the credentials from a file such as docker's, which the repository names.
func (h *helmfile) useRegistryConfig(e *entry, r *chartRepository) {
	data, err := h.onMachine(r.text("registryConfig"))
	if err != nil {
		e.unresolved(UnresolvedConfigFile, "The file in registryConfig was not read. Scan the directory that has it.")
		return
	}
	config, err := dockerauth.Parse(data, false)
	if err != nil {
		e.unresolved(UnresolvedConfigFile, "The file in registryConfig is not valid JSON.")
		return
	}
	h.scanner.choose(&e.Registry, config, dockerauth.ORAS, strings.TrimPrefix(e.address, "oci://"))
}

// text returns a field of the repository.
func (r *chartRepository) text(key string) string { return r.node.Get(key).Text() }

// logsIn reports whether helmfile logs in for the repository, if the environment has what is missing.
func (r *chartRepository) logsIn() bool {
	return (r.oci || strings.HasPrefix(r.address, "oci://")) && !isTemplate(r.address) && (r.text("username") != "" || r.text("password") != "")
}

func (r *chartRepository) credentials(e *entry) {
	username, password := r.text("username"), r.text("password")
	variable := strings.ToUpper(strings.ReplaceAll(r.name, "-", "_"))
	switch {
	case isTemplate(username+password) || strings.HasPrefix(password, "ref+"): // of vals
		e.unresolved(UnresolvedTemplate, "The credentials are a template. Scan the output of: helmfile build")
	case username == "":
		e.unresolved(UnresolvedIncomplete, "helmfile takes the username from the environment variable %s_USERNAME.", variable)
	case password == "":
		e.unresolved(UnresolvedIncomplete, "helmfile takes the password from the environment variable %s_PASSWORD.", variable)
	default:
		e.setAuth(basicAuth(username, password))
		e.Notices = append(e.Notices, secretNotice("Set the environment variables "+variable+"_USERNAME and "+variable+"_PASSWORD instead, which helmfile uses."))
	}
}

// addCertificates adds what the certificate files of a repository have. Their paths are relative to the helmfile.
func (h *helmfile) addCertificates(e *entry, r *chartRepository) {
	tls := &e.Definition.Auth.TLS
	if r != nil && r.text("caFile") != "" {
		tls.CA, _ = h.pem(&e.Registry, r.text("caFile"))
	}
	if r != nil && r.text("certFile") != "" && r.text("keyFile") != "" { // Helm uses none without the other
		tls.Certificate, _ = h.pem(&e.Registry, r.text("certFile"))
		_, key := h.pem(&e.Registry, r.text("keyFile"))
		tls.Key = secret.String(key)
	}
}
