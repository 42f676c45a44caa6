package runtimes

import (
	"path"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
)

// buildkitdFormats reads buildkitd.toml.
var buildkitdFormats = []scanner.Reader{{Name: model.Buildkitd, Is: isBuildkitd, Read: readBuildkitd}}

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

func isBuildkitd(f *scanner.File) bool {
	if path.Base(f.Path) == "buildkitd.toml" {
		return true
	}
	return slices.ContainsFunc(f.TomlWith("registry").Get("registry").Pairs(), func(p node.Pair) bool {
		return hasAny(p.Value, "mirrors", "http", "insecure", "ca", "keypair", "tlsconfigdir")
	})
}

func readBuildkitd(f *scanner.File) {
	var config struct {
		Registries map[string]buildkitRegistry `toml:"registry"`
	}
	if err := node.DecodeTOML(f.Data, &config); err != nil {
		f.TomlProblem(" buildkitd does not start with this file.", err)
		return
	}
	r := buildkitReader{f, config.Registries, map[string]*model.Registry{}}
	for _, registry := range f.Toml().Get("registry").Pairs() {
		place := scanner.Short("mirror of " + registry.Key)
		for _, mirror := range registry.Value.Get("mirrors").Items() {
			r.mirror(place, mirror)
		}
	}
	for _, registry := range f.Toml().Get("registry").Pairs() {
		at := f.At(registry.KeyLine, registry.Key)
		if r.mirrors[registry.Key] != nil || !hasAny(registry.Value, "http", "insecure", "ca", "keypair", "tlsconfigdir") {
			continue
		}
		if found, u := endpoint(f, model.Buildkitd, model.Docker, at, registry.Key, https); found != nil {
			if u.Host != registry.Key {
				scanner.AddNotice(found, model.NoticeNotUsedByConsumer,
					"buildkit looks for the settings of the host alone. Write %s as the key.", scanner.Shown(u.Host))
			}
			buildkit(found, f, u.Hostname(), config.Registries[registry.Key])
			f.Scanner.Found(*found)
		}
	}
}

func https(string) string { return "https" }

// buildkitReader reads one buildkitd.toml.
type buildkitReader struct {
	*scanner.File
	registries map[string]buildkitRegistry
	mirrors    map[string]*model.Registry // how buildkit connects to the hosts of mirrors
}

// mirror adds a mirror. buildkit ignores its scheme, and its path follows /v2.
func (r buildkitReader) mirror(place string, n *node.Node) {
	found, u := endpoint(r.File, model.Buildkitd, model.Docker, r.At(n.Line, place), n.Text(), https)
	if found == nil {
		return
	}
	if u.Scheme == "http" {
		scanner.AddNotice(found, model.NoticeSchemeInKeyIgnored,
			"buildkit ignores the scheme of a mirror and uses HTTPS. For plain HTTP, set http = true in [registry.%s].",
			scanner.Shown(u.Host))
	}
	if r.mirrors[u.Host] == nil {
		host := draft(r.File, model.Buildkitd, model.Docker, model.Source{}, u.Host)
		buildkit(host, r.File, u.Hostname(), r.registries[u.Host])
		r.mirrors[u.Host] = host
	}
	host := r.mirrors[u.Host]
	found.Definition.Endpoint, found.Definition.BaseContentPath = host.Definition.Endpoint, strings.Trim(u.Path, "/")
	setTLS(found, host)
	r.Scanner.Found(*found)
}

// buildkit sets how buildkit connects: insecure has precedence over http, and is plain HTTP only if TLS fails.
func buildkit(r *model.Registry, f *scanner.File, name string, settings buildkitRegistry) {
	insecure := settings.Insecure != nil && *settings.Insecure
	plain := isLocal(name)
	if settings.HTTP != nil {
		plain = *settings.HTTP
	}
	switch {
	case insecure && plain:
		scanner.AddNotice(r, model.NoticePlainHTTPFallback, "buildkit tries HTTPS first because of insecure, then plain HTTP.")
		if settings.HTTP != nil {
			scanner.AddNotice(r, model.NoticeConflictingEntries,
				"http and insecure contradict each other: http is without TLS, insecure is TLS without verification. Remove one.")
		}
	case plain:
		scanner.SetPlainHTTP(r, "buildkit")
		return
	}
	files := tlsFiles{ca: settings.CA, skipVerify: insecure}
	for _, pair := range settings.KeyPairs {
		files.clients = append(files.clients, [2]string{pair.Cert, pair.Key})
	}
	for _, directory := range settings.TLSConfigDir {
		certificatesIn(f, r, directory, &files)
	}
	files.apply(f, r)
}

// certificatesIn adds the certificates of a directory that the configuration names.
func certificatesIn(f *scanner.File, r *model.Registry, directory string, files *tlsFiles) {
	var found tlsFiles
	for _, place := range f.InTree(directory) {
		if found = certificates(f, place); len(found.ca)+len(found.clients) > 0 {
			break
		}
	}
	if len(found.ca)+len(found.clients) == 0 {
		scanner.SetUnresolved(r, model.UnresolvedConfigFile,
			"The directory %s has no certificates, or is not in the directory that is read. Read a directory that has it at this path.",
			scanner.Shown(directory))
	}
	for _, name := range found.ca {
		files.ca = append(files.ca, path.Join(directory, name))
	}
	for _, pair := range found.clients {
		key := strings.TrimSuffix(pair[0], ".cert") + ".key"
		files.clients = append(files.clients, [2]string{path.Join(directory, pair[0]), path.Join(directory, key)})
	}
}
