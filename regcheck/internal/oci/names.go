// Package oci reads names, manifests and lists of the OCI distribution specification.
package oci

import "strings"

// IsRepository holds a name against the grammar of the distribution specification ("Pulling manifests"):
// components of lower-case letters and digits, joined by one period, one or two underscores, or dashes.
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

// IsTag holds a tag against the same specification.
func IsTag(tag string) bool {
	if tag == "" || len(tag) > 128 || tag[0] == '.' || tag[0] == '-' {
		return false
	}
	return strings.Trim(tag, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
}

// IsReference knows tags and digests; a registry's own list may hold anything.
func IsReference(r string) bool {
	return r != "" && len(r) <= 256 && strings.Trim(r, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:+=") == "" && r != "." && r != ".."
}
