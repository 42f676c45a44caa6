package projects

import (
	"cmp"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/docker"
	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
)

// fileFormat is a kind of file that needs no rules of its own: it is data. In a path, keys have dots between them, [] stands for each
// element of a list, and {} for each member of an object.
type fileFormat struct {
	name     model.Format
	consumer model.Consumer
	files    string // patterns of names; what is not JSON or YAML by its name is TOML or HCL
	root     string // a path that a file of this format has
	keys     string // keys that the file has; empty: those of root
	kinds    string // what kind is, in a document with root; empty: anything
	entries  []fileEntry
	embedded embedded
	insecure string            // where it has the registries that docker uses without TLS
	parts    map[string]string // kinds of documents that are members of each entry, for the registry that they name
	plain    []string          // where it has addresses, whose hosts are used without TLS if they begin with http://
}

// fileEntry is where a file has registries, or content of them. The other paths are relative to the entry.
type fileEntry struct {
	at                 string
	only               string // a path, and the values that it may have
	address            string // the first of these paths that has one, {} is the key; empty: the entry, or its key if at ends with {}
	standard           string // the address without one
	username, password string // empty: it has none, and the entry is a reference
	login, token       string // username:password in base64, and an identity token
	store              string // names where the credentials are: in a store that is not read
	config             string // the entry is a docker config after this prefix
	configFile         string // names a docker config on the machine
	chart, version     string // of an entry that is a chart repository if its address begins with https:// or http://
	cuts               string // what the program cuts from the begin of the name of a chart in a chart repository
	appends            bool   // whether the program appends chart to an address that begins with oci://
	skipVerify         string
	tlsMode            string // names how TLS is used, as regclient does: enabled, insecure or disabled
	fallback           string // whether the program connects without TLS if the registry has none
	ca                 string // one or more certificates, in PEM or that in base64
	tls                string // an object with ca and clientIdentity, in PEM or that in base64
	image              bool   // whether the address is that of an image
	registry           string // the host to which credentials are sent, instead of that of address; its path is ignored
	ociOnly            bool   // whether other addresses than oci://… are not for a registry
}

// embedded is where a file has other files: their paths and contents.
type embedded struct{ at, path, content string }

// TableFormats returns readers for the files of the table.
func TableFormats() (readers []scanner.Reader) {
	for _, f := range fileFormats() {
		keys := cmp.Or(f.keys, strings.ReplaceAll(f.root, ".", " "))
		names := strings.Fields(f.files)
		is := func(file *scanner.File) bool { return file.HasName(names...) && f.hasRoot(file) }
		readers = append(readers, scanner.Reader{Name: f.name, Is: is, Files: names, Keys: []string{keys}, Read: f.read})
	}
	return readers
}

func (t fileFormat) hasRoot(f *scanner.File) bool {
	kinds := strings.Fields(t.kinds)
	return slices.ContainsFunc(t.parse(f), func(document *node.Node) bool {
		return get(document, t.root) != nil && (len(kinds) == 0 || slices.Contains(kinds, kindOf(document)))
	})
}

// parse returns the documents of a file in the language that its name is for.
func (t fileFormat) parse(f *scanner.File) []*node.Node {
	switch f.Extension() {
	case ".toml", ".conf":
		return []*node.Node{f.Toml()}
	case ".nomad", ".job", ".hcl":
		root, _ := node.HCL(f.Data)
		return []*node.Node{root}
	}
	documents, _ := f.Nodes()
	return documents
}

func (t fileFormat) read(f *scanner.File) {
	documents := t.parse(f)
	if !slices.ContainsFunc(documents, func(n *node.Node) bool { return n != nil }) {
		f.Readable() // which reports why
	}
	plain := t.plainHosts(documents)
	for _, e := range t.entries {
		var members []node.Pair
		for _, root := range documents {
			members = append(members, node.At(root, e.at)...)
		}
		for _, member := range append(members, t.named(documents)...) {
			t.add(f, e, member, plain)
		}
	}
	for _, root := range documents {
		t.readRest(f, root)
	}
}

