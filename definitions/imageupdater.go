package definitions

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/argorepo"
	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/regcheck"
)

// imageUpdaterFormats reads registries.conf of Argo CD Image Updater, as a file or in its ConfigMap.
var imageUpdaterFormats = []format{{ArgoCDImageUpdater, isUpdaterFile, readUpdaterFile}}

// updaterFile is the kind by which the file is among the objects of the cluster, because it refers to Secrets of other files.
const updaterFile = "registries.conf"

// updaterKeys are all that an entry may have. Image Updater rejects a file with another one.
var updaterKeys = []string{"name", "api_url", "ping", "credentials", "credsexpire", "tagsortmode", "prefix", "insecure", "ca_file", "ca_data",
	"defaultns", "limit", "default"}

// Booleans of YAML 1.1, which Image Updater reads.
var (
	yamlTrue  = []string{"y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"}
	yamlFalse = []string{"", "n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"}
)

// updater reads the entries of one registries.conf.
type updater struct {
	*Scanner
	o      *object // the ConfigMap or file that has it
	format Format
	at     func(n *node.Node, name string) Source

	withoutPrefix, isDefault string // name of the entry
}

func isUpdaterFile(f *file) bool {
	if !bytes.Contains(f.data, []byte("api_url")) {
		return false
	}
	root := f.root()
	return root.Get("kind") == nil && slices.ContainsFunc(root.Get("registries").Items(), func(n *node.Node) bool { return n.Get("api_url").IsText() })
}

func readUpdaterFile(f *file) {
	if f.root() == nil {
		f.unrecognized()
		return
	}
	f.scanner.cluster.add(f.scanner, &object{file: f, node: f.root(), kind: updaterFile})
}

func resolveUpdaterFile(s *Scanner, o *object) {
	u := updater{Scanner: s, o: o, format: ArgoCDImageUpdater}
	u.at = func(n *node.Node, name string) Source { return o.file.at(n.Line, strings.TrimSpace("registry "+name)) }
	u.add(o.node)
}

// resolveUpdaterConfig reads the text in the ConfigMap of Image Updater, which is YAML within YAML.
func resolveUpdaterConfig(s *Scanner, o *object) {
	text := o.node.Get("data", updaterFile)
	if o.name != "argocd-image-updater-config" || text == nil {
		return
	}
	documents, err := node.YAML([]byte(text.Text()))
	if err != nil {
		s.problem(o.at(text), ProblemNotYAML, "The text in registries.conf is not valid YAML: %v.", err)
		return
	}
	u := updater{Scanner: s, o: o, format: Kubernetes}
	u.at = func(n *node.Node, _ string) Source {
		at := o.at(text)
		if first := text.TextLine(); first > text.Line { // otherwise all is on one line
			at.Line = first + n.Line - 1
		}
		return at
	}
	for _, document := range documents {
		u.add(document)
	}
}

func (u *updater) add(root *node.Node) {
	for _, n := range root.Get("registries").Items() {
		name := n.Get("name").Text()
		at := u.at(n, name)
		if problem, message := u.reject(n, name); problem != "" {
			u.problem(at, problem, "Argo CD Image Updater rejects the whole file: %s", message)
			continue
		}
		u.addRegistry(n, at)
	}
}

// reject returns why Image Updater rejects the file, "" if it does not.
func (u *updater) reject(n *node.Node, name string) (reason ProblemReason, message string) {
	for _, p := range n.Pairs() {
		if !slices.Contains(updaterKeys, p.Key) {
			return ProblemWrongShape, "it does not know the key " + dockerauth.Show(p.Key) + "."
		}
	}
	apiURL, prefix := n.Get("api_url").Text(), n.Get("prefix").Text()
	isDefault := slices.Contains(yamlTrue, n.Get("default").Text())
	switch {
	case name == "":
		return ProblemWrongShape, "the registry has no name."
	case apiURL == "":
		return ProblemNoHost, "the registry has no api_url."
	case !isYAMLBool(n.Get("insecure")) || !isYAMLBool(n.Get("default")):
		return ProblemWrongShape, "insecure and default must be booleans."
	case prefix == "" && u.withoutPrefix != "":
		return ProblemConflictingEntries, "only one registry may have no prefix."
	case isDefault && u.isDefault != "":
		return ProblemConflictingEntries, "only one registry may be the default."
	}
	if prefix == "" {
		u.withoutPrefix = name
	}
	if isDefault {
		u.isDefault = name
	}
	return "", ""
}

