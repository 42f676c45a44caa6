package runtimes

import (
	"path"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/runtimeconf"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
)

// registriesConfFormats returns the readers of registries.conf of containers/image.
func (m *Machines) registriesConfFormats() []scanner.Reader {
	return []scanner.Reader{{Name: model.ContainersRegistries, Is: isRegistriesConf, Read: m.readRegistriesConf}}
}

func isRegistriesConf(f *scanner.File) bool {
	if path.Base(f.Path) == "registries.conf" || isDropIn(f.Path) {
		return true
	}
	if f.IsWalked() && isDropIn(strings.TrimSuffix(f.Path, path.Ext(f.Path))+".conf") {
		return false // podman reads only *.conf there
	}
	root := f.TomlWith("registr", "short-name-mode")
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
	*scanner.File
	root     *node.Node
	conf     *runtimeconf.Registries
	helper   string            // the first credential helper that is not a file, "" if there is none
	prefixes map[string]bool   // of the entries read so far
	lastIn   map[string]string // the file that sets a prefix last
}

func (m *Machines) readRegistriesConf(f *scanner.File) {
	conf, err := runtimeconf.DecodeRegistries(f.Data)
	if err != nil {
		f.TomlProblem(confRejected, err)
		return
	}
	r := confReader{File: f, root: f.Toml(), conf: conf, prefixes: map[string]bool{}}
	if p := conf.Problem(r.root); p != nil {
		r.Scanner.Problem(r.At(p.Line, ""), model.ProblemReason(p.Kind), "%s", p.Text+confRejected)
		return
	}
	r.lastIn = r.lastSettings(m)
	if i := slices.IndexFunc(conf.CredentialHelpers, func(helper string) bool { return helper != "containers-auth.json" }); i >= 0 {
		r.helper = conf.CredentialHelpers[i]
	}
	tables := r.root.Get("registry")
	for i, registry := range r.conf.Registries {
		r.registry(registry, runtimeconf.Item(tables, i), r.prefixes[registry.Prefix])
		r.prefixes[registry.Prefix] = true
	}
	r.version1()
	hosts := r.root.Get("unqualified-search-registries")
	for i, host := range r.conf.Unqualified {
		r.unqualified(host, runtimeconf.LineOf(runtimeconf.Item(hosts, i)))
	}
	if aliases := r.root.Get("aliases"); len(r.conf.Aliases) > 0 {
		r.Scanner.Skip(r.At(runtimeconf.LineOf(aliases), "aliases"), model.SkipAliasOnly, "The table has short names of %d repositories.",
			len(r.conf.Aliases))
	}
}

const confRejected = " podman, buildah, skopeo and CRI-O refuse to use any registry until this is corrected."

// search is the key of unqualified-search-registries in confReader.lastIn: no prefix is empty.
const search = ""

