package definitions

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/node"
)

// registriesConfFormats reads registries.conf of containers/image.
var registriesConfFormats = []format{{ContainersRegistries, isRegistriesConf, readRegistriesConf}}

// registriesConf is registries.conf of podman, skopeo, buildah and CRI-O, in version 2 and 1.
type registriesConf struct {
	Registries        []confRegistry    `toml:"registry"`
	Unqualified       []string          `toml:"unqualified-search-registries"`
	CredentialHelpers []string          `toml:"credential-helpers"`
	ShortNameMode     string            `toml:"short-name-mode"`
	Aliases           map[string]string `toml:"aliases"`
	Version1          struct {
		Search   confVersion1 `toml:"search"`
		Insecure confVersion1 `toml:"insecure"`
		Block    confVersion1 `toml:"block"`
	} `toml:"registries"`
}

type confVersion1 struct {
	Registries []string `toml:"registries"`
}

type confEndpoint struct {
	Location       string `toml:"location"`
	Insecure       bool   `toml:"insecure"`
	PullFromMirror string `toml:"pull-from-mirror"`
}

type confRegistry struct {
	Prefix string `toml:"prefix"`
	confEndpoint
	Mirrors            []confEndpoint `toml:"mirror"`
	Blocked            bool           `toml:"blocked"`
	MirrorByDigestOnly bool           `toml:"mirror-by-digest-only"`
}

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
	conf   registriesConf
	lastIn map[string]string // the file that sets a prefix last
}

func readRegistriesConf(f *file) {
	r := confReader{file: f, root: f.toml()}
	if err := node.DecodeTOML(f.data, &r.conf); err != nil {
		f.tomlProblem(confRejected, err)
		return
	}
	r.conf.normalize()
	if line, reason, text := r.conf.problem(r.root); text != "" {
		r.reject(line, reason, "%s", text)
		return
	}
	r.lastIn = r.lastSettings()
	seen := map[string]bool{}
	for i, registry := range r.conf.Registries {
		r.registry(registry, item(r.root.Get("registry"), i), seen[registry.Prefix])
		seen[registry.Prefix] = true
	}
	r.version1()
	for i, host := range r.conf.Unqualified {
		r.unqualified(host, lineOf(item(r.root.Get("unqualified-search-registries"), i)))
	}
	if aliases := r.root.Get("aliases"); len(r.conf.Aliases) > 0 {
		r.scanner.skip(r.at(lineOf(aliases), "aliases"), SkipAliasOnly, "The table has short names of %d repositories.", len(r.conf.Aliases))
	}
}

const confRejected = " podman, buildah, skopeo and CRI-O refuse to use any registry until this is corrected."

// reject reports why containers/image rejects the file.
func (r confReader) reject(line int, reason ProblemReason, format string, args ...any) {
	r.scanner.problem(r.at(line, ""), reason, format+confRejected, args...)
}

// normalize removes slashes at the end of locations, and sets prefixes that are not written.
func (c *registriesConf) normalize() {
	trim := func(text *string) { *text = strings.TrimRight(*text, "/") }
	for i := range c.Registries {
		registry := &c.Registries[i]
		trim(&registry.Location)
		trim(&registry.Prefix)
		if registry.Prefix == "" {
			registry.Prefix = registry.Location
		}
		for j := range registry.Mirrors {
			trim(&registry.Mirrors[j].Location)
		}
	}
	for i := range c.Unqualified {
		trim(&c.Unqualified[i])
	}
}

// version2 reports whether the file has anything of version 2.
func (c *registriesConf) version2() bool {
	return len(c.Registries)+len(c.Unqualified)+len(c.CredentialHelpers)+len(c.Aliases) > 0 || c.ShortNameMode != ""
}

func (c *registriesConf) version1() bool {
	return len(c.Version1.Search.Registries)+len(c.Version1.Insecure.Registries)+len(c.Version1.Block.Registries) > 0
}

