package definitions

import (
	"encoding/base64"
	"encoding/pem"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/runtimeconf"
	"github.com/regwarden/regwarden/secret"
)

// tlsFiles is what a configuration of a container runtime has of TLS.
type tlsFiles struct {
	ca         []string    // names of files
	clients    [][2]string // names of certificate and key; without a key, the first file has both
	strayKeys  []string    // keys in a directory of certificates that belong to no certificate
	skipVerify bool
}

// apply reads the files and sets the TLS of a definition. A file that cannot be read makes the definition unresolved.
func (t tlsFiles) apply(f *file, r *Registry) {
	settings := &r.Definition.Auth.TLS
	settings.Enabled = t.skipVerify || len(t.ca) > 0 || len(t.clients) > 0
	settings.InsecureSkipVerify = t.skipVerify
	if t.skipVerify {
		r.notice(NoticeInsecureSkipVerify, "The certificate of the registry is not verified. Set the CA certificate instead.")
	}
	for _, name := range t.ca {
		certificates, _ := f.pem(r, name)
		settings.CA += certificates
	}
	if len(t.clients) == 0 {
		return
	}
	if len(t.clients) > 1 {
		r.notice(NoticeAmbiguousCredentials, "There are several client certificates; the registry chooses one by its CAs. The check uses %s.", shown(t.clients[0][0]))
	}
	var key string
	if settings.Certificate, key = f.pem(r, t.clients[0][0]); t.clients[0][1] != "" {
		_, key = f.pem(r, t.clients[0][1])
	}
	if settings.Key = secret.String(key); key == "" || settings.Certificate == "" {
		r.unresolved(UnresolvedIncomplete, "The client certificate %s has no certificate or no private key.", shown(t.clients[0][0]))
	}
}

const maxPEM = 256 << 10

// pem returns the certificates and private keys of a file that f names. Nothing else of the file is used, since f may name any file.
func (f *file) pem(r *Registry, name string) (certificates, keys string) {
	if isTemplate(name) {
		r.unresolved(UnresolvedTemplate, "The name of the file %s is a template or an expression.", shown(name))
		return "", ""
	}
	data, err := f.onMachine(name)
	if err != nil || len(data) > maxPEM {
		r.unresolved(UnresolvedConfigFile, "The file %s is not in the directory that is read. Read a directory that has it at this path.", shown(name))
		return "", ""
	}
	certificates, keys = pemBlocks(data)
	if certificates == "" && keys == "" {
		r.unresolved(UnresolvedConfigFile, "The file %s has no certificate and no key in PEM format.", shown(name))
	}
	return certificates, keys
}

// pemBlocks returns the certificates and private keys of a text, without anything else that it has.
func pemBlocks(text []byte) (certificates, keys string) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		switch one := string(pem.EncodeToMemory(block)); {
		case block.Type == "CERTIFICATE":
			certificates += one
		case strings.HasSuffix(block.Type, "PRIVATE KEY"):
			keys += one
		}
	}
	return certificates, keys
}

// isCertsDirectory recognizes the certificates of certs.d/HOST, by which docker, podman and containerd trust a registry.
func isCertsDirectory(f *file) bool {
	return isCertificate(f.path) && path.Base(path.Dir(path.Dir(f.path))) == "certs.d"
}

func isCertificate(name string) bool {
	return slices.Contains([]string{".crt", ".cert", ".key"}, path.Ext(name))
}

// readCertsDirectory reads a directory of certificates when its first file is read. With hosts.toml, the directory is containerd's.
func readCertsDirectory(f *file) {
	directory := path.Dir(f.name)
	if f.scanner.certsd[directory] || f.tree == nil {
		return
	}
	f.scanner.certsd[directory] = true
	if _, err := fs.Stat(f.tree, path.Join(path.Dir(f.path), "hosts.toml")); err == nil {
		return
	}
	host, ok := f.directory()
	if !ok {
		return
	}
	files := f.certificates(path.Dir(f.path))
	own := certsConsumer(f.name)
	r := f.draft(ContainerdHosts, own, f.at(0, host), host)
	r.Sources = nil
	for _, name := range files.names() {
		r.Sources = append(r.Sources, Source{File: path.Join(directory, name), Object: host})
	}
	if own != Containerd {
		files.checkPairs(r)
	}
	files.apply(f, r)
	f.scanner.found(*r)
}

