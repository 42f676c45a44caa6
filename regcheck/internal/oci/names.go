// Package oci reads names, manifests and lists of the OCI distribution specification.
package oci

import (
	"net/url"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/message"
)

// IsRepository reports whether a name follows the grammar of the distribution specification ("Pulling manifests"): components
// of lowercase letters and digits, joined by one period, one or two underscores, or dashes.
func IsRepository(name string) bool {
	if len(name) > 255 {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if !isComponent(part) {
			return false
		}
	}
	return true
}

func isComponent(part string) bool {
	joint := "" // separators since the last letter or digit
	for i := range len(part) {
		switch c := part[i]; {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			if joint != "" && joint != "." && joint != "_" && joint != "__" && strings.Trim(joint, "-") != "" {
				return false
			}
			joint = ""
		case i > 0 && (c == '.' || c == '_' || c == '-'):
			joint += string(c)
		default:
			return false
		}
	}
	return part != "" && joint == ""
}

// IsTag reports whether a tag follows the same specification.
func IsTag(tag string) bool {
	if tag == "" || len(tag) > 128 || tag[0] == '.' || tag[0] == '-' {
		return false
	}
	return strings.Trim(tag, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
}

// IsReference reports whether a text may be a tag or a digest. A list of a registry may contain any text.
func IsReference(r string) bool {
	return r != "" && len(r) <= 256 && strings.Trim(r, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:+=") == "" &&
		r != "." && r != ".."
}

// NameProblem is why a path cannot be the name of a repository, and the corrected path, which is empty if it is not clear.
type NameProblem struct {
	What   message.Text
	Better string
}

// CheckName returns the problem of a path, the zero value for a path that a registry may accept. isHost reports whether a name
// is the host of the registry.
func CheckName(path string, isHost func(string) bool) NameProblem {
	name, hasHost := withoutHost(path, isHost)
	base, suffix := cutSuffix(name)
	suffixed := suffix != ""
	if _, valid := ReadReference("a"+suffix, isHost); valid {
		suffixed, name = false, base
	}
	better := strings.ToLower(strings.Join(slices.DeleteFunc(strings.Split(base, "/"), func(part string) bool { return part == "" }), "/"))
	if tag := strings.ReplaceAll(suffix, "+", "_"); suffixed && IsTag(tag[1:]) {
		suffix, name = tag, base // as Helm writes the version 1.2.3+build
	} else if suffixed {
		suffix = ""
	}
	f := NameProblem{Better: better + suffix}
	if !IsRepository(better) {
		f.Better = ""
	}
	switch {
	case hasHost:
		f.What = "the host must be in {endpoint} only"
	case IsRepository(name) && !suffixed:
		return NameProblem{}
	case suffixed && suffix != "":
		f.What = "a tag has _ where the version has +"
	case suffixed:
		f.What = "after the repository there must be : and a tag (at most 128 letters, digits, _ . -), or @ and a digest (sha256: and 64 " +
			"digits of 0-9 a-f)"
	case strings.Contains(path, "//"):
		f.What = "an empty component (//) is not allowed"
	case better != name:
		f.What = "uppercase letters are not allowed"
	default:
		f.What = "names have at most 255 characters, and components of lowercase letters and digits, joined by single . _ -"
	}
	return f
}

// withoutHost removes the scheme of a URL, and the host of the registry or any host with a port. Other names with periods
// remain: mirrors have repositories such as docker.io/library.
func withoutHost(path string, isHost func(string) bool) (rest string, found bool) {
	if _, after, ok := strings.Cut(path, "://"); ok {
		path, found = after, true
	}
	host, rest, _ := strings.Cut(path, "/")
	u := url.URL{Host: host}
	if found || u.Port() != "" && rest != "" || isHost(strings.ToLower(u.Hostname())) {
		return rest, true
	}
	return path, false
}

// cutSuffix splits the tag or digest off the last component.
func cutSuffix(name string) (base, suffix string) {
	last := strings.LastIndexByte(name, '/') + 1
	if i := strings.IndexAny(name[last:], ":@"); i >= 0 {
		return name[:last+i], name[last+i:]
	}
	return name, ""
}