func isYAMLBool(n *node.Node) bool {
	return slices.Contains(yamlTrue, n.Text()) || slices.Contains(yamlFalse, n.Text())
}

func (u *updater) addRegistry(n *node.Node, at Source) {
	apiURL := n.Get("api_url").Text()
	scheme, _, _ := strings.Cut(apiURL, "://")
	switch {
	case isTemplate(apiURL):
		u.skip(at, SkipTemplate, "%s", addressMessages[SkipTemplate])
		return
	case !isOneOf(scheme, "http", "https"):
		u.problem(at, ProblemWrongShape, "Argo CD Image Updater cannot connect: api_url must begin with https:// or http://.")
		return
	}
	e := entry{at: at, address: apiURL, path: pathOfAPI, Registry: Registry{Format: u.format, Consumer: ArgoCD}}
	_, e.Definition.BaseContentPath, _ = strings.Cut(n.Get("prefix").Text(), "/")
	e.Definition.Auth = &regcheck.Auth{}
	u.addTrust(&e, n)
	u.addCredentials(&e, n.Get("credentials").Text(), apiURL)
	e.reachedFrom(argorepo.Host(apiURL))
	e.add(u.Scanner)
}

// addTrust adds the certificates that Image Updater trusts in addition to the system's roots. Without ca_file it takes them from Argo CD.
func (u *updater) addTrust(e *entry, n *node.Node) {
	tls := &e.Definition.Auth.TLS
	if tls.InsecureSkipVerify = slices.Contains(yamlTrue, n.Get("insecure").Text()); !tls.InsecureSkipVerify {
		switch {
		case n.Get("ca_file").Text() != "":
			e.lacks(gapf(UnresolvedConfigFile, "The CA certificates are in the file of ca_file, in the container of Image Updater. Set ca_data instead."))
		case u.o.kind == "ConfigMap":
			use := argoUse{argoCD: u.cluster.argoCD(), o: u.o, Repository: argorepo.Repository{URL: e.address}}
			use.addCA(e)
		}
		certificates, _ := pemBlocks([]byte(n.Get("ca_data").Text()))
		tls.CA += certificates
	}
	tls.Enabled = *tls != regcheck.TLS{}
}

func (u *updater) addCredentials(e *entry, source, apiURL string) {
	kind, name := updaterSource(source)
	switch {
	case source == "":
		e.notice(NoticeNoMatchingCredentials, "The registry has no credentials: Argo CD Image Updater connects without any, unless an image has its own.")
	case isTemplate(source):
		e.lacks(gapf(UnresolvedTemplate, "The source of the credentials is a template."))
	case kind == "env":
		e.lacks(gapf(UnresolvedConfigFile, "The credentials are in the environment variable %s of Argo CD Image Updater.", dockerauth.Show(name)))
	case kind == "ext" && strings.HasPrefix(name, "/"):
		e.lacks(gapf(UnresolvedCredentialHelper, "The credentials are the output of %s, which was not started.", dockerauth.Show(name)))
	case kind == "pullsecret" || kind == "secret":
		u.addSecret(e, kind, name, apiURL)
	default:
		e.lacks(gapf(UnresolvedIncomplete, "Argo CD Image Updater cannot read credentials: it must be pullsecret:NAMESPACE/NAME, secret:NAMESPACE/NAME#KEY, env:NAME or ext:/PATH."))
	}
}