// problem returns why containers/image rejects the file, "" if it does not.
func (c *registriesConf) problem(root *node.Node) (line int, reason ProblemReason, text string) {
	if c.version1() && c.version2() {
		return lineOf(root.Get("registries")), ProblemConflictingEntries, "The file has tables of version 1 and of version 2. Remove [registries.*]."
	}
	if line, text := problem1(root); text != "" {
		return line, ProblemWrongShape, text
	}
	for i, registry := range c.Registries {
		if text := registry.problem(); text != "" {
			return lineOf(item(root.Get("registry"), i)), ProblemWrongShape, text
		}
	}
	for i, registry := range c.Registries {
		for _, other := range c.Registries[:i] {
			if setting := registry.contradicts(other); setting != "" {
				return lineOf(item(root.Get("registry"), i)), ProblemConflictingEntries,
					fmt.Sprintf("Another entry has the same location %s and another value of %s.", shown(registry.Location), setting)
			}
		}
	}
	for i, host := range c.Unqualified {
		if !isDomain(host) {
			return lineOf(item(root.Get("unqualified-search-registries"), i)), ProblemNoHost,
				fmt.Sprintf("%s in unqualified-search-registries is not a host.", shown(host))
		}
	}
	if !slices.Contains([]string{"", "disabled", "enforcing", "permissive"}, c.ShortNameMode) {
		return lineOf(root.Get("short-name-mode")), ProblemWrongShape, "short-name-mode must be one of enforcing, permissive, disabled."
	}
	return c.aliasProblem(root.Get("aliases"))
}

// problem1 returns why a file of version 1 was rejected.
func problem1(root *node.Node) (line int, text string) {
	for _, list := range root.Get("registries").Pairs() {
		for _, location := range list.Value.Get("registries").Items() {
			if hasScheme(location.Text()) {
				return location.Line, "A registry must not have a scheme. Remove http:// or https://."
			}
		}
	}
	return 0, ""
}

func (c *registriesConf) aliasProblem(aliases *node.Node) (line int, reason ProblemReason, text string) {
	for _, alias := range aliases.Pairs() {
		if !isShortName(alias.Key) || alias.Value.Text() != "" && !isRepository(alias.Value.Text()) {
			return alias.KeyLine, ProblemWrongShape, fmt.Sprintf("The alias %s must be a short name, and its value HOST/REPOSITORY without tag and digest.", shown(alias.Key))
		}
	}
	return 0, "", ""
}

func (r confRegistry) problem() string {
	wildcard := strings.HasPrefix(r.Prefix, "*.")
	switch {
	case r.Prefix == "":
		return "The entry has no location."
	case hasScheme(r.Location) || hasScheme(r.Prefix):
		return "location and prefix must not have a scheme. Remove http:// or https://; insecure = true allows plain HTTP."
	case r.Location == "" && !wildcard:
		return "The entry has a prefix and no location."
	case wildcard && strings.ContainsAny(r.Prefix, "/@:"):
		return "A prefix with a wildcard must have the form *.example.com."
	case r.PullFromMirror != "":
		return "pull-from-mirror can be set only for a mirror."
	}
	for _, mirror := range r.Mirrors {
		if text := mirror.problem(r.MirrorByDigestOnly); text != "" {
			return text
		}
	}
	return ""
}

func (m confEndpoint) problem(digestOnly bool) string {
	switch {
	case hasScheme(m.Location):
		return "The location of a mirror must not have a scheme. Remove http:// or https://; insecure = true allows plain HTTP."
	case m.Location == "":
		return "A mirror has no location."
	case digestOnly && m.PullFromMirror != "":
		return "pull-from-mirror cannot be combined with mirror-by-digest-only."
	case !slices.Contains([]string{"", "all", "digest-only", "tag-only"}, m.PullFromMirror):
		return "pull-from-mirror must be one of all, digest-only, tag-only."
	}
	return ""
}

func hasScheme(location string) bool {
	return strings.HasPrefix(location, "http://") || strings.HasPrefix(location, "https://")
}

