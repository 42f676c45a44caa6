package oci

import "strings"

// Reference names an artifact of a repository.
type Reference struct{ Repository, Tag, Digest string }

// ReadReference reads repository:tag, repository@digest or repository:tag@digest. ok is false for any other path, such as a
// repository or host:port/repository. isHost reports whether a name is the host of the registry.
func ReadReference(path string, isHost func(string) bool) (r Reference, ok bool) {
	if _, hasHost := withoutHost(path, isHost); hasHost {
		return r, false
	}
	name, digest, digested := strings.Cut(path, "@")
	last := strings.LastIndexByte(name, '/') + 1
	component, tag, tagged := strings.Cut(name[last:], ":")
	r = Reference{name[:last] + component, tag, digest}
	return r, (tagged || digested) && (!tagged || IsTag(tag)) && (!digested || IsDigest(digest)) && IsRepository(r.Repository)
}

// Name returns the tag or digest by which the manifest is requested: a digest takes precedence.
func (r Reference) Name() string {
	if r.Digest != "" {
		return r.Digest
	}
	return r.Tag
}

// Suffix returns what follows the repository in the reference, empty for a repository.
func (r Reference) Suffix() string {
	suffix := ""
	if r.Tag != "" {
		suffix = ":" + r.Tag
	}
	if r.Digest != "" {
		suffix += "@" + r.Digest
	}
	return suffix
}

func (r Reference) String() string { return r.Repository + r.Suffix() }
