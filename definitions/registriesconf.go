package definitions

import (
	"path"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/runtimeconf"
)

// registriesConfFormats reads registries.conf of containers/image.
var registriesConfFormats = []format{{ContainersRegistries, isRegistriesConf, readRegistriesConf}}

func isRegistriesConf(f *file) bool {
	if path.Base(f.path) == "registries.conf" || isDropIn(f.path) {
		return true
	}
	root := f.toml()
	for _, registry := range root.Get("registry").Items() {
		if hasAny(registry, "prefix", "location", "mirror") {
			return true
		}
	}
	for _, list := range []string{"search", "insecure", "block"} {
		if root.Get("registries", list, "registries").IsArray() {
			return true
		}
	}
	return hasAny(root, "unqualified-search-registries", "short-name-mode")
}

func isDropIn(name string) bool {
	return path.Ext(name) == ".conf" && path.Base(path.Dir(name)) == "registries.conf.d"
}

// confReader reads one file. A drop-in replaces the registries of the same prefix in the files before it.
type confReader struct {
	*file
	root   *node.Node
	conf   *runtimeconf.Registries
	lastIn map[string]string // the file that sets a prefix last
}

func readRegistriesConf(f *file) {
	conf, err := runtimeconf.DecodeRegistries(f.data)
	if err != nil {
		f.tomlProblem(confRejected, err)
		return
	}
	r := confReader{file: f, root: f.toml(), conf: conf}
	if p := conf.Problem(r.root); p != nil {
		r.scanner.problem(r.at(p.Line, ""), ProblemReason(p.Kind), "%s", p.Text+confRejected)
		return
	}
	r.lastIn = r.lastSettings()
	seen := map[string]bool{}
	for i, registry := range r.conf.Registries {
		r.registry(registry, runtimeconf.Item(r.root.Get("registry"), i), seen[registry.Prefix])
		seen[registry.Prefix] = true
	}
	r.version1()
	for i, host := range r.conf.Unqualified {
		r.unqualified(host, runtimeconf.LineOf(runtimeconf.Item(r.root.Get("unqualified-search-registries"), i)))
	}
	if aliases := r.root.Get("aliases"); len(r.conf.Aliases) > 0 {
		r.scanner.skip(r.at(runtimeconf.LineOf(aliases), "aliases"), SkipAliasOnly, "The table has short names of %d repositories.", len(r.conf.Aliases))
	}
}

const confRejected = " podman, buildah, skopeo and CRI-O refuse to use any registry until this is corrected."

// search is the key of unqualified-search-registries in confReader.lastIn: no prefix is empty.
const search = ""

// lastSettings returns which file sets each prefix last: registries.conf is first, then come the files of registries.conf.d by name.
func (r confReader) lastSettings() map[string]string {
	directory, key := path.Dir(r.path), path.Dir(r.name)
	switch {
	case isDropIn(r.path):
		directory, key = path.Dir(directory), path.Dir(key)
	case path.Base(r.path) != "registries.conf":
		return nil
	}
	if last, ok := r.scanner.lastSettings[key]; ok {
		return last
	}
	last := map[string]string{}
	r.scanner.lastSettings[key] = last
	names := []string{path.Join(directory, "registries.conf")}
	for _, entry := range r.list(path.Join(directory, "registries.conf.d")) {
		names = append(names, path.Join(directory, "registries.conf.d", entry.Name()))
	}
	for _, name := range names {
		if path.Ext(name) != ".conf" {
			continue
		}
		data, err := r.referenced(name)
		if err != nil {
			continue
		}
		conf, err := runtimeconf.DecodeRegistries(data)
		if err != nil {
			continue
		}
		if conf.Unqualified != nil {
			last[search] = name
		}
		for _, registry := range conf.Registries {
			last[registry.Prefix] = name
		}
	}
	return last
}

// replaced returns the name of the file that replaces a setting of this one, "" if none does.
func (r confReader) replaced(setting string) string {
	if name := r.lastIn[setting]; name != r.path {
		return path.Base(name)
	}
	return ""
}

