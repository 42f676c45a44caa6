package runtimes

import (
	"net"
	"net/url"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/secret"
)

// k3sFormats reads registries.yaml of k3s and RKE2.
var k3sFormats = []scanner.Reader{{Name: model.K3sRegistries,
	Names: []string{"k3s/registries.yaml", "rke2/registries.yaml"}, Is: isK3sRegistries, Keys: []string{"mirrors", "configs"},
	Read: readK3sRegistries}}

func isK3sRegistries(f *scanner.File) bool {
	root := f.Root()
	for _, member := range root.Pairs() {
		if !slices.Contains([]string{"mirrors", "configs", "auths"}, member.Key) {
			return false
		}
	}
	for _, mirror := range root.Get("mirrors").Pairs() {
		if hasAny(mirror.Value, "endpoint", "rewrite") {
			return true
		}
	}
	return slices.ContainsFunc(root.Get("configs").Pairs(), func(config node.Pair) bool {
		return hasAny(config.Value, "auth", "tls")
	})
}

// k3sReader reads one registries.yaml.
type k3sReader struct {
	*scanner.File
	configs map[string]*node.Node
	mirrors map[string]*node.Node
	used    map[string]bool // keys of configs that belong to an endpoint

	settings map[*node.Node]*k3sSettings // of the hosts of endpoints
	rewrites map[*node.Node]rewritten
	bare     map[string]bool // mirrorWithoutSettings by name
	repeated map[string]bool // keys that occur again, after their table
}

// k3sSettings are those of a host, which many endpoints may have.
type k3sSettings struct {
	auth    *readAuth
	hasAuth bool
	token   bool // whether auth has one
	hasTLS  bool // whether containerd gets any setting of TLS
	tls     *model.Registry
}

// rewritten is where the rewrites of a mirror move content: the fixed beginning of the path that each makes, [""] without rewrites.
type rewritten struct {
	paths   []string
	notices []model.Notice // of invalid rewrites
}

// members returns the members of an object by name: a file may have too many to search them one by one.
func members(n *node.Node) map[string]*node.Node {
	byName := map[string]*node.Node{}
	for _, p := range n.Pairs() {
		byName[p.Key] = p.Value
	}
	return byName
}

func readK3sRegistries(f *scanner.File) {
	r := k3sReader{f, members(f.Root().Get("configs")), members(f.Root().Get("mirrors")), map[string]bool{},
		map[*node.Node]*k3sSettings{}, map[*node.Node]rewritten{}, map[string]bool{}, map[string]bool{}}
	if wrong := wrongK3sValue(f.Root()); wrong != nil {
		f.Scanner.Problem(f.At(wrong.Line, ""), model.ProblemWrongShape, "The value has the wrong type: k3s does not start with this file.")
		return
	}
	mirrors, configs := r.last("mirrors", r.mirrors), r.last("configs", r.configs)
	for _, mirror := range mirrors {
		moved := r.rewritten(mirror.Value.Get("rewrite"))
		endpoints := mirror.Value.Get("endpoint").Items()
		if len(endpoints) > maxRewrittenEndpoints {
			moved.paths = []string{""}
		}
		place, again := scanner.Short("mirror of "+mirror.Key), r.again("mirrors", mirror.Key)
		for _, endpoint := range endpoints {
			r.mirror(place, again, endpoint, moved)
		}
	}
	for _, config := range configs {
		r.config(config)
	}
}

// last returns the members of a table without those that a later one of the same key replaces, as k3s reads it.
func (r k3sReader) last(table string, byKey map[string]*node.Node) (pairs []node.Pair) {
	for _, p := range r.Root().Get(table).Pairs() {
		if byKey[p.Key] == p.Value {
			pairs = append(pairs, p)
			continue
		}
		r.repeated[table+" "+p.Key] = true
		r.Scanner.Skip(r.At(p.KeyLine, p.Key), model.SkipShadowed, "The key occurs again in %s; k3s uses the last.", table)
	}
	return pairs
}

// again returns a key as notices show it if it is the last of several, "" if it occurs once.
func (r k3sReader) again(table, key string) string {
	if r.repeated[table+" "+key] {
		return scanner.Shown(key)
	}
	return ""
}