func certsConsumer(name string) Consumer {
	switch {
	case strings.Contains(name, "containerd/"):
		return Containerd
	case strings.Contains(name, "containers/"):
		return Podman
	}
	return Docker
}

// certificates returns the certificates in a directory of the tree.
func (f *file) certificates(directory string) (files tlsFiles) {
	entries := f.list(directory)
	names := map[string]bool{}
	for _, entry := range entries {
		names[entry.Name()] = !entry.IsDir()
	}
	for _, entry := range entries {
		name := entry.Name()
		base := strings.TrimSuffix(name, path.Ext(name))
		switch {
		case !names[name]:
		case path.Ext(name) == ".crt":
			files.ca = append(files.ca, name)
		case path.Ext(name) == ".cert" && names[base+".key"]:
			files.clients = append(files.clients, [2]string{name, base + ".key"})
		case path.Ext(name) == ".cert":
			files.clients = append(files.clients, [2]string{name, ""})
		case path.Ext(name) == ".key" && !names[base+".cert"]:
			files.strayKeys = append(files.strayKeys, name)
		}
	}
	return files
}

func (t tlsFiles) names() []string {
	names := slices.Concat(t.ca, t.strayKeys)
	for _, pair := range t.clients {
		names = append(names, pair[0])
		if pair[1] != "" {
			names = append(names, pair[1])
		}
	}
	return names
}

// checkPairs reports what docker and podman require and containerd does not: a key file for each certificate, and the reverse.
func (t tlsFiles) checkPairs(r *Registry) {
	const consequence = "docker and podman refuse every connection to this registry. A CA certificate must be named *.crt."
	for _, pair := range t.clients {
		if pair[1] == "" {
			r.unresolved(UnresolvedIncomplete, "The client certificate %s has no key file next to it: %s", shown(pair[0]), consequence)
		}
	}
	for _, name := range t.strayKeys {
		r.unresolved(UnresolvedIncomplete, "The key %s has no client certificate (*.cert) next to it: %s", shown(name), consequence)
	}
}

// plainHTTP makes the definition one without TLS.
func (r *Registry) plainHTTP(consumer string) {
	r.Definition.Endpoint = "http://" + strings.TrimPrefix(r.Definition.Endpoint, "https://")
	r.notice(NoticePlainHTTP, "%s connects without TLS: everyone on the network can read the credentials and change the content.", consumer)
}

// apiPath sets the path to which the consumer sends requests. What follows /v2 in it is the beginning of the content's path.
func (r *Registry) apiPath(written string, overridden bool, consumer string) {
	clean := path.Clean("/" + written)
	before, after, hasV2 := strings.Cut(clean+"/", "/v2/")
	r.Definition.BasePath = strings.Trim(before, "/")
	r.Definition.BaseContentPath = strings.Trim(after, "/")
	switch {
	case overridden && !hasV2:
		r.notice(NoticeOverridePath, "%s sends requests to %s without adding /v2; the check adds it.", consumer, shown(clean))
	case overridden:
		r.notice(NoticeOverridePath, "%s sends requests to %s instead of /v2.", consumer, shown(clean))
	}
}