// lastSettings returns which file sets each prefix last: registries.conf is first, then come the files of registries.conf.d by name.
func (r confReader) lastSettings(m *Machines) map[string]string {
	directory, key := path.Dir(r.Path), path.Dir(r.Name)
	switch {
	case isDropIn(r.Path):
		directory, key = path.Dir(directory), path.Dir(key)
	case path.Base(r.Path) != "registries.conf":
		return nil
	}
	if last, ok := m.lastSettings[key]; ok {
		return last
	}
	last := map[string]string{}
	m.lastSettings[key] = last
	names := []string{path.Join(directory, "registries.conf")}
	for _, entry := range r.List(path.Join(directory, "registries.conf.d")) {
		names = append(names, path.Join(directory, "registries.conf.d", entry.Name()))
	}
	for _, name := range names {
		if path.Ext(name) != ".conf" {
			continue
		}
		data, err := r.Referenced(name)
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
	if name, set := r.lastIn[setting]; set && name != r.Path {
		return path.Base(name)
	}
	return ""
}

// registry adds a registry and its mirrors. again means that an entry before it has the same prefix, which is used instead.
func (r confReader) registry(registry runtimeconf.Registry, n *node.Node, again bool) {
	at := r.At(runtimeconf.LineOf(n.Get("prefix"), n.Get("location"), n), dockerauth.Show(registry.Prefix))
	switch replaced := r.replaced(registry.Prefix); {
	case again:
		r.Scanner.Skip(at, model.SkipShadowed, "An entry before this one has the same prefix and is used instead.")
		return
	case replaced != "":
		r.Scanner.Skip(at, model.SkipShadowed, "The entry in %s has the same prefix and replaces this one.", scanner.Shown(replaced))
		return
	case registry.Blocked:
		r.Scanner.Skip(at, model.SkipBlocked, "blocked = true: images of %s cannot be pulled.", scanner.Shown(registry.Prefix))
		return
	}
	mirrors, place := n.Get("mirror"), "mirror of "+dockerauth.Show(registry.Prefix)
	for i, mirror := range registry.Mirrors {
		r.location(r.At(runtimeconf.LineOf(runtimeconf.Item(mirrors, i)), place), mirror)
	}
	if registry.Location == "" {
		r.Scanner.Skip(at, model.SkipWildcard, "The entry is for all hosts that match %s.", scanner.Shown(registry.Prefix))
		return
	}
	r.location(at, registry.Endpoint)
}

// location adds what is contacted, with notices. The path of a location is the beginning of the content's path.
func (r confReader) location(at model.Source, e runtimeconf.Endpoint, notices ...model.Notice) {
	found, u := endpoint(r.File, model.ContainersRegistries, model.Podman, at, e.Location, https)
	if found == nil {
		return
	}
	found.Definition.BaseContentPath = strings.Trim(u.Path, "/")
	if e.Insecure {
		tlsFiles{skipVerify: true}.apply(r.File, found)
		scanner.AddNotice(found, model.NoticePlainHTTPFallback,
			"insecure = true: the consumer tries HTTPS without verification, then plain HTTP.")
	}
	found.Notices = append(found.Notices, notices...)
	if r.helper != "" {
		scanner.SetUnresolved(found, model.UnresolvedCredentialHelper, "The credentials are requested from the credential helper %s.",
			scanner.Shown(r.helper))
	}
	r.Scanner.Found(*found)
}

// unqualified adds a registry that is searched for short names, unless an entry is for it.
func (r confReader) unqualified(host string, line int) {
	if r.lastIn[host] != "" || r.prefixes[host] {
		return
	}
	at := r.At(line, "unqualified-search-registries")
	if replaced := r.replaced(search); replaced != "" {
		r.Scanner.Skip(at, model.SkipShadowed, "%s has other unqualified-search-registries, which replace these.", scanner.Shown(replaced))
		return
	}
	r.location(at, runtimeconf.Endpoint{Location: host})
}

var version1Notice = model.Notice{Code: model.NoticeDeprecatedKeys,
	Message: "Version 1 of registries.conf is deprecated; current versions of podman reject it. Write [[registry]] tables."}

// version1 adds the registries of a file of version 1.
func (r confReader) version1() {
	blocked, insecure := setOf(r.conf.Lists.Block.Registries), setOf(r.conf.Lists.Insecure.Registries)
	for _, name := range []string{"block", "insecure", "search"} {
		for _, n := range r.root.Get("registries", name, "registries").Items() {
			location := strings.TrimRight(n.Text(), "/")
			at := r.At(n.Line, "registries."+name)
			switch {
			case name == "block":
				r.Scanner.Skip(at, model.SkipBlocked, "Images of %s cannot be pulled.", scanner.Shown(location))
			case blocked[location] || name == "search" && insecure[location]:
			default:
				r.location(at, runtimeconf.Endpoint{Location: location, Insecure: name == "insecure"}, version1Notice)
			}
		}
	}
}

func setOf(list []string) map[string]bool {
	set := map[string]bool{}
	for _, text := range list {
		set[strings.TrimRight(text, "/")] = true
	}
	return set
}
