package projects

import (
	"bytes"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/docker"
	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/lazyregexp"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// HelmFormats reads Helm's repositories.yaml, the dependencies of charts (Chart.yaml, Chart.lock, requirements.yaml), and helmfile.
var HelmFormats = []scanner.Reader{
	{Name: model.HelmRepositories, Is: isHelmRepositories, Keys: []string{"repositories generated", "repositories apiVersion"},
		Read: readHelmRepositories},
	{Name: model.HelmChart, Names: []string{"Chart.yaml", "requirements.yaml"}, Is: isHelmChart, Keys: []string{"apiVersion name version",
		"dependencies repository name"},
		Read: readHelmChart},
	{Name: model.Helmfile, Names: helmfileNames, Files: helmfileNames, Is: isHelmfile,
		Keys: []string{"releases chart name", "repositories url name"},
		Read: readHelmfile},
	{Name: model.Helmfile, Is: isHelmfileState, Keys: stateKeys, Read: readHelmfile},
}

// stateKeys are what a state of helmfile has that is known by its content. Others have helmfile in their names.
var stateKeys = []string{"releases chart name repositories", "releases chart name bases", "releases chart name helmDefaults",
	"releases chart name environments"}

// isHelmfileState recognizes a state that another helmfile names, by its content alone.
func isHelmfileState(f *scanner.File) bool {
	documents, _ := f.Nodes()
	has := func(key string) bool {
		return slices.ContainsFunc(documents, func(n *node.Node) bool { return n.Get(key) != nil })
	}
	return !f.HasName("helmwave*") && !has("kind") && !has("apiVersion") && !has("jobs") &&
		(has("repositories") || has("bases") || has("helmDefaults") || has("environments")) &&
		slices.ContainsFunc(documents, func(n *node.Node) bool { return hasItemWith(n.Get("releases"), "chart") })
}

func isHelmRepositories(f *scanner.File) bool {
	root := f.Root()
	return root.Get("repositories").IsArray() && root.Get("kind") == nil && (root.Get("generated") != nil || root.Get("apiVersion") != nil)
}

func readHelmRepositories(f *scanner.File) {
	if f.Root() == nil {
		f.Unrecognized()
	}
	for _, n := range f.Root().Get("repositories").Items() {
		helmRepository(f, n)
	}
}

// helmRepository adds a repository of "helm repo add". Credentials and certificates are for what is in it.
func helmRepository(f *scanner.File, n *node.Node) {
	text := func(key string) string { return n.Get(key).Text() }
	e := scanner.Entry{At: f.At(n.Line, "repository "+text("name")), Address: text("url")}
	e.Format, e.Consumer = model.HelmRepositories, model.Helm
	if strings.HasPrefix(e.Address, "oci://") {
		f.Scanner.Skip(e.At, model.SkipClassicHelm,
			"Helm uses repositories.yaml only for classic repositories. Charts in OCI registries are used by their URL (oci://…).")
		return
	}
	e.OfCharts("", "")
	e.Definition.Auth = scanner.BasicAuth(text("username"), text("password"))
	e.Definition.Auth.PassCredentials = n.Get("pass_credentials_all").Bool()
	helmTLS(f, &e, n.Get("insecure_skip_tls_verify").Bool(), text("caFile"), text("certFile"), text("keyFile"))
	e.Add(f.Scanner)
}

// helmTLS adds what the certificate files of a repository have.
func helmTLS(f *scanner.File, e *scanner.Entry, skipVerify bool, ca, certificate, key string) {
	tls := &e.Definition.Auth.TLS
	tls.InsecureSkipVerify = skipVerify
	if ca != "" {
		tls.CA, _ = f.Pem(&e.Registry, ca)
	}
	if certificate != "" && key != "" { // Helm uses none without the other
		tls.Certificate, _ = f.Pem(&e.Registry, certificate)
		_, text := f.Pem(&e.Registry, key)
		tls.Key = secret.String(text)
	}
	tls.Enabled = *tls != regcheck.TLS{}
}

func isHelmChart(f *scanner.File) bool {
	root := f.Root()
	if root.Get("kind") != nil {
		return false
	}
	return scanner.IsOneOf(root.Get("apiVersion").Text(), "v1", "v2") && root.Get("name").IsText() && root.Get("version") != nil ||
		slices.ContainsFunc(root.Get("dependencies").Items(), func(n *node.Node) bool {
			return n.Get("repository") != nil && n.Get("name").IsText()
		})
}

func readHelmChart(f *scanner.File) {
	if f.Root() == nil {
		f.Unrecognized()
	}
	dependencies := f.Root().Get("dependencies")
	if len(dependencies.Items()) > 0 && isSubchart(f) {
		f.Scanner.Skip(f.At(dependencies.Line, "dependencies"), model.SkipLocal,
			"The chart is in the charts directory of another chart: Helm uses it as it is, and does not download its dependencies.")
		return
	}
	for _, n := range dependencies.Items() {
		helmDependency(f, n)
	}
}

// isSubchart reports whether the chart is in the charts directory of another one.
func isSubchart(f *scanner.File) bool {
	charts := path.Dir(path.Dir(f.Path))
	if path.Base(charts) != "charts" {
		return false
	}
	_, err := f.Referenced(path.Join(path.Dir(charts), "Chart.yaml"))
	return err == nil
}

// helmDependency adds a dependency of a chart. Helm takes credentials from the configuration of the user who runs it. A chart in a public
// registry can be checked without them, so that the definition is complete and anonymous.
func helmDependency(f *scanner.File, n *node.Node) {
	s, name, repository := f.Scanner, n.Get("name").Text(), n.Get("repository").Text()
	at := f.At(n.Line, "dependency "+name)
	if line := n.Get("repository"); line != nil {
		at.Line = line.Line
	}
	scheme, _, hasScheme := strings.Cut(repository, "://")
	switch {
	case scanner.IsTemplate(repository) || scanner.IsTemplate(name):
		s.Skip(at, model.SkipTemplate, "%s", scanner.AddressMessages[model.SkipTemplate])
	case strings.HasPrefix(repository, "@") || strings.HasPrefix(repository, "alias:"):
		s.Skip(at, model.SkipAlias, "The name is that of a repository in Helm's repositories.yaml, which has only classic repositories.")
	case repository == "" || scheme == "file":
		s.Skip(at, model.SkipLocal, "The chart is in a local directory.")
	case scheme == "oci" && strings.Trim(repository, "/") == "oci:":
		s.Skip(at, model.SkipNoHost, "%s", scanner.AddressMessages[model.SkipNoHost])
	case scheme == "oci":
		scanner.Entry{Registry: model.Registry{Format: model.HelmChart, Consumer: model.Helm,
			Notices: []model.Notice{scanner.HelmAnonymous}},
			At: at, Address: strings.TrimSuffix(repository, "/") + "/" + name, Version: n.Get("version").Text()}.Add(s)
	case scheme == "http" || scheme == "https":
		e := scanner.Entry{Registry: model.Registry{Format: model.HelmChart, Consumer: model.Helm,
			Notices: []model.Notice{scanner.HelmRepositoryAnonymous}}, At: at, Address: repository}
		e.OfCharts(name, n.Get("version").Text())
		e.Add(s)
	case hasScheme:
		s.Skip(at, model.SkipUnsupportedScheme, "Helm reaches the repository through a plugin.")
	default:
		s.Problem(at, model.ProblemWrongShape,
			"Helm rejects the repository, because it is not a URL. An OCI registry begins with oci://, and the name of a known "+
				"repository with @.")
	}
}

// helmfileTemplate matches the text of a helmfile that is YAML only after its template has been rendered.
var helmfileTemplate = lazyregexp.New(`(?m)^(repositories|releases|helmDefaults):`)

// helmfile is the state of one file. Its documents are merged.
type helmfile struct {
	*scanner.File
	repositories []*chartRepository
	byName       map[string]*chartRepository // the first of each name
	logins       map[string]*chartRepository // the last that logs in at each registry
	defaults     map[string]bool             // what helmDefaults sets
	configs      map[string]*dockerauth.Config
}

// chartRepository is an item of "repositories".
type chartRepository struct {
	node    *node.Node
	name    string
	address string
	oci     bool

	repeated bool // whether another has the same name
}

// helmfileNames are the names that helmfile looks for, and those that its users give to other states.
var helmfileNames = []string{"helmfile.yaml", "helmfile.yml", "*helmfile*.yaml", "*helmfile*.yml", "helmfile.d/*.yaml", "helmfile.d/*.yml",
	"*helmfile*.gotmpl", "helmfile.d/*.gotmpl"}

// isHelmfile recognizes a file by its name and content. One that the user gave may have any name.
func isHelmfile(f *scanner.File) bool {
	if f.IsWalked() && !f.HasName(helmfileNames...) {
		return false
	}
	documents, err := f.Nodes()
	if err != nil {
		return bytes.Contains(f.Data, []byte("{{")) && helmfileTemplate.Get().Match(f.Data)
	}
	return slices.ContainsFunc(documents, func(n *node.Node) bool {
		return n.Get("kind") == nil && n.Get("jobs") == nil &&
			(hasItemWith(n.Get("releases"), "chart") || hasItemWith(n.Get("repositories"), "url"))
	})
}

func hasItemWith(list *node.Node, key string) bool {
	return slices.ContainsFunc(list.Items(), func(n *node.Node) bool { return n.Get(key).IsText() && n.Get("name").IsText() })
}

func readHelmfile(f *scanner.File) {
	documents, err := f.Nodes()
	if errors.Is(err, node.ErrLimit) || err != nil && !bytes.Contains(f.Data, []byte("{{")) {
		f.Unrecognized()
		return
	}
	if err != nil {
		f.Template(0, "The helmfile is a template. Scan the output of: helmfile build")
		return
	}
	h := helmfile{File: f, byName: map[string]*chartRepository{}, logins: map[string]*chartRepository{},
		configs: map[string]*dockerauth.Config{}}
	for _, document := range documents {
		if defaults := document.Get("helmDefaults"); defaults != nil {
			h.defaults = map[string]bool{"plainHttp": defaults.Get("plainHttp").Bool(),
				"insecureSkipTLSVerify": defaults.Get("insecureSkipTLSVerify").Bool()}
		}
		for _, n := range document.Get("repositories").Items() {
			h.index(&chartRepository{node: n, name: n.Get("name").Text(), address: n.Get("url").Text(), oci: n.Get("oci").Bool()})
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

func (h *helmfile) index(r *chartRepository) {
	h.repositories = append(h.repositories, r)
	if h.byName[r.name] == nil {
		h.byName[r.name] = r
	} else {
		r.repeated = true
	}
	if r.logsIn() {
		endpoint, _, _ := scanner.ReadAddress(r.address)
		h.logins[endpoint] = r
	}
}

func (h *helmfile) addRepository(r *chartRepository) {
	s, at := h.Scanner, h.At(r.node.Line, "repository "+r.name)
	e := scanner.Entry{Registry: model.Registry{Format: model.Helmfile, Consumer: model.Helm}, At: at, Address: r.address}
	scheme, _, hasScheme := strings.Cut(r.address, "://")
	switch {
	case scanner.IsTemplate(r.address):
		s.Skip(at, model.SkipTemplate, "%s", scanner.AddressMessages[model.SkipTemplate])
		return
	case r.oci && hasScheme:
		s.Problem(at, model.ProblemWrongShape,
			"helmfile adds oci:// itself to the URL of a repository with oci: true. Remove the scheme from url.")
		return
	case !r.oci && scheme == "oci":
		scanner.AddNotice(&e.Registry, model.NoticeTypeMissing,
			"Helm rejects the URL, because the repository is not marked as an OCI registry. Set oci to true, and remove oci:// from url.")
	case !r.oci && !hasScheme:
		s.Skip(at, model.SkipClassicHelm, "The repository is a classic Helm repository. If it is an OCI registry, set oci to true.")
		return
	}
	if r.repeated {
		scanner.AddNotice(&e.Registry, model.NoticeConflictingEntries,
			"Another repository has the name %s: releases use the first of them. Rename one.", scanner.Shown(r.name))
	}
	if !r.oci && scheme != "oci" {
		h.addChart(e, r, "", "")
		return
	}
	h.add(e, r, nil)
}

// addChart adds a chart repository, and a chart in it unless its name is empty.
func (h *helmfile) addChart(e scanner.Entry, r *chartRepository, chart, version string) {
	e.Address = r.address
	e.OfCharts(chart, version)
	e.Definition.Auth = &regcheck.Auth{}
	if r.text("username")+r.text("password") != "" {
		r.credentials(&e)
	}
	e.Definition.Auth.PassCredentials = r.node.Get("passCredentials").Bool()
	helmTLS(h.File, &e, r.node.Get("skipTLSVerify").Bool(), r.text("caFile"), r.text("certFile"), r.text("keyFile"))
	e.Add(h.Scanner)
}

func (h *helmfile) addRelease(n *node.Node) {
	s, chart := h.Scanner, n.Get("chart").Text()
	at := h.At(n.Line, "release "+n.Get("name").Text())
	if line := n.Get("chart"); line != nil {
		at.Line = line.Line
	}
	e := scanner.Entry{Registry: model.Registry{Format: model.Helmfile, Consumer: model.Helm}, At: at, Address: scanner.CutTag(chart)}
	alias, name, found := strings.Cut(chart, "/")
	r := h.byName[alias]
	switch {
	case scanner.IsTemplate(chart) || r != nil && scanner.IsTemplate(r.address):
		s.Skip(at, model.SkipTemplate, "%s", scanner.AddressMessages[model.SkipTemplate])
	case strings.HasPrefix(chart, "oci://"):
		e.Version = n.Get("version").Text()
		h.add(e, nil, n)
	case found && r != nil && r.oci:
		e.Address, e.Version = r.address+"/"+name, n.Get("version").Text()
		h.add(e, r, n)
	case found && r != nil:
		h.addChart(e, r, name, n.Get("version").Text())
	case strings.HasPrefix(chart, "git::"):
		s.Skip(at, model.SkipGit, "The chart is in a Git repository.")
	case strings.Contains(chart, "://"):
		s.Skip(at, model.SkipNotOCI, "Helm downloads the chart from its URL.")
	case !found || strings.HasPrefix(chart, "/") || strings.HasPrefix(chart, "."):
		s.Skip(at, model.SkipLocal, "The chart is in a local directory.")
	default:
		s.Skip(at, model.SkipAlias, "The chart is in a repository that is not defined in this file, or in a local directory.")
	}
}

// add adds the registry of a repository, or of a release, whose chart need not be in a repository.
func (h *helmfile) add(e scanner.Entry, r *chartRepository, release *node.Node) {
	isSet := func(key, inRepository string) bool {
		return release.Get(key).Bool() || h.defaults[key] || r != nil && r.node.Get(inRepository).Bool()
	}
	e.Definition.Auth = &regcheck.Auth{}
	h.addCredentials(&e, r)
	if isSet("plainHttp", "plainHttp") {
		e.Address = "http://" + strings.TrimPrefix(e.Address, "oci://")
	} else {
		var ca, certificate, key string
		if r != nil {
			ca, certificate, key = r.text("caFile"), r.text("certFile"), r.text("keyFile")
		}
		helmTLS(h.File, &e, isSet("insecureSkipTLSVerify", "skipTLSVerify"), ca, certificate, key)
	}
	e.Add(h.Scanner)
}

// addCredentials sets what Helm sends to the registry. helmfile logs in for each repository with credentials, one after the other. Helm
// stores one login for each host, so that the last one counts, for all charts on the host.
func (h *helmfile) addCredentials(e *scanner.Entry, own *chartRepository) {
	if own != nil && own.text("registryConfig") != "" {
		h.useRegistryConfig(e, own)
		return
	}
	endpoint, _, _ := scanner.ReadAddress(e.Address)
	login := h.logins[endpoint]
	if login == nil {
		e.Notices = append(e.Notices, scanner.HelmAnonymous)
		return
	}
	if own != nil && own != login && own.logsIn() {
		scanner.AddNotice(&e.Registry, model.NoticeShadowedCredentials,
			"Helm stores one login for each host, and helmfile logs in again for the repository %q, whose credentials replace these.",
			login.name)
	}
	login.credentials(e)
}

// useRegistryConfig chooses the credentials from a file such as docker's, which the repository names.
func (h *helmfile) useRegistryConfig(e *scanner.Entry, r *chartRepository) {
	name := r.text("registryConfig")
	config, known := h.configs[name]
	if !known {
		data, err := h.OnMachine(name)
		if err != nil {
			scanner.SetUnresolved(&e.Registry, model.UnresolvedConfigFile,
				"The file in registryConfig was not read. Scan the directory that has it.")
			return
		}
		if config, err = dockerauth.Parse(data, false); err != nil {
			config = nil
		}
		h.configs[name] = config
	}
	if config == nil {
		scanner.SetUnresolved(&e.Registry, model.UnresolvedConfigFile, "The file in registryConfig is not valid JSON.")
		return
	}
	docker.Choose(h.Scanner, &e.Registry, config, dockerauth.ORAS, strings.TrimPrefix(e.Address, "oci://"))
}

// text returns a field of the repository.
func (r *chartRepository) text(key string) string { return r.node.Get(key).Text() }

// logsIn reports whether helmfile logs in for the repository, if the environment has what is missing.
func (r *chartRepository) logsIn() bool {
	return (r.oci || strings.HasPrefix(r.address, "oci://")) && !scanner.IsTemplate(r.address) && (r.text("username") != "" ||
		r.text("password") != "")
}

func (r *chartRepository) credentials(e *scanner.Entry) {
	username, password := r.text("username"), r.text("password")
	variable := strings.ToUpper(strings.ReplaceAll(r.name, "-", "_"))
	switch {
	case scanner.IsTemplate(username+password) || strings.HasPrefix(password, "ref+"): // of vals
		scanner.SetUnresolved(&e.Registry, model.UnresolvedTemplate, "The credentials are a template. Scan the output of: helmfile build")
	case username == "":
		scanner.SetUnresolved(&e.Registry, model.UnresolvedIncomplete,
			"helmfile takes the username from the environment variable %s_USERNAME.", variable)
	case password == "":
		scanner.SetUnresolved(&e.Registry, model.UnresolvedIncomplete,
			"helmfile takes the password from the environment variable %s_PASSWORD.", variable)
	default:
		scanner.SetAuth(&e.Registry, scanner.BasicAuth(username, password))
		e.Notices = append(e.Notices,
			scanner.SecretNotice("Set the environment variables "+variable+"_USERNAME and "+variable+"_PASSWORD instead, which helmfile "+
				"uses."))
	}
}