// registry adds a registry and its mirrors. again means that an entry before it has the same prefix, which is used instead.
func (r confReader) registry(registry runtimeconf.Registry, n *node.Node, again bool) {
	at := r.at(runtimeconf.LineOf(n.Get("prefix"), n.Get("location"), n), dockerauth.Show(registry.Prefix))
	replaced := r.replaced(registry.Prefix)
	notice := func(found *Registry) {
		switch {
		case again:
			found.notice(NoticeNotUsedByConsumer, "An entry before this one has the same prefix and is used instead.")
		case replaced != "":
			found.notice(NoticeNotUsedByConsumer, "The entry in %s has the same prefix and replaces this one.", shown(replaced))
		}
	}
	if registry.Blocked {
		r.scanner.skip(at, SkipBlocked, "blocked = true: images of %s cannot be pulled.", shown(registry.Prefix))
		return
	}
	for i, mirror := range registry.Mirrors {
		r.location(r.at(runtimeconf.LineOf(runtimeconf.Item(n.Get("mirror"), i)), "mirror of "+dockerauth.Show(registry.Prefix)), mirror, notice)
	}
	if registry.Location == "" {
		r.scanner.skip(at, SkipWildcard, "The entry is for all hosts that match %s.", shown(registry.Prefix))
		return
	}
	r.location(at, registry.Endpoint, notice)
}

// location adds what is contacted. The path of a location is the beginning of the content's path.
func (r confReader) location(at Source, e runtimeconf.Endpoint, notice func(*Registry)) {
	found, u := r.endpoint(ContainersRegistries, Podman, at, e.Location, https)
	if found == nil {
		return
	}
	found.Definition.BaseContentPath = strings.Trim(u.Path, "/")
	if e.Insecure {
		tlsFiles{skipVerify: true}.apply(r.file, found)
		found.notice(NoticePlainHTTPFallback, "insecure = true: the consumer tries HTTPS without verification, then plain HTTP.")
	}
	notice(found)
	r.helpers(found)
	r.scanner.found(*found)
}

// helpers makes a definition unresolved if credential helpers, which are not started, have the credentials.
func (r confReader) helpers(found *Registry) {
	for _, helper := range r.conf.CredentialHelpers {
		if helper != "containers-auth.json" {
			found.unresolved(UnresolvedCredentialHelper, "The credentials are requested from the credential helper %s.", shown(helper))
		}
	}
}

// unqualified adds a registry that is searched for short names, unless an entry is for it.
func (r confReader) unqualified(host string, line int) {
	if r.lastIn[host] != "" || slices.ContainsFunc(r.conf.Registries, func(registry runtimeconf.Registry) bool { return registry.Prefix == host }) {
		return
	}
	r.location(r.at(line, "unqualified-search-registries"), runtimeconf.Endpoint{Location: host}, func(found *Registry) {
		if replaced := r.replaced(search); replaced != "" {
			found.notice(NoticeNotUsedByConsumer, "%s has other unqualified-search-registries, which replace these.", shown(replaced))
		}
	})
}

// version1 adds the registries of a file of version 1.
func (r confReader) version1() {
	lists := r.conf.Lists
	contains := func(list runtimeconf.Version1, location string) bool {
		return slices.Contains(list.Registries, location)
	}
	for _, name := range []string{"block", "insecure", "search"} {
		for _, n := range r.root.Get("registries", name, "registries").Items() {
			location := n.Text()
			at := r.at(n.Line, "registries."+name)
			switch {
			case name == "block":
				r.scanner.skip(at, SkipBlocked, "Images of %s cannot be pulled.", shown(location))
			case contains(lists.Block, location) || name == "search" && contains(lists.Insecure, location):
			default:
				r.location(at, runtimeconf.Endpoint{Location: strings.TrimRight(location, "/"), Insecure: name == "insecure"}, func(found *Registry) {
					found.notice(NoticeDeprecatedKeys, "Version 1 of registries.conf is deprecated; current versions of podman reject it. Write [[registry]] tables.")
				})
			}
		}
	}
}
