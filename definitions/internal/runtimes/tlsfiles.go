package runtimes

import (
	"encoding/base64"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
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
func (t tlsFiles) apply(f *scanner.File, r *model.Registry) {
	settings := &r.Definition.Auth.TLS
	settings.Enabled = t.skipVerify || len(t.ca) > 0 || len(t.clients) > 0
	settings.InsecureSkipVerify = t.skipVerify
	if t.skipVerify {
		scanner.AddNotice(r, model.NoticeInsecureSkipVerify,
			"The certificate of the registry is not verified. Set the CA certificate instead.")
	}
	var ca strings.Builder
	for _, name := range t.ca {
		certificates, _ := f.Pem(r, name)
		ca.WriteString(certificates)
	}
	settings.CA = ca.String()
	if len(t.clients) == 0 {
		return
	}
	if len(t.clients) > 1 {
		scanner.AddNotice(r, model.NoticeAmbiguousCredentials,
			"There are several client certificates; the registry chooses one by its CAs. The check uses %s.",
			scanner.Shown(t.clients[0][0]))
	}
	var key string
	if settings.Certificate, key = f.Pem(r, t.clients[0][0]); t.clients[0][1] != "" {
		_, key = f.Pem(r, t.clients[0][1])
	}
	if settings.Key = secret.String(key); key == "" || settings.Certificate == "" {
		scanner.SetUnresolved(r, model.UnresolvedIncomplete, "The client certificate %s has no certificate or no private key.",
			scanner.Shown(t.clients[0][0]))
	}
}

// sharedTLS returns what settings that many endpoints have make of a definition.
func sharedTLS(apply func(r *model.Registry)) *model.Registry {
	r := &model.Registry{Definition: regcheck.Definition{Auth: &regcheck.Auth{}}}
	apply(r)
	return r
}

// setTLS sets what sharedTLS returned.
func setTLS(r, shared *model.Registry) {
	r.Definition.Auth.TLS = shared.Definition.Auth.TLS
	r.Notices = append(r.Notices, shared.Notices...)
	if r.Reason == "" {
		r.Reason, r.Detail = shared.Reason, shared.Detail
	}
}

// isCertsDirectory recognizes the certificates of certs.d/HOST, by which docker, podman and containerd trust a registry.
func isCertsDirectory(f *scanner.File) bool {
	return isCertificate(f.Path) && path.Base(path.Dir(path.Dir(f.Path))) == "certs.d"
}

func isCertificate(name string) bool {
	return slices.Contains([]string{".crt", ".cert", ".key"}, path.Ext(name))
}

// readCertsDirectory reads a directory of certificates when its first file is read. With hosts.toml, the directory is containerd's.
func (m *Machines) readCertsDirectory(f *scanner.File) {
	directory := path.Dir(f.Name)
	if m.certificates[directory] || f.Tree == nil {
		return
	}
	m.certificates[directory] = true
	if _, err := fs.Stat(f.Tree, path.Join(path.Dir(f.Path), "hosts.toml")); err == nil {
		return
	}
	host, ok := certsHost(f)
	if !ok {
		return
	}
	files := certificates(f, path.Dir(f.Path))
	own := certsConsumer(f.Name)
	r := draft(f, model.ContainerdHosts, own, f.At(0, host), host)
	r.Sources = nil
	for _, name := range files.names() {
		r.Sources = append(r.Sources, model.Source{File: path.Join(directory, name), Object: host})
	}
	if own != model.Containerd {
		files.checkPairs(r)
	}
	files.apply(f, r)
	f.Scanner.Found(*r)
}

func certsConsumer(name string) model.Consumer {
	switch {
	case strings.Contains(name, "containerd/"):
		return model.Containerd
	case strings.Contains(name, "containers/"):
		return model.Podman
	}
	return model.Docker
}

// certificates returns the certificates in a directory of the tree.
func certificates(f *scanner.File, directory string) (files tlsFiles) {
	entries := f.List(directory)
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
func (t tlsFiles) checkPairs(r *model.Registry) {
	const consequence = "docker and podman refuse every connection to this registry. A CA certificate must be named *.crt."
	for _, pair := range t.clients {
		if pair[1] == "" {
			scanner.SetUnresolved(r, model.UnresolvedIncomplete, "The client certificate %s has no key file next to it: %s",
				scanner.Shown(pair[0]), consequence)
		}
	}
	for _, name := range t.strayKeys {
		scanner.SetUnresolved(r, model.UnresolvedIncomplete, "The key %s has no client certificate (*.cert) next to it: %s",
			scanner.Shown(name), consequence)
	}
}

// apiPath sets the path to which the consumer sends requests. What follows /v2 in it is the beginning of the content's path.
func apiPath(r *model.Registry, written string, overridden bool, consumer string) {
	clean := path.Clean("/" + written)
	before, after, hasV2 := strings.Cut(clean+"/", "/v2/")
	r.Definition.BasePath = strings.Trim(before, "/")
	r.Definition.BaseContentPath = strings.Trim(after, "/")
	switch {
	case overridden && !hasV2:
		scanner.AddNotice(r, model.NoticeOverridePath, "%s sends requests to %s without adding /v2; the check adds it.", consumer,
			scanner.Shown(clean))
	case overridden:
		scanner.AddNotice(r, model.NoticeOverridePath, "%s sends requests to %s instead of /v2.", consumer, scanner.Shown(clean))
	}
}

// endpoint returns the definition of an address with or without a scheme, and reports why there is none.
func endpoint(f *scanner.File, format model.Format, own model.Consumer, at model.Source, written string,
	defaultScheme func(host string) string) (*model.Registry, *url.URL) {
	address := written
	if !strings.Contains(address, "://") {
		address = "//" + address
	}
	u, err := url.Parse(address)
	switch {
	case scanner.IsTemplate(written):
		f.Scanner.Skip(at, model.SkipTemplate, "The address is a template or an expression.")
	case strings.HasPrefix(written, "<"):
		f.Scanner.Skip(at, model.SkipPlaceholder, "The address %s is a placeholder.", scanner.Shown(written))
	case err != nil || u.Host == "":
		f.Scanner.Problem(at, model.ProblemNoHost, "The address %s has no host.", scanner.Shown(written))
	case !slices.Contains([]string{"", "http", "https"}, u.Scheme):
		f.Scanner.Skip(at, model.SkipUnsupportedScheme, "The scheme of the address must be https or http.")
	default:
		if u.Scheme == "" {
			u.Scheme = defaultScheme(u.Host)
		}
		r := draft(f, format, own, at, u.Host)
		if u.User != nil {
			scanner.AddNotice(r, model.NoticeIgnoredField, "The consumer ignores the credentials in the address.")
		}
		return r, u
	}
	return nil, nil
}

// basic sets the credentials of a base64-encoded username and password, and reports whether it could.
func basic(r *model.Registry, encoded string) bool {
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

// readAuth is what containerd makes of a runtimeAuth. Many endpoints may have the same.
type readAuth struct {
	model.Registry                     // with the credentials, notices, and why they are not known
	problem        model.ProblemReason // why containerd cannot use the registry, "" if it can
	message        string
}

// apply sets the credentials, and reports whether containerd can use them. It adds a problem if not.
func (a *readAuth) apply(f *scanner.File, at model.Source, r *model.Registry) bool {
	if a.problem != "" {
		f.Scanner.Problem(at, a.problem, "%s", a.message)
		return false
	}
	auth := *a.Definition.Auth
	scanner.SetAuth(r, &auth)
	r.Notices = append(r.Notices, a.Notices...)
	if r.Reason == "" {
		r.Reason, r.Detail = a.Reason, a.Detail
	}
	return true
}

// read returns the credentials as containerd chooses them: the username first, then the identity token, then auth.
func (a runtimeAuth) read() *readAuth {
	read := &readAuth{}
	r := &read.Registry
	r.Definition.Auth = &regcheck.Auth{}
	auth := r.Definition.Auth
	switch {
	case slices.ContainsFunc([]string{a.Username, a.Password.Reveal(), a.Auth.Reveal(), a.IdentityToken.Reveal()}, scanner.IsTemplate):
		scanner.SetUnresolved(r, model.UnresolvedTemplate, "The credentials are a template or an expression.")
	case a.Username == "" && a.IdentityToken == "" && scanner.IsBase64Placeholder(a.Auth.Reveal()):
		scanner.SetUnresolved(r, model.UnresolvedTemplate, "auth is a placeholder.")
	case a.Username != "" && a.Password == "":
		scanner.SetUnresolved(r, model.UnresolvedIncomplete, "The credentials have a username and no password.")
	case a.Username != "":
		auth.Username, auth.Password = a.Username, a.Password
		if a.Auth != "" || a.IdentityToken != "" {
			scanner.AddNotice(r, model.NoticeShadowedCredentials,
				"containerd uses username and password, not auth and identitytoken of the same table.")
		}
	case a.IdentityToken != "":
		auth.Token = a.IdentityToken
	case a.Auth != "":
		read.decode(a.Auth.Reveal())
	}
	return read
}

func (a *readAuth) decode(encoded string) {
	const consequence = "containerd cannot use the registry. Encode username:password with base64."
	if _, err := base64.StdEncoding.DecodeString(encoded); err != nil {
		a.problem, a.message = model.ProblemInvalidBase64, "auth is not valid base64: "+consequence
		return
	}
	if !basic(&a.Registry, encoded) {
		a.problem, a.message = model.ProblemNoPassword, "auth has no colon when decoded: "+consequence
		return
	}
	auth := a.Definition.Auth
	auth.Password = secret.String(strings.Trim(auth.Password.Reveal(), "\x00"))
	switch {
	case auth.Username == "" && auth.Password != "": // containerd sends a secret without a username as a refresh token
		auth.Token, auth.Password = auth.Password, ""
	case auth.Password == "":
		scanner.SetUnresolved(&a.Registry, model.UnresolvedIncomplete, "The credentials have a username and no password.")
	}
}
