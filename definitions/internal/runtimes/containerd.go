// Package runtimes reads the configurations of container runtimes: containerd, docker and podman, k3s, buildkitd.
package runtimes

import (
	"net"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/runtimeconf"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/lazyregexp"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// Machines is what the configurations of machines have in common: that of one may be in several files.
type Machines struct {
	certificates map[string]bool              // directories that have been read
	lastSettings map[string]map[string]string // the file that sets each prefix last, by directory of registries.conf
}

// NewMachines returns Machines of which no file has been read.
func NewMachines() *Machines {
	return &Machines{certificates: map[string]bool{}, lastSettings: map[string]map[string]string{}}
}

// Formats returns the readers of all formats.
func (m *Machines) Formats() []scanner.Reader {
	return slices.Concat(m.containerdFormats(), m.registriesConfFormats(), k3sFormats, buildkitdFormats)
}

// containerdFormats returns the readers of containerd: hosts.toml, config.toml, and certs.d of docker and podman.
func (m *Machines) containerdFormats() []scanner.Reader {
	return []scanner.Reader{
		{Name: model.ContainerdHosts, Is: isHosts, Read: m.readHosts},
		{Name: model.ContainerdConfig, Is: isContainerdConfig, Read: readContainerdConfig},
	}
}

func isHosts(f *scanner.File) bool { return isCertsDirectory(f) || isHostsFile(f) }

func (m *Machines) readHosts(f *scanner.File) {
	if isCertsDirectory(f) {
		m.readCertsDirectory(f)
	} else {
		readHostsFile(f)
	}
}

func isHostsFile(f *scanner.File) bool {
	if path.Base(f.Path) == "hosts.toml" {
		return true
	}
	root := f.TomlWith("host", "server")
	for _, host := range root.Get("host").Pairs() {
		if hasAny(host.Value, "capabilities", "ca", "client", "skip_verify", "override_path") {
			return true
		}
	}
	return root.Get("server").IsText() && hasAny(root, "capabilities", "host", "skip_verify", "override_path")
}

func hasAny(n *node.Node, keys ...string) bool {
	return slices.ContainsFunc(n.Pairs(), func(p node.Pair) bool { return slices.Contains(keys, p.Key) })
}

// hostsReader reads one hosts.toml. Hosts are tried in the order of the file, then the server.
type hostsReader struct {
	*scanner.File
	root  *node.Node
	hosts runtimeconf.Hosts
}

func readHostsFile(f *scanner.File) {
	r := hostsReader{File: f}
	if len(f.Data) == 0 { // containerd reads the certificates as if the file did not exist
		r.certificatesInstead()
		return
	}
	if err := node.DecodeTOML(f.Data, &r.hosts); err != nil {
		f.TomlProblem(hostsRejected, err)
		if !f.LooksLikeTemplate() {
			r.certificatesInstead()
		}
		return
	}
	r.root = f.Toml()
	if r.rejects(r.hosts.Server, r.hosts.HostTable, r.root) {
		return
	}
	for _, host := range r.root.Get("host").Pairs() {
		if !r.ignored(host.Value) && r.rejects(host.Key, r.hosts.Hosts[host.Key], host.Value) {
			return
		}
	}
	for _, host := range r.root.Get("host").Pairs() {
		r.mirror(host.Key, host.KeyLine, host.Value)
	}
	r.server()
}

const hostsRejected = " containerd only logs this: the mirrors of the file disappear, and the .crt files next to it are used."

// rejects reports whether containerd rejects the file because of a table. If so, it reads what is used instead.
func (r hostsReader) rejects(address string, t runtimeconf.HostTable, n *node.Node) bool {
	if scanner.IsTemplate(address) {
		address = ""
	}
	p := t.Problem(address, n)
	if p != nil {
		r.Scanner.Problem(r.At(p.Line, ""), model.ProblemReason(p.Kind), "%s", p.Text+hostsRejected)
		r.certificatesInstead()
	}
	return p != nil
}

// ignored reports whether containerd ignores a host, because its table has no header.
func (r hostsReader) ignored(host *node.Node) bool {
	return host.IsInline() || r.root.Get("host").IsInline()
}

// mirror adds one host of the file.
func (r hostsReader) mirror(name string, line int, n *node.Node) {
	table := r.hosts.Hosts[name]
	found := r.address(name, line, table)
	if found == nil {
		return
	}
	if r.ignored(n) {
		scanner.AddNotice(found, model.NoticeNotUsedByConsumer,
			`containerd reads hosts only from tables with their own header. Write [host.%s].`, scanner.Shown(name))
	}
	if r.hosts.SkipVerify != nil && *r.hosts.SkipVerify && table.SkipVerify == nil {
		scanner.AddNotice(found, model.NoticeIgnoredField,
			"skip_verify at the top of the file is for the server only. Set it in the table of the host, or better set ca there.")
	}
	if len(r.hosts.Header) > 0 && len(table.Header) == 0 {
		scanner.AddNotice(found, model.NoticeIgnoredField,
			"header at the top of the file is for the server only: containerd does not send it to this host. Set it in the table of the "+
				"host.")
	}
	r.Scanner.Found(*found)
}

// address returns the definition of a host with an address, nil if it has none.
func (r hostsReader) address(written string, line int, table runtimeconf.HostTable) *model.Registry {
	u, err := runtimeconf.HostURL(written)
	switch {
	case scanner.IsTemplate(written):
		r.Scanner.Skip(r.At(line, ""), model.SkipTemplate, "The host is a template or an expression.")
		return nil
	case err == nil && !slices.Contains([]string{"", "http", "https"}, u.Scheme):
		r.Scanner.Skip(r.At(line, ""), model.SkipUnsupportedScheme,
			"containerd takes what is before the first colon for a scheme. Write https:// before the host.")
		return nil
	case err != nil || u.Host == "":
		r.Scanner.Problem(r.At(line, ""), model.ProblemNoHost,
			"The address has no host. If its name begins with http, write https:// before it.")
		return nil
	}
	found := draft(r.File, model.ContainerdHosts, model.Containerd, r.At(line, "host "+u.Scheme+"://"+u.Host), u.Host)
	if u.User != nil {
		scanner.AddNotice(found, model.NoticeIgnoredField, "containerd ignores the credentials in the address.")
	}
	if !table.OverridePath && !strings.HasSuffix(path.Clean(u.Path), "/v2") {
		u.Path = path.Join(u.Path, "/v2")
	}
	apiPath(found, u.Path, table.OverridePath, "containerd")
	r.connect(found, u, table)
	return found
}

// connect sets how containerd connects to a host: any setting of TLS, also skip_verify = false, makes it try HTTPS before plain HTTP.
func (r hostsReader) connect(found *model.Registry, u *url.URL, t runtimeconf.HostTable) {
	header(found, t.Header)
	files := tlsFiles{skipVerify: t.SkipVerify != nil && *t.SkipVerify}
	files.ca, _ = runtimeconf.FileNames(t.CA)
	files.clients, _ = runtimeconf.FilePairs(t.Client)
	if u.Scheme == "http" {
		if u.Port() == "80" || t.CA == nil && files.clients == nil && t.SkipVerify == nil {
			scanner.SetPlainHTTP(found, "containerd")
			return
		}
		scanner.AddNotice(found, model.NoticePlainHTTPFallback, "containerd tries HTTPS first because TLS is configured, then plain HTTP. "+
			"Write https://, or remove skip_verify, ca and client.")
	}
	files.apply(r.File, found)
}

// header sets the credentials of a header, the only ones that hosts.toml can have.
func header(r *model.Registry, header map[string]any) {
	for name, value := range header {
		values, _ := runtimeconf.FileNames(value)
		if !strings.EqualFold(name, "authorization") || len(values) == 0 {
			continue
		}
		scheme, credentials, _ := strings.Cut(values[0], " ")
		switch {
		case scanner.IsTemplate(values[0]):
			scanner.SetUnresolved(r, model.UnresolvedTemplate, "The header with the credentials is a template or an expression.")
		case strings.EqualFold(scheme, "bearer"):
			r.Definition.Auth.Token = secret.String(credentials)
		case !strings.EqualFold(scheme, "basic") || !basic(r, credentials):
			scanner.SetUnresolved(r, model.UnresolvedIncomplete,
				"The header with the credentials has neither Basic nor Bearer credentials.")
		}
	}
}

// server adds the server, the last host that containerd tries: without one in the file, the host of the directory.
func (r hostsReader) server() {
	if r.hosts.Server == "" {
		r.directoryHost(r.hosts.HostTable, r.unusedCertificates)
		return
	}
	if found := r.address(r.hosts.Server, runtimeconf.LineOf(r.root.Get("server")), r.hosts.HostTable); found != nil {
		r.unusedCertificates(found)
		r.Scanner.Found(*found)
	}
}

// unusedCertificates notices certificates in the directory that the file does not name.
func (r hostsReader) unusedCertificates(found *model.Registry) {
	for _, name := range certificates(r.File, path.Dir(r.Path)).ca {
		if !strings.Contains(string(r.Data), name) {
			scanner.AddNotice(found, model.NoticeNotUsedByConsumer,
				"containerd does not use %s, because hosts.toml is in the same directory. Name it with ca.", scanner.Shown(name))
		}
	}
}

// certificatesInstead adds the host of the directory with the certificates there.
func (r hostsReader) certificatesInstead() {
	var table runtimeconf.HostTable
	files := certificates(r.File, path.Dir(r.Path))
	for _, name := range files.ca {
		table.CA = append(asList(table.CA), name)
	}
	for _, pair := range files.clients {
		client := any(pair[0])
		if pair[1] != "" {
			client = []any{pair[0], pair[1]}
		}
		table.Client = append(asList(table.Client), client)
	}
	r.directoryHost(table, func(*model.Registry) {})
}

func asList(value any) []any {
	list, _ := value.([]any)
	return list
}

// directoryHost adds the registry that the directory is named after.
func (r hostsReader) directoryHost(t runtimeconf.HostTable, add func(*model.Registry)) {
	host, ok := certsHost(r.File)
	if !ok {
		return
	}
	u := &url.URL{Scheme: "https", Host: host}
	if port := u.Port(); isLocal(u.Hostname()) && port != "" && port != "443" {
		u.Scheme = "http"
		if skip := true; port != "80" {
			t.SkipVerify = &skip
		}
	} else if isLocal(u.Hostname()) {
		skip := true
		t.SkipVerify = &skip
	}
	t.OverridePath = false
	line := min(len(r.Data), 1) // of the whole file, which does not have the host
	if found := r.address(u.String(), line, t); found != nil {
		add(found)
		r.Scanner.Found(*found)
	}
}

var directoryWithPort = lazyregexp.New(`^(.+)_(\d+)_$`)

// certsHost returns the host that the directory of the file is named after.
func certsHost(f *scanner.File) (host string, ok bool) {
	name := path.Base(path.Dir(f.Path))
	above := path.Base(path.Dir(path.Dir(f.Path)))
	withPort := directoryWithPort.Get().FindStringSubmatch(name)
	switch {
	case name == "_default":
		f.Scanner.Skip(f.At(0, ""), model.SkipWildcard, "The directory _default is for all registries without a directory of their own.")
		return "", false
	case withPort != nil:
		return withPort[1] + ":" + withPort[2], true
	case name == "localhost" || strings.ContainsAny(name, ".:") && name != "." || strings.HasSuffix(above, ".d"):
		return name, true
	default:
		f.Scanner.Skip(f.At(0, ""), model.SkipNoHost, "The file has no server, and its directory is not named after a registry.")
		return "", false
	}
}

func isLocal(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// draft returns a definition of a registry on HTTPS.
func draft(f *scanner.File, format model.Format, own model.Consumer, at model.Source, host string) *model.Registry {
	r := &model.Registry{Sources: []model.Source{at}, Format: format, Consumer: f.Scanner.Consumer(own)}
	r.Definition.Endpoint = scanner.EndpointOf(host)
	r.Definition.Auth = &regcheck.Auth{}
	return r
}
