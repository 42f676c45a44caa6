package kubernetes

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/argorepo"
	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

// ImageUpdaterFormats returns the readers of registries.conf of Argo CD Image Updater, as a file or in its ConfigMap.
func (c *Cluster) ImageUpdaterFormats() []scanner.Reader {
	return []scanner.Reader{{Name: model.ArgoCDImageUpdater, Is: isUpdaterFile, Keys: []string{"registries api_url"},
		Read: c.readUpdaterFile}}
}

// updaterFile is the kind by which the file is among the objects of the cluster, because it refers to Secrets of other files.
const updaterFile = "registries.conf"

// updaterKeys are all that an entry may have. Image Updater rejects a file with another one.
var updaterKeys = []string{"name", "api_url", "ping", "credentials", "credsexpire", "tagsortmode", "prefix", "insecure", "ca_file",
	"ca_data",
	"defaultns", "limit", "default"}

// yamlFalse are the texts that are false in YAML 1.1, which Image Updater reads.
var yamlFalse = []string{"", "n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"}

// updater reads the entries of one registries.conf.
type updater struct {
	*Cluster
	o      *object // the ConfigMap or file that has it
	format model.Format
	at     func(n *node.Node, name string) model.Source

	withoutPrefix, isDefault string // name of the entry
	lastCA                   *node.Node
	certificates             string // of lastCA, which YAML may repeat
}

func isUpdaterFile(f *scanner.File) bool {
	if !bytes.Contains(f.Data, []byte("api_url")) {
		return false
	}
	root := f.Root()
	return root.Get("kind") == nil && slices.ContainsFunc(root.Get("registries").Items(),
		func(n *node.Node) bool { return n.Get("api_url").IsText() })
}

func (c *Cluster) readUpdaterFile(f *scanner.File) {
	if f.Root() == nil {
		f.Unrecognized()
		return
	}
	c.add(&object{file: f, node: f.Root(), kind: updaterFile})
}

func resolveUpdaterFile(c *Cluster, o *object) {
	u := updater{Cluster: c, o: o, format: model.ArgoCDImageUpdater}
	u.at = func(n *node.Node, name string) model.Source {
		return o.file.At(n.Line, strings.TrimSpace("registry "+name))
	}
	u.add(o.node)
}

// resolveUpdaterConfig reads the text in the ConfigMap of Image Updater, which is YAML within YAML.
func resolveUpdaterConfig(c *Cluster, o *object) {
	text := o.node.Get("data", updaterFile)
	if o.name != "argocd-image-updater-config" || text == nil {
		return
	}
	documents, err := node.YAML([]byte(text.Text()))
	if err != nil {
		c.Problem(o.at(text), model.ProblemNotYAML, "The text in registries.conf is not valid YAML: %v.", err)
		return
	}
	u := updater{Cluster: c, o: o, format: model.Kubernetes}
	u.at = func(n *node.Node, _ string) model.Source {
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
			u.Problem(at, problem, "Argo CD Image Updater rejects the whole file: %s", message)
			continue
		}
		u.addRegistry(n, at)
	}
}