// noteRepeated notes that a key is the last of several.
func noteRepeated(found *model.Registry, table, again string) {
	if again != "" {
		scanner.AddNotice(found, model.NoticeConflictingEntries, "The key %s occurs more than once in %s; k3s uses the last.", again, table)
	}
}

// wrongK3sValue returns a value that k3s cannot decode, nil if there is none.
func wrongK3sValue(root *node.Node) *node.Node {
	for _, mirror := range root.Get("mirrors").Pairs() {
		if endpoint := mirror.Value.Get("endpoint"); endpoint != nil && !endpoint.IsArray() {
			return endpoint
		}
	}
	for _, config := range root.Get("configs").Pairs() {
		for _, part := range config.Value.Pairs() {
			if !part.Value.IsObject() && part.Value.Text() != "" {
				return part.Value
			}
		}
	}
	return nil
}

// mirror adds an endpoint of a mirror: once for each path to which its rewrites move content.
func (r k3sReader) mirror(place, again string, written *node.Node, to rewritten) {
	at := r.At(written.Line, place)
	found, u := endpoint(r.File, model.K3sRegistries, model.Containerd, at, written.Text(), k3sScheme)
	if found == nil {
		return
	}
	if u.Path != "" && u.Path != "/" {
		apiPath(found, u.Path, u.Path != "/v2", "k3s")
	}
	key := r.key(u.Host)
	r.used[key] = true
	if !r.apply(found, key, u, at) {
		return
	}
	noteRepeated(found, "mirrors", again)
	found.Notices = append(found.Notices, to.notices...)
	for _, path := range to.paths {
		moved := *found
		moved.Definition.BaseContentPath = strings.Trim(found.Definition.BaseContentPath+"/"+path, "/")
		auth := *found.Definition.Auth
		moved.Definition.Auth = &auth
		r.Scanner.Found(moved)
	}
}

// Each rewrite of a mirror is a definition for each of its endpoints. More than these are one definition without a path.
const (
	maxRewrites           = 10
	maxRewrittenEndpoints = 10
)

// maxExpression is the size in bytes up to which a regular expression is parsed. Few characters can stand for large tables.
const maxExpression = 1 << 10

// rewritten returns where rewrites move content.
func (r k3sReader) rewritten(rewrites *node.Node) rewritten {
	to, known := r.rewrites[rewrites]
	if !known {
		to = readRewrites(rewrites)
		r.rewrites[rewrites] = to
	}
	return to
}

func readRewrites(rewrites *node.Node) (to rewritten) {
	pairs := rewrites.Pairs()
	for _, rewrite := range pairs[:min(len(pairs), maxRewrites)] {
		if !isExpression(rewrite.Key) {
			to.notices = append(to.notices, model.Notice{Code: model.NoticeIgnoredField, Message: "k3s does not apply the rewrite " +
				scanner.Shown(rewrite.Key) + ": it is not a regular expression of Go."})
			continue
		}
		fixed, _, _ := strings.Cut(rewrite.Value.Text(), "$")
		path := strings.Trim(fixed[:strings.LastIndexByte(fixed, '/')+1], "/")
		if !slices.Contains(to.paths, path) {
			to.paths = append(to.paths, path)
		}
	}
	if len(to.paths) == 0 {
		to.paths = []string{""}
	}
	return to
}

// isExpression reports whether a text is a regular expression, without compiling it, which takes much longer than parsing.
func isExpression(text string) bool {
	if len(text) > maxExpression {
		return true
	}
	_, err := syntax.Parse(text, syntax.Perl)
	return err == nil
}

// k3sScheme returns the scheme that k3s uses for an endpoint without one: HTTP for another port of the machine itself.
func k3sScheme(host string) string {
	name, port, err := net.SplitHostPort(host)
	if err == nil && isLocal(name) && port != "443" {
		return "http"
	}
	return "https"
}

// key returns the key of configs for an endpoint's host: that of Docker Hub's API has precedence over docker.io.
func (r k3sReader) key(host string) string {
	if host == "docker.io" || host == "registry-1.docker.io" {
		if r.configs["registry-1.docker.io"] == nil && r.configs["docker.io"] != nil {
			return "docker.io"
		}
		return "registry-1.docker.io"
	}
	return host
}

