package runtimeconf

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/internal/lazyregexp"
)

// Registries is registries.conf of podman, skopeo, buildah and CRI-O, in version 2 and 1.
type Registries struct {
	Registries        []Registry        `toml:"registry"`
	Unqualified       []string          `toml:"unqualified-search-registries"`
	CredentialHelpers []string          `toml:"credential-helpers"`
	ShortNameMode     string            `toml:"short-name-mode"`
	Aliases           map[string]string `toml:"aliases"`
	Lists             struct {          // of version 1
		Search   Version1 `toml:"search"`
		Insecure Version1 `toml:"insecure"`
		Block    Version1 `toml:"block"`
	} `toml:"registries"`
}

// Version1 is one of the lists of version 1.
type Version1 struct {
	Registries []string `toml:"registries"`
}

// Endpoint is what is contacted.
type Endpoint struct {
	Location       string `toml:"location"`
	Insecure       bool   `toml:"insecure"`
	PullFromMirror string `toml:"pull-from-mirror"`
}

// Registry is an entry for the images whose names begin with its prefix.
type Registry struct {
	Prefix string `toml:"prefix"`
	Endpoint
	Mirrors            []Endpoint `toml:"mirror"`
	Blocked            bool       `toml:"blocked"`
	MirrorByDigestOnly bool       `toml:"mirror-by-digest-only"`
}

// DecodeRegistries decodes a file. Problem returns whether its values are accepted.
func DecodeRegistries(data []byte) (*Registries, error) {
	var c Registries
	if err := node.DecodeTOML(data, &c); err != nil {
		return nil, err
	}
	c.normalize()
	return &c, nil
}

// normalize removes slashes at the end of locations, and sets prefixes that are not written.
func (c *Registries) normalize() {
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
func (c *Registries) version2() bool {
	return len(c.Registries)+len(c.Unqualified)+len(c.CredentialHelpers)+len(c.Aliases) > 0 || c.ShortNameMode != ""
}

func (c *Registries) version1() bool {
	return len(c.Lists.Search.Registries)+len(c.Lists.Insecure.Registries)+len(c.Lists.Block.Registries) > 0
}

// Problem returns why containers/image rejects the file, nil if it does not.
func (c *Registries) Problem(root *node.Node) *Problem {
	if c.version1() && c.version2() {
		return &Problem{LineOf(root.Get("registries")), conflictingEntries,
			"The file has tables of version 1 and of version 2. Remove [registries.*]."}
	}
	if p := problemOfVersion1(root); p != nil {
		return p
	}
	for i, registry := range c.Registries {
		if text := registry.problem(); text != "" {
			return &Problem{LineOf(Item(root.Get("registry"), i)), wrongShape, text}
		}
	}
	if p := c.contradiction(root.Get("registry")); p != nil {
		return p
	}
	for i, host := range c.Unqualified {
		if !isDomain(host) {
			return &Problem{LineOf(Item(root.Get("unqualified-search-registries"), i)), noHost,
				fmt.Sprintf("%s in unqualified-search-registries is not a host.", shown(host))}
		}
	}
	if !slices.Contains([]string{"", "disabled", "enforcing", "permissive"}, c.ShortNameMode) {
		return &Problem{LineOf(root.Get("short-name-mode")), wrongShape, "short-name-mode must be one of enforcing, permissive, disabled."}
	}
	return problemOfAliases(root.Get("aliases"))
}

// contradiction returns the first entry that contradicts one before it, nil if there is none.
func (c *Registries) contradiction(tables *node.Node) *Problem {
	first := map[string]*Registry{}
	for i := range c.Registries {
		registry := &c.Registries[i]
		key := cmp.Or(registry.Location, registry.Prefix)
		if first[key] == nil {
			first[key] = registry
		}
		if setting := registry.contradicts(first[key]); setting != "" {
			return &Problem{LineOf(Item(tables, i)), conflictingEntries,
				fmt.Sprintf("Another entry has the same location %s and another value of %s.", shown(registry.Location), setting)}
		}
	}
	return nil
}

func problemOfVersion1(root *node.Node) *Problem {
	for _, list := range root.Get("registries").Pairs() {
		for _, location := range list.Value.Get("registries").Items() {
			if hasScheme(location.Text()) {
				return &Problem{location.Line, wrongShape, "A registry must not have a scheme. Remove http:// or https://."}
			}
		}
	}
	return nil
}

func problemOfAliases(aliases *node.Node) *Problem {
	for _, alias := range aliases.Pairs() {
		if !isShortName(alias.Key) || alias.Value.Text() != "" && !isRepository(alias.Value.Text()) {
			return &Problem{alias.KeyLine, wrongShape,
				fmt.Sprintf("The alias %s must be a short name, and its value HOST/REPOSITORY without tag and digest.", shown(alias.Key))}
		}
	}
	return nil
}

func (r Registry) problem() string {
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

func (m Endpoint) problem(digestOnly bool) string {
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
func (r *Registry) contradicts(other *Registry) string {
	switch {
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
	domainPattern = lazyregexp.New(`^(` + domainLabel + `(\.` + domainLabel + `)*|\[[a-fA-F0-9:]+\])(:[0-9]+)?$`)
	pathPattern   = lazyregexp.New(`^` + pathPart + `(/` + pathPart + `)*$`)
)

// isDomain reports whether a text is a host with or without a port, or empty.
func isDomain(host string) bool { return domainPattern.Get().MatchString(host) }

// isShortName reports whether an image's name has no registry.
func isShortName(name string) bool {
	first, _, hasPath := strings.Cut(name, "/")
	return pathPattern.Get().MatchString(name) && !(hasPath && (strings.Contains(first, ".") || first == "localhost"))
}

func isRepository(name string) bool {
	host, repository, found := strings.Cut(name, "/")
	return found && (strings.ContainsAny(host, ".:") || host == "localhost") && isDomain(host) && pathPattern.Get().MatchString(repository)
}