// readRest reads what a document has except registries.
func (t fileFormat) readRest(f *scanner.File, root *node.Node) {
	for _, file := range node.At(root, t.embedded.at) {
		f.Embedded(get(file.Value, t.embedded.path).Text(), get(file.Value, t.embedded.content), file.Value.Get("encoding").Text())
	}
	for _, host := range node.At(root, t.insecure) {
		f.Scanner.Insecure(host.Value.Text())
	}
	if keys := scriptsOf(f); keys != nil {
		readScripts(f, root, keys, "")
	}
}

// get returns the value of a path, nil for no path.
func get(n *node.Node, path string) *node.Node {
	if path == "" {
		return nil
	}
	return n.Get(strings.Split(path, ".")...)
}

// add adds what an entry has. plain are the hosts that the file uses without TLS.
func (t fileFormat) add(f *scanner.File, e fileEntry, member node.Pair, plain map[string]bool) {
	path, values, _ := strings.Cut(e.only, " ")
	if e.only != "" && !slices.Contains(strings.Fields(values), get(member.Value, path).Text()) {
		return
	}
	if e.configFile != "" {
		t.addConfigFile(f, get(member.Value, e.configFile))
	} else if e.config == "" {
		t.addEntry(f, e, member, plain)
	} else if config, found := strings.CutPrefix(member.Value.Text(), e.config); found {
		t.addConfig(f, []byte(config), f.At(member.Value.Line, strings.TrimSuffix(e.config, "=")))
	}
}

// addConfig adds the entries of a docker config, which GitLab Runner reads.
func (t fileFormat) addConfig(f *scanner.File, config []byte, at model.Source) {
	c, err := docker.NewCredentialFile(f.Scanner, config, model.GitLabCI, func(int, string) model.Source { return at })
	if err != nil {
		f.Scanner.Problem(at, model.ProblemNotJSON, "The value is not valid JSON.")
		return
	}
	c.Reader = t.name
	c.Notices = []model.Notice{scanner.SecretNotice("Keep the file out of the repository.")}
	c.Add(f.Scanner)
}

// addConfigFile adds the entries of a docker config that a file names.
func (t fileFormat) addConfigFile(f *scanner.File, name *node.Node) {
	if name.Text() == "" {
		return
	}
	at := f.At(name.Line, "")
	data, err := f.OnMachine(name.Text())
	if err != nil {
		f.Scanner.Skip(at, model.SkipNoHost, "The credentials are in %s, which was not read.", scanner.Shown(name.Text()))
		return
	}
	c, err := docker.NewCredentialFile(f.Scanner, data, model.ContainersAuth, func(int, string) model.Source { return at })
	if err != nil {
		f.Scanner.Problem(at, model.ProblemNotJSON, "The file %s is not valid JSON.", scanner.Shown(name.Text()))
		return
	}
	c.Reader = t.name
	c.Add(f.Scanner)
}

// addCharts adds a chart repository with the chart in it that an entry names, and reports whether the entry is one.
func (t fileFormat) addCharts(f *scanner.File, e fileEntry, member node.Pair, address string, at model.Source) bool {
	if e.chart == "" || !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://") {
		return false
	}
	chart := strings.TrimPrefix(get(member.Value, e.chart).Text(), e.cuts)
	switch {
	case chart == address:
		f.Scanner.Skip(at, model.SkipNotOCI, "Helm downloads the chart from its URL.")
		return true
	case scanner.IsTemplate(address + chart):
		f.Scanner.Skip(at, model.SkipTemplate, "%s", scanner.AddressMessages[model.SkipTemplate])
		return true
	case strings.HasPrefix(chart, ".") || strings.HasPrefix(chart, "/"):
		f.Scanner.Problem(at, model.ProblemWrongShape,
			"With %s, %s must be the name of a chart in that repository, and not a path.", strings.Fields(e.address)[0], e.chart)
		return true
	}
	entry := scanner.Entry{At: at, Address: address}
	entry.Format, entry.Consumer = t.name, model.Helm
	entry.OfCharts(chart, get(member.Value, e.version).Text())
	if get(member.Value, e.store) != nil {
		entry.Reason, entry.Detail = model.UnresolvedReferenceMissing, "The credentials are in a store of secrets, which is not read."
	} else {
		entry.Notices = append(entry.Notices, scanner.HelmRepositoryAnonymous)
	}
	entry.Add(f.Scanner)
	return true
}