// reject returns why Image Updater rejects the file, "" if it does not.
func (u *updater) reject(n *node.Node, name string) (reason model.ProblemReason, message string) {
	for _, p := range n.Pairs() {
		if !slices.Contains(updaterKeys, p.Key) {
			return model.ProblemWrongShape, "it does not know the key " + dockerauth.Show(p.Key) + "."
		}
	}
	apiURL, prefix := n.Get("api_url").Text(), n.Get("prefix").Text()
	isDefault := n.Get("default").OldBool()
	switch {
	case name == "":
		return model.ProblemWrongShape, "the registry has no name."
	case apiURL == "":
		return model.ProblemNoHost, "the registry has no api_url."
	case !isYAMLBool(n.Get("insecure")) || !isYAMLBool(n.Get("default")):
		return model.ProblemWrongShape, "insecure and default must be booleans."
	case prefix == "" && u.withoutPrefix != "":
		return model.ProblemConflictingEntries, "only one registry may have no prefix."
	case isDefault && u.isDefault != "":
		return model.ProblemConflictingEntries, "only one registry may be the default."
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
	return n.OldBool() || slices.Contains(yamlFalse, n.Text())
}

func (u *updater) addRegistry(n *node.Node, at model.Source) {
	apiURL := n.Get("api_url").Text()
	scheme, _, _ := strings.Cut(apiURL, "://")
	switch {
	case scanner.IsTemplate(apiURL):
		u.Skip(at, model.SkipTemplate, "%s", scanner.AddressMessages[model.SkipTemplate])
		return
	case !scanner.IsOneOf(scheme, "http", "https"):
		u.Problem(at, model.ProblemWrongShape, "Argo CD Image Updater cannot connect: api_url must begin with https:// or http://.")
		return
	}
	e := scanner.Entry{At: at, Address: apiURL, Path: scanner.PathOfAPI, Registry: model.Registry{Format: u.format, Consumer: model.ArgoCD}}
	_, e.Definition.BaseContentPath, _ = strings.Cut(n.Get("prefix").Text(), "/")
	e.Definition.Auth = &regcheck.Auth{}
	u.addTrust(&e, n)
	u.addCredentials(&e, n.Get("credentials").Text(), apiURL)
	scanner.ReachedFrom(&e.Registry, argorepo.Host(apiURL))
	e.Add(u.Scanner)
}

// addTrust adds the certificates that Image Updater trusts in addition to the system's roots. Without ca_file it takes them from Argo CD.
func (u *updater) addTrust(e *scanner.Entry, n *node.Node) {
	tls := &e.Definition.Auth.TLS
	if tls.InsecureSkipVerify = n.Get("insecure").OldBool(); !tls.InsecureSkipVerify {
		switch {
		case n.Get("ca_file").Text() != "":
			scanner.SetUnresolved(&e.Registry, model.UnresolvedConfigFile,
				"The CA certificates are in the file of ca_file, in the container of Image Updater. Set ca_data instead.")
		case u.o.kind == "ConfigMap":
			use := argoUse{argoCD: u.Cluster.argoCD(), o: u.o, Repository: argorepo.Repository{URL: e.Address}}
			use.addCA(e)
		}
		tls.CA += u.pem(n.Get("ca_data"))
	}
	tls.Enabled = *tls != regcheck.TLS{}
}

// pem returns the certificates of ca_data.
func (u *updater) pem(n *node.Node) string {
	if n != u.lastCA {
		u.lastCA = n
		u.certificates, _ = scanner.PemBlocks([]byte(n.Text()))
	}
	return u.certificates
}

func (u *updater) addCredentials(e *scanner.Entry, source, apiURL string) {
	kind, name := updaterSource(source)
	switch {
	case source == "":
		scanner.AddNotice(&e.Registry, model.NoticeNoMatchingCredentials,
			"The registry has no credentials: Argo CD Image Updater connects without any, unless an image has its own.")
	case scanner.IsTemplate(source):
		scanner.SetUnresolved(&e.Registry, model.UnresolvedTemplate, "The source of the credentials is a template.")
	case kind == "env":
		scanner.SetUnresolved(&e.Registry, model.UnresolvedConfigFile,
			"The credentials are in the environment variable %s of Argo CD Image Updater.", dockerauth.Show(name))
	case kind == "ext" && strings.HasPrefix(name, "/"):
		scanner.SetUnresolved(&e.Registry, model.UnresolvedCredentialHelper, "The credentials are the output of %s, which was not started.",
			dockerauth.Show(name))
	case kind == "pullsecret" || kind == "secret":
		u.addSecret(e, kind, name, apiURL)
	default:
		scanner.SetUnresolved(&e.Registry, model.UnresolvedIncomplete,
			"Argo CD Image Updater cannot read credentials: it must be pullsecret:NAMESPACE/NAME, secret:NAMESPACE/NAME#KEY, env:NAME or "+
				"ext:/PATH.")
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
func (u *updater) addSecret(e *scanner.Entry, kind, name, apiURL string) {
	path, key, _ := strings.Cut(name, "#")
	if kind == "pullsecret" {
		path, key = name, dockerKeys[dockerConfigSecret]
	}
	namespace, name, found := strings.Cut(path, "/")
	if !found || namespace == "" || name == "" || key == "" || strings.ContainsAny(name+key, "/#") {
		scanner.SetUnresolved(&e.Registry, model.UnresolvedIncomplete,
			"Argo CD Image Updater cannot read credentials: a Secret must be NAMESPACE/NAME, with #KEY after secret:.")
		return
	}
	o, g := u.Cluster.secret(&object{file: u.o.file, kind: "credentials", namespace: namespace}, name)
	if g != nil {
		lacks(&e.Registry, g)
		return
	}
	v := o.secretValue(key)
	switch {
	case v.at == nil:
		scanner.SetUnresolved(&e.Registry, model.UnresolvedReferenceMissing, "The Secret %q does not have the key %s.",
			dockerauth.Show(name), dockerauth.Show(key))
	case v.gap != nil:
		lacks(&e.Registry, v.gap)
	case kind == "pullsecret":
		u.usePullSecret(e, o, apiURL)
	default:
		useUserPassword(e, v.text)
	}
}

// useUserPassword uses credentials as user:password.
func useUserPassword(e *scanner.Entry, text string) {
	username, password, _ := strings.Cut(text, ":")
	if username == "" || password == "" {
		scanner.SetUnresolved(&e.Registry, model.UnresolvedIncomplete,
			"Argo CD Image Updater cannot use the value of the Secret: it must be USER:PASSWORD.")
		return
	}
	scanner.SetAuth(&e.Registry, scanner.BasicAuth(username, password))
}

// updaterAuths are the entries of a pull Secret as Image Updater reads them.
type updaterAuths struct {
	entries []node.Pair
	err     error // of a text that is not JSON
}

func (o *object) updaterAuths() *updaterAuths {
	of := o.secret()
	if of.auths == nil {
		root, err := node.JSON([]byte(o.secretValue(dockerKeys[dockerConfigSecret]).text))
		of.auths = &updaterAuths{root.Get("auths").Pairs(), err}
	}
	return of.auths
}

// usePullSecret uses an entry whose key begins with the URL or its host, as no other consumer does. Of several it uses any one.
func (u *updater) usePullSecret(e *scanner.Entry, o *object, apiURL string) {
	auths := o.updaterAuths()
	if auths.err != nil {
		scanner.SetUnresolved(&e.Registry, model.UnresolvedIncomplete, "The pull Secret is not valid JSON.")
		return
	}
	if !u.Afford(e.At, len(auths.entries)) {
		return
	}
	apiURL = strings.TrimSuffix(apiURL, "/")
	_, host, _ := strings.Cut(apiURL, "://")
	values, ofOtherHost := auths.matching(apiURL, host)
	switch shown := dockerauth.Show(host); {
	case len(values) == 0:
		scanner.SetUnresolved(&e.Registry, model.UnresolvedNoMatchingEntry,
			"No entry of the pull Secret begins with %s, as Argo CD Image Updater requires: it does not use other names of a registry.",
			shown)
	case len(values) > 1:
		scanner.SetUnresolved(&e.Registry, model.UnresolvedAmbiguous,
			"Several entries of the pull Secret begin with %s. Argo CD Image Updater uses any one of them, by chance.", shown)
	case ofOtherHost:
		scanner.SetUnresolved(&e.Registry, model.UnresolvedNoMatchingEntry,
			"The entry of the pull Secret is for another host, and is not sent to this one. Argo CD Image Updater sends it, because its "+
				"key begins with %s.", shown)
	default:
		useAuthMember(e, values[0])
	}
}

// matching returns "auth" of the entries whose key begins with a URL or its host, at most two different ones, and whether one of the keys
// is that of another host.
func (a *updaterAuths) matching(apiURL, host string) (values []string, ofOtherHost bool) {
	for _, p := range a.entries {
		rest, found := strings.CutPrefix(p.Key, apiURL)
		if !found {
			rest, found = strings.CutPrefix(p.Key, host)
		}
		if !found {
			continue
		}
		ofOtherHost = ofOtherHost || rest != "" && rest[0] != '/'
		if auth := p.Value.Get("auth").Text(); len(values) < 2 && !slices.Contains(values, auth) {
			values = append(values, auth)
		}
	}
	return values, ofOtherHost
}

// useAuthMember uses "auth" of an entry, the only member that Image Updater reads.
func useAuthMember(e *scanner.Entry, auth string) {
	decoded, err := base64.StdEncoding.DecodeString(auth)
	if err != nil || auth == "" {
		scanner.SetUnresolved(&e.Registry, model.UnresolvedIncomplete,
			"Argo CD Image Updater cannot use the entry of the pull Secret: it must have auth in base64, and ignores username and "+
				"password.")
		return
	}
	useUserPassword(e, string(decoded))
}
