package definitions

import (
	"path"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/node"
)

// buildkitdFormats reads buildkitd.toml.
var buildkitdFormats = []format{{Buildkitd, isBuildkitd, readBuildkitd}}

// buildkitRegistry is one registry of buildkitd.toml. Settings of a mirror are in the table of the mirror's host.
type buildkitRegistry struct {
	Mirrors      []string `toml:"mirrors"`
	HTTP         *bool    `toml:"http"`
	Insecure     *bool    `toml:"insecure"`
	CA           []string `toml:"ca"`
	TLSConfigDir []string `toml:"tlsconfigdir"`
	KeyPairs     []struct {
		Key  string `toml:"key"`
		Cert string `toml:"cert"`
	} `toml:"keypair"`
}

func isBuildkitd(f *file) bool {
	if path.Base(f.path) == "buildkitd.toml" {
		return true
	}
	return slices.ContainsFunc(f.toml().Get("registry").Pairs(), func(p node.Pair) bool {
		return hasAny(p.Value, "mirrors", "http", "insecure", "ca", "keypair", "tlsconfigdir")
	})
}

func readBuildkitd(f *file) {
	var config struct {
		Registries map[string]buildkitRegistry `toml:"registry"`
	}
	if err := node.DecodeTOML(f.data, &config); err != nil {
		f.tomlProblem(" buildkitd does not start with this file.", err)
		return
	}
	mirrors := map[string]bool{}
	for _, registry := range f.toml().Get("registry").Pairs() {
		for _, mirror := range registry.Value.Get("mirrors").Items() {
			f.buildkitMirror(registry.Key, mirror, config.Registries, mirrors)
		}
	}
	for _, registry := range f.toml().Get("registry").Pairs() {
		at := f.at(registry.KeyLine, registry.Key)
		if mirrors[registry.Key] || !hasAny(registry.Value, "http", "insecure", "ca", "keypair", "tlsconfigdir") {
			continue
		}
		if found, u := f.endpoint(Buildkitd, Docker, at, registry.Key, https); found != nil {
			if u.Host != registry.Key {
				found.notice(NoticeNotUsedByConsumer, "buildkit looks for the settings of the host alone. Write %s as the key.", shown(u.Host))
			}
			found.buildkit(f, u.Hostname(), config.Registries[registry.Key])
			f.scanner.found(*found)
		}
	}
}

func https(string) string { return "https" }

// buildkitMirror adds a mirror. buildkit ignores its scheme, and its path follows /v2.
func (f *file) buildkitMirror(name string, n *node.Node, registries map[string]buildkitRegistry, mirrors map[string]bool) {
	found, u := f.endpoint(Buildkitd, Docker, f.at(n.Line, "mirror of "+name), n.Text(), https)
	if found == nil {
		return
	}
	if u.Scheme == "http" {
		found.notice(NoticeSchemeInKeyIgnored, "buildkit ignores the scheme of a mirror and uses HTTPS. For plain HTTP, set http = true in [registry.%s].", shown(u.Host))
	}
	mirrors[u.Host] = true
	found.Definition.BaseContentPath = strings.Trim(u.Path, "/")
	found.buildkit(f, u.Hostname(), registries[u.Host])
	f.scanner.found(*found)
}

// buildkit sets how buildkit connects: insecure has precedence over http, and is plain HTTP only if TLS fails.
func (r *Registry) buildkit(f *file, name string, settings buildkitRegistry) {
	insecure := settings.Insecure != nil && *settings.Insecure
	plain := isLocal(name)
	if settings.HTTP != nil {
		plain = *settings.HTTP
	}
	switch {
	case insecure && plain:
		r.notice(NoticePlainHTTPFallback, "buildkit tries HTTPS first because of insecure, then plain HTTP.")
		if settings.HTTP != nil {
			r.notice(NoticeConflictingEntries, "http and insecure contradict each other: http is without TLS, insecure is TLS without verification. Remove one.")
		}
	case plain:
		r.plainHTTP("buildkit")
		return
	}
	files := tlsFiles{ca: settings.CA, skipVerify: insecure}
	for _, pair := range settings.KeyPairs {
		files.clients = append(files.clients, [2]string{pair.Cert, pair.Key})
	}
	for _, directory := range settings.TLSConfigDir {
		f.certificatesIn(r, directory, &files)
	}
	files.apply(f, r)
}

// certificatesIn adds the certificates of a directory that the configuration names.
func (f *file) certificatesIn(r *Registry, directory string, files *tlsFiles) {
	var found tlsFiles
	for _, place := range f.inTree(directory) {
		if found = f.certificates(place); len(found.ca)+len(found.clients) > 0 {
			break
		}
	}
	if len(found.ca)+len(found.clients) == 0 {
		r.unresolved(UnresolvedConfigFile, "The directory %s has no certificates, or is not in the directory that is read. Read a directory that has it at this path.", shown(directory))
	}
	for _, name := range found.ca {
		files.ca = append(files.ca, path.Join(directory, name))
	}
	for _, pair := range found.clients {
		key := strings.TrimSuffix(pair[0], ".cert") + ".key"
		files.clients = append(files.clients, [2]string{path.Join(directory, pair[0]), path.Join(directory, key)})
	}
}