// chartInRegistry returns the address of the chart that an entry names in an OCI registry, and its version. It is the address of the
// entry unless the program appends the name of the chart.
func (e fileEntry) chartInRegistry(member node.Pair, address string) (chart, version string) {
	name := get(member.Value, e.chart).Text()
	switch {
	case e.chart == "" || !strings.HasPrefix(address, "oci://"):
		return address, ""
	case e.appends && name != "":
		address = strings.TrimSuffix(address, "/") + "/" + name
	case name != address && name != "":
		return address, "" // it is not known what the program does with both
	}
	return address, get(member.Value, e.version).Text()
}

// find returns the address of an entry, and its place.
func (e fileEntry) find(f *scanner.File, member node.Pair) (string, model.Source) {
	for path := range strings.FieldsSeq(e.registry + " " + e.address) {
		if path == "{}" {
			return member.Key, f.At(member.KeyLine, dockerauth.Show(member.Key))
		}
		if n := get(member.Value, path); n.Text() != "" {
			return n.Text(), f.At(member.Value.Line, "")
		}
	}
	if text := member.Value.Text(); text != "" {
		return text, f.At(member.Value.Line, "")
	}
	if e.address != "" {
		return e.standard, f.At(member.Value.Line, "")
	}
	return member.Key, f.At(member.KeyLine, dockerauth.Show(member.Key))
}

// addEntry adds an entry with credentials, or that sets how to connect, as a definition, and another one as a reference.
func (t fileFormat) addEntry(f *scanner.File, e fileEntry, member node.Pair, plain map[string]bool) {
	store := e.storeOf(member)
	isReference := store == nil && !e.hasSettings(member)
	if isReference && e.registry != "" {
		host := get(member.Value, e.registry).Text()
		if host != "" && !strings.HasPrefix(get(member.Value, e.address).Text(), host+"/") {
			return // plugins differ in whether an image without a host is in this registry
		}
		e.registry = ""
	}
	address, at := e.find(f, member)
	switch {
	case t.addCharts(f, e, member, address, at):
		return
	case e.hidesRegistry(member):
		f.Scanner.Skip(at, model.SkipNoHost, "%s", scanner.AddressMessages[model.SkipNoHost])
		return
	case address == "" || address == "*" || isSOPS(address) || e.ociOnly && !strings.HasPrefix(address, "oci://"):
		return
	case isReference && !e.image && e.username != "":
		return // a registry that is used without credentials, and no content of it
	case isReference && !e.setsConnection(member):
		chart, version := e.chartInRegistry(member, address)
		f.Scanner.ChartReference(at, t.name, t.consumer, strings.TrimPrefix(chart, "https://"), version)
		return
	}
	entry := scanner.Entry{At: at}
	e.setAddress(member, address, &entry)
	entry.Format, entry.Consumer = t.name, t.consumer
	entry.Definition.Auth = scanner.BasicAuth(get(member.Value, e.username).Text(), get(member.Value, e.password).Text())
	if !e.setCredentials(f, member, &entry) {
		return
	}
	e.setTLS(member, &entry, plain[scanner.HostOf(entry.Address)])
	e.resolve(member, store, &entry)
	if e.tls != "" && entry.Reason == "" && *entry.Definition.Auth == *scanner.BasicAuth("", "") {
		return // all that it sets is what holds without it
	}
	entry.Add(f.Scanner)
}