// contradicts returns the setting in which two entries for the same location differ, "" if they agree.
func (r confRegistry) contradicts(other confRegistry) string {
	key := func(r confRegistry) string {
		if r.Location == "" {
			return r.Prefix
		}
		return r.Location
	}
	switch {
	case key(r) != key(other):
		return ""
	case r.Insecure != other.Insecure:
		return "insecure"
	case r.Blocked != other.Blocked:
		return "blocked"
	}
	return ""
}

const (
	domainLabel = `[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?`
	pathPart    = `[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*`
)

var (
	domainPattern = regexp.MustCompile(`^(` + domainLabel + `(\.` + domainLabel + `)*|\[[a-fA-F0-9:]+\])(:[0-9]+)?$`)
	pathPattern   = regexp.MustCompile(`^` + pathPart + `(/` + pathPart + `)*$`)
)

// item returns an element of an array, nil if it does not exist: a decoder ignores the case of keys.
func item(n *node.Node, i int) *node.Node {
	if items := n.Items(); i < len(items) {
		return items[i]
	}
	return nil
}

// isDomain reports whether a text is a host with or without a port, or empty.
func isDomain(host string) bool { return domainPattern.MatchString(host) }

// isShortName reports whether an image's name has no registry.
func isShortName(name string) bool {
	first, _, hasPath := strings.Cut(name, "/")
	return pathPattern.MatchString(name) && !(hasPath && (strings.Contains(first, ".") || first == "localhost"))
}

func isRepository(name string) bool {
	host, repository, found := strings.Cut(name, "/")
	return found && (strings.ContainsAny(host, ".:") || host == "localhost") && isDomain(host) && pathPattern.MatchString(repository)
}

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
		var conf registriesConf
		if data, err := r.referenced(name); path.Ext(name) != ".conf" || err != nil || node.DecodeTOML(data, &conf) != nil {
			continue
		}
		conf.normalize()
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
func (r confReader) registry(registry confRegistry, n *node.Node, again bool) {
	at := r.at(lineOf(n.Get("prefix"), n.Get("location"), n), registry.Prefix)
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
		r.location(r.at(lineOf(item(n.Get("mirror"), i)), "mirror of "+registry.Prefix), mirror, notice)
	}
	if registry.Location == "" {
		r.scanner.skip(at, SkipWildcard, "The entry is for all hosts that match %s.", shown(registry.Prefix))
		return
	}
	r.location(at, registry.confEndpoint, notice)
}

// location adds what is contacted. The path of a location is the beginning of the content's path.
func (r confReader) location(at Source, e confEndpoint, notice func(*Registry)) {
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
	if r.lastIn[host] != "" || slices.ContainsFunc(r.conf.Registries, func(registry confRegistry) bool { return registry.Prefix == host }) {
		return
	}
	r.location(r.at(line, "unqualified-search-registries"), confEndpoint{Location: host}, func(found *Registry) {
		if replaced := r.replaced(search); replaced != "" {
			found.notice(NoticeNotUsedByConsumer, "%s has other unqualified-search-registries, which replace these.", shown(replaced))
		}
	})
}

// version1 adds the registries of a file of version 1.
func (r confReader) version1() {
	lists := r.conf.Version1
	contains := func(list confVersion1, location string) bool { return slices.Contains(list.Registries, location) }
	for _, name := range []string{"block", "insecure", "search"} {
		for _, n := range r.root.Get("registries", name, "registries").Items() {
			location := n.Text()
			at := r.at(n.Line, "registries."+name)
			switch {
			case name == "block":
				r.scanner.skip(at, SkipBlocked, "Images of %s cannot be pulled.", shown(location))
			case contains(lists.Block, location) || name == "search" && contains(lists.Insecure, location):
			default:
				r.location(at, confEndpoint{Location: strings.TrimRight(location, "/"), Insecure: name == "insecure"}, func(found *Registry) {
					found.notice(NoticeDeprecatedKeys, "Version 1 of registries.conf is deprecated; podman 6 rejects it. Write [[registry]] tables.")
				})
			}
		}
	}
}