// config adds a host that has settings and is not an endpoint of a mirror.
func (r k3sReader) config(config node.Pair) {
	at := r.At(config.KeyLine, config.Key)
	switch {
	case r.used[config.Key]:
		return
	case config.Key == "docker.io" && r.configs["registry-1.docker.io"] != nil:
		r.Scanner.Skip(at, model.SkipShadowed, "The settings of registry-1.docker.io are used instead of these.")
		return
	case config.Key == "*":
		r.Scanner.Skip(at, model.SkipWildcard,
			"The settings are for all registries without settings of their own. k3s does not use credentials in them.")
		return
	}
	found, u := endpoint(r.File, model.K3sRegistries, model.Containerd, at, config.Key, k3sScheme)
	if found == nil {
		return
	}
	if config.Key != u.Host {
		keyMatchesHost(found, config.Key, u)
	}
	if r.mirrorWithoutSettings(config.Key) {
		scanner.AddNotice(found, model.NoticeNotUsedByConsumer,
			"For pulls through the mirror of %s, k3s uses the settings of the endpoint's host, not these. Add them under the endpoint's "+
				"host.", scanner.Shown(config.Key))
	}
	if r.apply(found, config.Key, u, at) {
		r.Scanner.Found(*found)
	}
}

// mirrorWithoutSettings reports whether a mirror of this name has an endpoint whose host has no settings.
func (r k3sReader) mirrorWithoutSettings(name string) bool {
	bare, known := r.bare[name]
	if !known {
		bare = r.lacksSettings(name)
		r.bare[name] = bare
	}
	return bare
}

func (r k3sReader) lacksSettings(name string) bool {
	return slices.ContainsFunc(r.mirrors[name].Get("endpoint").Items(), func(n *node.Node) bool {
		address := n.Text()
		if !strings.Contains(address, "://") {
			address = "//" + address
		}
		u, err := url.Parse(address)
		return err == nil && r.configs[r.key(u.Host)] == nil
	})
}

// apply sets TLS and credentials. It reports false after a problem.
func (r k3sReader) apply(found *model.Registry, key string, u *url.URL, at model.Source) bool {
	settings := r.settingsOf(key)
	switch {
	case u.Scheme != "http":
		setTLS(found, settings.tls)
	case settings.hasTLS && u.Port() != "80":
		scanner.AddNotice(found, model.NoticePlainHTTPFallback, "k3s tries HTTPS first because TLS is configured, then plain HTTP.")
		setTLS(found, settings.tls)
	default:
		scanner.SetPlainHTTP(found, "k3s")
	}
	if settings.token {
		scanner.AddNotice(found, model.NoticeIgnoredField, "k3s and RKE2 know no token in auth, and ignore it. Set identity_token.")
	}
	noteRepeated(found, "configs", r.again("configs", key))
	if key == "docker.io" && settings.hasAuth {
		keyMatchesHost(found, key, u)
	}
	return settings.auth.apply(r.File, at, found)
}

// settingsOf returns the settings of a key of configs, which many endpoints may have.
func (r k3sReader) settingsOf(key string) *k3sSettings {
	config := r.configs[key]
	if settings := r.settings[config]; settings != nil {
		return settings
	}
	settings := r.read(config)
	if r.used[key] {
		r.settings[config] = settings
	}
	return settings
}

// read reads the settings of a host. config is nil if it has none.
func (r k3sReader) read(config *node.Node) *k3sSettings {
	auth, tls := config.Get("auth"), config.Get("tls")
	value := func(name string) secret.String { return secret.String(auth.Get(name).Text()) }
	files := criTLS{tls.Get("ca_file").Text(), tls.Get("cert_file").Text(), tls.Get("key_file").Text(),
		tls.Get("insecure_skip_verify").OldBool()}
	return &k3sSettings{
		auth:    runtimeAuth{value("username").Reveal(), value("password"), value("auth"), value("identity_token")}.read(),
		hasAuth: auth != nil,
		token:   auth.Get("token") != nil,
		hasTLS:  files != criTLS{},
		tls:     sharedTLS(func(to *model.Registry) { files.apply(r.File, to) }),
	}
}