// storeOf returns what names the store with the credentials of an entry, nil for none.
func (e fileEntry) storeOf(member node.Pair) *node.Node {
	n := get(member.Value, e.store)
	if n.IsText() && n.Text() == "" {
		return nil
	}
	return n
}

// hidesRegistry reports whether a list or an object, such as the name of a secret, is in the place of the host: then the credentials are
// neither for the host of another address nor for the standard one.
func (e fileEntry) hidesRegistry(member node.Pair) bool {
	path := e.registry
	if e.standard != "" {
		path = e.address
	}
	n := get(member.Value, path)
	return n.IsArray() || n.IsObject()
}

// hasSettings reports whether an entry has more than the address of a registry.
func (e fileEntry) hasSettings(member node.Pair) bool {
	return slices.ContainsFunc([]string{e.username, e.password, e.login, e.token, e.tls}, func(path string) bool {
		return get(member.Value, path) != nil
	})
}

// setsConnection reports whether an entry says how to connect, which a reference has no place for.
func (e fileEntry) setsConnection(member node.Pair) bool {
	return get(member.Value, e.fallback).Bool() ||
		slices.ContainsFunc(e.certificates(member), func(n *node.Node) bool { return n.Text() != "" && !isComputed(n) })
}

// resolve sets why the credentials of an entry are not known, or that everyone who reads the file knows them.
func (e fileEntry) resolve(member node.Pair, store *node.Node, entry *scanner.Entry) {
	username, password := get(member.Value, e.username), get(member.Value, e.password)
	values := append(e.certificates(member), username, password, get(member.Value, e.login), get(member.Value, e.token))
	auth := entry.Definition.Auth
	switch {
	case store != nil && scanner.IsECR(entry.Address):
		entry.Reason, entry.Detail = model.UnresolvedCloudIdentity, "The password comes from AWS. Check the registry with a password "+
			"of AWS."
	case store != nil:
		entry.Reason, entry.Detail = model.UnresolvedReferenceMissing, "The credentials are in a store of secrets, which is not read."
	case slices.ContainsFunc(values, func(n *node.Node) bool { return isSOPS(n.Text()) }):
		entry.Reason, entry.Detail = model.UnresolvedEncrypted, "The file is encrypted with SOPS. Scan what sops --decrypt writes."
	case slices.ContainsFunc(values, isComputed), scanner.IsBase64Placeholder(get(member.Value, e.login).Text()):
		entry.Reason, entry.Detail = model.UnresolvedTemplate, "The credentials are a template. Scan what is rendered from it."
	case (username != nil || password != nil) && (username.Text() == "" || password.Text() == ""):
		entry.Reason, entry.Detail = model.UnresolvedIncomplete, "The username or the password is missing."
	case auth.Password != "" || auth.Token != "" || auth.TLS.Key != "":
		entry.Notices = append(entry.Notices, scanner.SecretNotice("Use an encrypted file, or a variable that the pipeline sets."))
	}
}

// setAddress sets the address of a registry, an image or a chart. A variable at the beginning of an image may be a host: then the address
// stays as it is written, and is skipped, since the credentials are not for Docker Hub.
func (e fileEntry) setAddress(member node.Pair, address string, entry *scanner.Entry) {
	first, _, _ := strings.Cut(scanner.CutTag(address), "/")
	switch {
	case get(member.Value, e.registry).Text() != "":
		entry.Address, entry.Path = address, scanner.PathIgnored
	case e.image && !strings.ContainsAny(first, "$({<%"):
		host, path := scanner.SplitReference(address)
		entry.Address = host + "/" + path
	default:
		entry.Address, entry.Version = e.chartInRegistry(member, address)
	}
}

// isComputed reports whether another program puts in a value: a template, or a list or object that names where it is.
func isComputed(n *node.Node) bool {
	return n != nil && (n.IsObject() || n.IsArray() || scanner.IsTemplate(n.Text()) || strings.HasPrefix(n.Text(), "(("))
}