// endpoint returns the definition of an address with or without a scheme, and reports why there is none.
func (f *file) endpoint(format Format, own Consumer, at Source, written string, defaultScheme func(host string) string) (*Registry, *url.URL) {
	address := written
	if !strings.Contains(address, "://") {
		address = "//" + address
	}
	u, err := url.Parse(address)
	switch {
	case isTemplate(written):
		f.scanner.skip(at, SkipTemplate, "The address is a template or an expression.")
	case strings.HasPrefix(written, "<"):
		f.scanner.skip(at, SkipPlaceholder, "The address %s is a placeholder.", shown(written))
	case err != nil || u.Host == "":
		f.scanner.problem(at, ProblemNoHost, "The address %s has no host.", shown(written))
	case !slices.Contains([]string{"", "http", "https"}, u.Scheme):
		f.scanner.skip(at, SkipUnsupportedScheme, "The scheme of the address must be https or http.")
	default:
		if u.Scheme == "" {
			u.Scheme = defaultScheme(u.Host)
		}
		r := f.draft(format, own, at, u.Host)
		if u.User != nil {
			r.notice(NoticeIgnoredField, "The consumer ignores the credentials in the address.")
		}
		return r, u
	}
	return nil, nil
}

// basic sets the credentials of a base64-encoded username and password, and reports whether it could.
func (r *Registry) basic(encoded string) bool {
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	username, password, found := strings.Cut(string(decoded), ":")
	if err != nil || !found {
		return false
	}
	r.Definition.Auth.Username, r.Definition.Auth.Password = username, secret.String(password)
	return true
}

// runtimeAuth is how containerd and k3s write credentials.
type runtimeAuth struct {
	Username      string        `toml:"username"`
	Password      secret.String `toml:"password"`
	Auth          secret.String `toml:"auth"`
	IdentityToken secret.String `toml:"identitytoken"`
}

// apply sets the credentials as containerd chooses them: the username first, then the identity token, then auth. It reports whether
// containerd can use them, and adds a problem if not.
func (a runtimeAuth) apply(f *file, at Source, r *Registry) bool {
	auth := r.Definition.Auth
	switch {
	case slices.ContainsFunc([]string{a.Username, a.Password.Reveal(), a.Auth.Reveal(), a.IdentityToken.Reveal()}, isTemplate):
		r.unresolved(UnresolvedTemplate, "The credentials are a template or an expression.")
	case a.Username != "" && a.Password == "":
		r.unresolved(UnresolvedIncomplete, "The credentials have a username and no password.")
	case a.Username != "":
		auth.Username, auth.Password = a.Username, a.Password
		if a.Auth != "" || a.IdentityToken != "" {
			r.notice(NoticeShadowedCredentials, "containerd uses username and password, not auth and identitytoken of the same table.")
		}
	case a.IdentityToken != "":
		auth.Token = a.IdentityToken
	case a.Auth != "":
		return a.encoded(f, at, r)
	}
	return true
}

func (a runtimeAuth) encoded(f *file, at Source, r *Registry) bool {
	const consequence = "containerd cannot use the registry. Encode username:password with base64."
	if _, err := base64.StdEncoding.DecodeString(a.Auth.Reveal()); err != nil {
		f.scanner.problem(at, ProblemInvalidBase64, "auth is not valid base64: "+consequence)
		return false
	}
	if !r.basic(a.Auth.Reveal()) {
		f.scanner.problem(at, ProblemNoPassword, "auth has no colon when decoded: "+consequence)
		return false
	}
	auth := r.Definition.Auth
	auth.Password = secret.String(strings.Trim(auth.Password.Reveal(), "\x00"))
	switch {
	case auth.Username == "" && auth.Password != "": // containerd sends a secret without a username as a refresh token
		auth.Token, auth.Password = auth.Password, ""
	case auth.Password == "":
		r.unresolved(UnresolvedIncomplete, "The credentials have a username and no password.")
	}
	return true
}

var templatePattern = regexp.MustCompile(`\{\{|\{%|<%|\$\{|\$\(|^\$[A-Za-z_][A-Za-z0-9_]*$|^ref\+`)

// isTemplate reports whether another program puts in the value before the file is used.
func isTemplate(text string) bool { return templatePattern.MatchString(text) }

// shown quotes a text of a file for a message.
func shown(text string) string { return runtimeconf.Show(text) }