// updaterSource splits the source of credentials, which may begin with a registry and =.
func updaterSource(text string) (kind, name string) {
	if registry, rest, found := strings.Cut(text, "="); found && registry != "" && rest != "" {
		text = rest
	}
	kind, name, _ = strings.Cut(text, ":")
	if name == "" || strings.Contains(name, ":") {
		return "", ""
	}
	return strings.ToLower(kind), name
}

// addSecret adds the credentials from a Secret, of which the namespace is given.
func (u *updater) addSecret(e *entry, kind, name, apiURL string) {
	path, key, _ := strings.Cut(name, "#")
	if kind == "pullsecret" {
		path, key = name, dockerKeys[dockerConfigSecret]
	}
	namespace, name, found := strings.Cut(path, "/")
	if !found || namespace == "" || name == "" || key == "" || strings.ContainsAny(name+key, "/#") {
		e.lacks(gapf(UnresolvedIncomplete, "Argo CD Image Updater cannot read credentials: a Secret must be NAMESPACE/NAME, with #KEY after secret:."))
		return
	}
	o, g := u.cluster.secret(&object{file: u.o.file, kind: "credentials", namespace: namespace}, name)
	if g != nil {
		e.lacks(g)
		return
	}
	v := o.secretValue(key)
	switch {
	case v.at == nil:
		e.lacks(gapf(UnresolvedReferenceMissing, "The Secret %q does not have the key %s.", dockerauth.Show(name), dockerauth.Show(key)))
	case v.gap != nil:
		e.lacks(v.gap)
	case kind == "pullsecret":
		e.usePullSecret(v.text, apiURL)
	default:
		e.useUserPassword(v.text)
	}
}

// useUserPassword uses credentials as user:password.
func (e *entry) useUserPassword(text string) {
	username, password, _ := strings.Cut(text, ":")
	if username == "" || password == "" {
		e.lacks(gapf(UnresolvedIncomplete, "Argo CD Image Updater cannot use the value of the Secret: it must be USER:PASSWORD."))
		return
	}
	e.setAuth(basicAuth(username, password))
}

// usePullSecret uses an entry whose key begins with the URL or its host, as no other consumer does. Of several it uses any one. It reads
// only "auth".
func (e *entry) usePullSecret(text, apiURL string) {
	root, err := node.JSON([]byte(text))
	if err != nil {
		e.lacks(gapf(UnresolvedIncomplete, "The pull Secret is not valid JSON."))
		return
	}
	apiURL = strings.TrimSuffix(apiURL, "/")
	_, host, _ := strings.Cut(apiURL, "://")
	var matches []string
	other := false
	for _, p := range root.Get("auths").Pairs() {
		rest, found := strings.CutPrefix(p.Key, apiURL)
		if !found {
			rest, found = strings.CutPrefix(p.Key, host)
		}
		if !found {
			continue
		}
		other = other || rest != "" && rest[0] != '/' // the key of another host
		if auth := p.Value.Get("auth").Text(); !slices.Contains(matches, auth) {
			matches = append(matches, auth)
		}
	}
	switch {
	case len(matches) == 0:
		e.lacks(gapf(UnresolvedNoMatchingEntry, "No entry of the pull Secret begins with %s, as Argo CD Image Updater requires: it does not use other names of a registry.", dockerauth.Show(host)))
	case len(matches) > 1:
		e.lacks(gapf(UnresolvedAmbiguous, "Several entries of the pull Secret begin with %s. Argo CD Image Updater uses any one of them, by chance.", dockerauth.Show(host)))
	case other:
		e.lacks(gapf(UnresolvedNoMatchingEntry, "The entry of the pull Secret is for another host, and is not sent to this one. Argo CD Image Updater sends it, because its key begins with %s.", dockerauth.Show(host)))
	default:
		decoded, err := base64.StdEncoding.DecodeString(matches[0])
		if err != nil || matches[0] == "" {
			e.lacks(gapf(UnresolvedIncomplete, "Argo CD Image Updater cannot use the entry of the pull Secret: it must have auth in base64, and ignores username and password."))
			return
		}
		e.useUserPassword(string(decoded))
	}
}
