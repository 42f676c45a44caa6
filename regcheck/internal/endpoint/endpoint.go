// Package endpoint reads the fields of a definition that say where the API of a registry is.
package endpoint

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck/internal/message"
)

// Lengths in bytes that a field may have.
const (
	maxEndpoint = 2048
	maxPath     = 4096
)

// Base is where the API is, or the files of a chart repository.
type Base struct {
	egress.Origin
	Path  string // without slashes at the ends and, unless Files, without "v2"; may be empty
	Files bool   // there is no API
}

// URL returns a URL below the API's /v2/, or of a file; rest may be empty.
func (b Base) URL(rest string) *url.URL {
	path := "/v2/" + rest
	if b.Files {
		path = "/" + rest
	}
	if b.Path != "" {
		path = "/" + b.Path + path
	}
	return &url.URL{Scheme: b.Scheme, Host: b.Authority(), Path: path}
}

func (b Base) String() string { return b.URL("").String() }

// Below returns the base with a path appended.
func (b Base) Below(path string) Base {
	if !b.Files {
		path = TrimV2(path)
	}
	b.Path = strings.Trim(b.Path+"/"+path, "/")
	return b
}

// TrimV2 removes the slashes at both ends of a path, and the "v2" at its end, which a Base adds itself.
func TrimV2(path string) string {
	path = strings.Trim(path, "/")
	if path == "v2" {
		return ""
	}
	return strings.TrimRight(strings.TrimSuffix(path, "/v2"), "/")
}

// ReadPath trims a path. The problem completes a sentence that begins with the name of the field; it is "" for a valid path.
func ReadPath(value string) (path string, problem message.Text) {
	path = strings.Trim(strings.TrimSpace(value), "/")
	switch {
	case len(value) > maxPath:
		problem = message.Of("must be at most %d bytes", maxPath)
	case !utf8.ValidString(value):
		problem = "must be valid UTF-8"
	case hasControl(path):
		problem = "must not contain control characters"
	case strings.Contains(path, ".."):
		problem = `must not contain ".."`
	case strings.ContainsAny(path, "?#%"):
		problem = `must not contain "?", "#" or "%"`
	}
	return path, problem
}

func hasControl(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) }

// Read reads the endpoint of an OCI registry. The problem completes a sentence that begins with the name of the field; it is "" for a
// valid one.
func Read(value string) (b Base, problem message.Text) {
	b, problem = read(value)
	b.Host, b.Path = APIHost(b.Host), TrimV2(b.Path)
	return b, problem
}

// ReadFiles reads the endpoint of a chart repository.
func ReadFiles(value string) (b Base, problem message.Text) {
	b, problem = read(value)
	b.Path, b.Files = strings.Trim(b.Path, "/"), true
	switch {
	case strings.HasPrefix(strings.ToLower(strings.TrimSpace(value)), "oci://"):
		problem = "must begin with https:// or http://; a registry with oci:// is not a chart repository, so remove {kind}"
	case problem == "" && strings.HasSuffix("/"+b.Path, "/index.yaml"):
		problem = "must be the address without index.yaml, which Helm appends"
	}
	return b, problem
}

func read(value string) (b Base, problem message.Text) {
	text := strings.TrimSpace(value)
	switch {
	case text == "":
		return b, "is required"
	case len(value) > maxEndpoint:
		return b, "must be at most 2048 bytes"
	case !utf8.ValidString(text) || hasControl(text):
		return b, "must be valid UTF-8 without control characters"
	case strings.ContainsAny(text, " \\"):
		return b, "must not contain blanks or backslashes"
	case strings.ContainsAny(text, "?#"):
		return b, "must not have a query or fragment; use only host, port and path"
	case strings.Contains(text, "%"):
		return b, "must not contain percent signs; use host and path unescaped, without IPv6 zone"
	}
	return parse(text)
}

// parse reads [scheme://]host[:port][/path]. The problem has the part as it was read.
func parse(text string) (t Base, problem message.Text) {
	rest := text
	t.Scheme = "https"
	if scheme, after, ok := strings.Cut(text, "://"); ok {
		switch strings.ToLower(scheme) {
		case "https", "oci":
		case "http":
			t.Scheme = "http"
		default:
			return t, message.Of("has the scheme %q; it must be https://, http:// or oci://", scheme)
		}
		rest = after
	} else if word := schemeWord(text); word != "" {
		return t, message.Of("has the host %q; the scheme must be %s:// with a colon and two slashes", word, word)
	}
	authority, path, _ := strings.Cut(rest, "/")
	t.Path = path
	if strings.Contains(path, "..") {
		return t, `must not contain ".." in its path`
	}
	if strings.Contains(authority, "@") {
		return t, "must not contain user information; set {auth.username} and {auth.password}"
	}
	host, port, problem := splitAuthority(authority, egress.DefaultPort(t.Scheme))
	if problem != "" {
		return t, problem
	}
	t.Port = port
	name, unusable := egress.ReadHost(host)
	t.Host = name
	return t, message.Of("%s", unusable)
}

// APIHost returns the host that serves the API. Docker Hub has three names, and only the last one serves it.
func APIHost(host string) string {
	if host == "docker.io" || host == "index.docker.io" {
		return "registry-1.docker.io"
	}
	return host
}

// schemeWord returns the scheme of "https:/host", "http//host" and the like, where it would become a host.
func schemeWord(text string) string {
	head, rest := text, ""
	if i := strings.IndexAny(text, ":/"); i >= 0 {
		head, rest = text[:i], text[i:]
	}
	word := strings.ToLower(head)
	if word != "https" && word != "http" && word != "oci" {
		return ""
	}
	if strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, ":") && !isPort(rest[1:]) {
		return word
	}
	return ""
}

func isPort(s string) bool {
	number, _, _ := strings.Cut(s, "/")
	_, err := strconv.ParseUint(number, 10, 16)
	return err == nil
}

func splitAuthority(authority string, standard uint16) (host string, port uint16, problem message.Text) {
	if authority == "" {
		return "", 0, "must have a host"
	}
	host, number, hasPort := authority, "", false
	if strings.HasPrefix(authority, "[") {
		end := strings.Index(authority, "]")
		if end < 0 {
			return "", 0, `must have "]" after "["`
		}
		host, number = authority[:end+1], authority[end+1:]
		if number, hasPort = strings.CutPrefix(number, ":"); !hasPort && number != "" {
			return "", 0, "must not have text after the closing bracket"
		}
	} else if strings.Count(authority, ":") > 1 {
		return "", 0, "must have brackets around an IPv6 address, as in [2001:db8::1]:5000"
	} else {
		host, number, hasPort = strings.Cut(authority, ":")
	}
	if !hasPort {
		return host, standard, ""
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil || n == 0 || number[0] == '+' {
		return "", 0, message.Of("has the port %q; it must be 1–65535", number)
	}
	return host, uint16(n), ""
}
