package runtimes

import (
	"errors"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/runtimeconf"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

// criPlugins has the name of containerd's CRI plugin by version of config.toml.
var criPlugins = map[int]string{1: "cri", 2: "io.containerd.grpc.v1.cri", 3: "io.containerd.cri.v1.images"}

// criOfContainerd2 is the version whose plugin containerd 2 uses in a file of any version. Older ones do not have it.
const criOfContainerd2 = 3

// containerdConfig is config.toml of containerd, as far as it is about registries.
type containerdConfig struct {
	Version int                  `toml:"version"`
	Plugins map[string]criPlugin `toml:"plugins"`
}

type criPlugin struct {
	Registry struct {
		ConfigPath string `toml:"config_path"`
		Mirrors    map[string]struct {
			Endpoints []string `toml:"endpoint"`
		} `toml:"mirrors"`
		Configs map[string]criRegistry `toml:"configs"`
		Auths   map[string]runtimeAuth `toml:"auths"`
	} `toml:"registry"`
}

type criRegistry struct {
	Auth *runtimeAuth `toml:"auth"`
	TLS  *criTLS      `toml:"tls"`
}

type criTLS struct {
	CAFile             string `toml:"ca_file"`
	CertFile           string `toml:"cert_file"`
	KeyFile            string `toml:"key_file"`
	InsecureSkipVerify bool   `toml:"insecure_skip_verify"`
}

func isContainerdConfig(f *scanner.File) bool {
	root := f.TomlWith("cri")
	for _, name := range criPlugins {
		if root.Get("plugins", name, "registry").IsObject() {
			return true
		}
	}
	return false
}

func readContainerdConfig(f *scanner.File) {
	var config containerdConfig
	if err := node.DecodeTOML(f.Data, &config); err != nil {
		f.TomlProblem(" containerd does not start with this file.", err)
		return
	}
	for _, plugin := range f.Toml().Get("plugins").Pairs() {
		for version, name := range criPlugins {
			if plugin.Key == name && plugin.Value.Get("registry").IsObject() {
				r := criReader{f, plugin.Value.Get("registry"), config.Plugins[name], version, max(config.Version, 1), map[string]bool{},
					map[*runtimeAuth]*readAuth{}, map[*criTLS]*model.Registry{}, nil}
				r.hosts = r.belowConfigPath()
				r.read()
			}
		}
	}
}

// criReader reads the table registry of one plugin.
type criReader struct {
	*scanner.File
	root    *node.Node
	plugin  criPlugin
	version int // that the name of the plugin belongs to
	actual  int // of the file
	mirrors map[string]bool
	auths   map[*runtimeAuth]*readAuth
	tls     map[*criTLS]*model.Registry
	hosts   map[string]model.Registry // below config_path
}

// belowConfigPath returns the hosts in the hosts.toml files below config_path, as far as they are in the tree. They have the TLS settings
// that belong to the credentials of this file.
func (r criReader) belowConfigPath() map[string]model.Registry {
	inside := scanner.New(r.Scanner.Options)
	inside.Referenced = r.Scanner.Referenced
	for _, root := range strings.FieldsFunc(r.plugin.Registry.ConfigPath, func(c rune) bool { return c == ':' }) {
		for _, directory := range r.InTree(root) {
			r.Scanner.Referenced = inside.Referenced
			for _, entry := range r.List(directory) {
				name := path.Join(directory, entry.Name(), "hosts.toml")
				f := &scanner.File{Scanner: inside, Name: name, Tree: r.Tree, Path: name}
				if data, err := f.Referenced(name); entry.IsDir() && (err == nil || errors.Is(err, fs.ErrNotExist)) {
					f.Data = data
					readHostsFile(f)
				}
			}
		}
	}
	r.Scanner.Referenced = inside.Referenced
	hosts := map[string]model.Registry{}
	for _, found := range inside.Result().Registries {
		_, host, _ := strings.Cut(found.Definition.Endpoint, "://")
		if _, known := hosts[host]; !known && found.Definition.Auth.Type == regcheck.NoAuth {
			hosts[host] = found
		}
	}
	return hosts
}

func (r criReader) read() {
	settings := r.plugin.Registry
	if settings.ConfigPath != "" && len(settings.Mirrors) > 0 {
		r.Scanner.Problem(r.At(runtimeconf.LineOf(r.root.Get("mirrors")), ""), model.ProblemConflictingEntries,
			"mirrors cannot be combined with config_path: containerd starts without its CRI plugin. Move the mirrors into hosts.toml "+
				"files below config_path.")
		return
	}
	for _, mirror := range r.root.Get("mirrors").Pairs() {
		place := scanner.Short("mirror of " + mirror.Key)
		for _, written := range mirror.Value.Get("endpoint").Items() {
			r.mirror(place, written.Line, written.Text())
		}
	}
	for _, config := range r.root.Get("configs").Pairs() {
		r.config(config.Key, config.KeyLine)
	}
	for _, old := range r.root.Get("auths").Pairs() {
		r.oldAuth(old.Key, old.KeyLine)
	}
	if settings.ConfigPath != "" {
		r.Scanner.Skip(r.At(runtimeconf.LineOf(r.root.Get("config_path")), ""), model.SkipNotARegistry,
			"containerd reads the registries below %s too; their hosts.toml files are read if they are in the directory that is "+
				"read.", scanner.Shown(settings.ConfigPath))
	}
}

// mirror adds an endpoint of a mirror, with the settings of the endpoint's host.
func (r criReader) mirror(place string, line int, written string) {
	at := r.At(line, place)
	found, u := endpoint(r.File, model.ContainerdConfig, model.Containerd, at, written, criScheme)
	if found == nil {
		return
	}
	if u.Path != "" {
		apiPath(found, u.Path, strings.TrimSuffix(u.Path, "/") != "/v2", "containerd")
	}
	r.mirrors[u.Host] = true
	r.add(found, u, r.plugin.Registry.Configs[u.Host], at)
}

// criScheme returns the scheme that containerd uses for an endpoint without one.
func criScheme(host string) string {
	if u, err := url.Parse("//" + host); err == nil && isLocal(u.Hostname()) {
		return "http"
	}
	return "https"
}

// config adds a host that has settings and is not a mirror.
func (r criReader) config(host string, line int) {
	at := r.At(line, host)
	if r.mirrors[host] {
		return
	}
	found, u := endpoint(r.File, model.ContainerdConfig, model.Containerd, at, host, criScheme)
	if found == nil {
		return
	}
	if below, ok := r.hosts[host]; ok {
		found.Definition, found.Notices = below.Definition, slices.Clone(below.Notices)
		found.Reason, found.Detail = below.Reason, below.Detail
		found.Definition.Auth = &regcheck.Auth{TLS: below.Definition.Auth.TLS}
		u.Scheme, _, _ = strings.Cut(below.Definition.Endpoint, "://")
	}
	keyMatchesHost(found, host, u)
	r.add(found, u, r.plugin.Registry.Configs[host], at)
}

// oldAuth adds the credentials of a table that containerd 1.3 replaced by configs.
func (r criReader) oldAuth(address string, line int) {
	at := r.At(line, "auths")
	if found, u := endpoint(r.File, model.ContainerdConfig, model.Containerd, at, address, criScheme); found != nil {
		auth := r.plugin.Registry.Auths[address]
		keyMatchesHost(found, u.Host, u)
		r.add(found, u, criRegistry{Auth: &auth}, at)
	}
}

// keyMatchesHost notices a key of configs by which containerd never looks: it looks for the host to which it connects.
func keyMatchesHost(r *model.Registry, key string, u *url.URL) {
	switch {
	case key == "docker.io" || key == "index.docker.io":
		scanner.AddNotice(r, model.NoticeNotUsedByConsumer,
			"containerd looks for the credentials of registry-1.docker.io. Write that name as the key.")
	case key != u.Host:
		scanner.AddNotice(r, model.NoticeNotUsedByConsumer, "containerd looks for the settings of the host alone. Write %s as the key.",
			scanner.Shown(u.Host))
	}
}

// add completes and adds a definition.
func (r criReader) add(found *model.Registry, u *url.URL, config criRegistry, at model.Source) {
	scanner.AddNotice(found, model.NoticeDeprecatedKeys,
		"mirrors, configs and auths are deprecated, and containerd 2 has no configs.tls. Use hosts.toml files below config_path, and "+
			"pull secrets.")
	if r.version != r.actual && r.version != criOfContainerd2 {
		scanner.AddNotice(found, model.NoticeNotUsedByConsumer,
			"In a file of version %d, the plugin is named %q; containerd ignores the settings of %q.",
			r.actual, criPlugins[r.actual], criPlugins[r.version])
	}
	if u.Scheme == "http" && !strings.HasPrefix(found.Definition.Endpoint, "http:") {
		scanner.SetPlainHTTP(found, "containerd")
	} else if config.TLS != nil {
		if r.plugin.Registry.ConfigPath != "" {
			r.Scanner.Problem(at, model.ProblemConflictingEntries,
				"tls cannot be combined with config_path: containerd starts without its CRI plugin. Move it into a hosts.toml file below "+
					"config_path.")
			return
		}
		setTLS(found, r.sharedTLS(config.TLS))
	}
	if config.Auth == nil || r.auth(config.Auth).apply(r.File, at, found) {
		r.Scanner.Found(*found)
	}
}

func (r criReader) sharedTLS(written *criTLS) *model.Registry {
	if r.tls[written] == nil {
		r.tls[written] = sharedTLS(func(to *model.Registry) { written.apply(r.File, to) })
	}
	return r.tls[written]
}

func (r criReader) auth(written *runtimeAuth) *readAuth {
	if r.auths[written] == nil {
		r.auths[written] = written.read()
	}
	return r.auths[written]
}

func (t criTLS) apply(f *scanner.File, r *model.Registry) {
	files := tlsFiles{skipVerify: t.InsecureSkipVerify}
	if t.CAFile != "" {
		files.ca = []string{t.CAFile}
	}
	switch {
	case (t.CertFile == "") != (t.KeyFile == ""):
		scanner.SetUnresolved(r, model.UnresolvedIncomplete,
			"cert_file and key_file must be set together: containerd refuses every connection to this registry.")
	case t.CertFile != "":
		files.clients = [][2]string{{t.CertFile, t.KeyFile}}
	}
	files.apply(f, r)
}
