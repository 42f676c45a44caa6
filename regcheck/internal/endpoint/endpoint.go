// Package endpoint reads the fields of a definition that say where the API of a registry is.
package endpoint

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/regwarden/regwarden/egress"
)

// Lengths in bytes that a field may have.
const (
	maxEndpoint = 2048
	maxPath     = 4096
)

// Base is where the API is.
type Base struct {
	egress.Origin
	Path string // without slashes at the ends and without "v2"; may be empty
}

// URL returns a URL below the API's /v2/; rest may be empty.
func (b Base) URL(rest string) *url.URL {
	path := "/v2/" + rest
	if b.Path != "" {
		path = "/" + b.Path + path
	}
	return &url.URL{Scheme: b.Scheme, Host: b.Authority(), Path: path}
}

func (b Base) String() string { return b.URL("").String() }

// Below returns the base with a path appended.
func (b Base) Below(path string) Base {
	b.Path = strings.Trim(b.Path+"/"+TrimV2(path), "/")
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

// ReadPath trims a path. The problem follows the name of the field; it is "" for a path that a registry may accept.
func ReadPath(value string) (path, problem string) {
	path = strings.Trim(strings.TrimSpace(value), "/")
	switch {
	case len(value) > maxPath:
		problem = fmt.Sprintf("is longer than %d bytes", maxPath)
	case !utf8.ValidString(value):
		problem = "is not valid UTF-8"
	case hasControl(path):
		problem = "contains a control character"
	case strings.Contains(path, ".."):
		problem = `contains "..", which cannot be part of a repository's name`
	case strings.ContainsAny(path, "?#%"):
		problem = `contains "?", "#" or "%"; write the plain path`
	}
	return path, problem
}

func hasControl(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) }

// Read reads an endpoint. The problem follows the name of the field; it is "" for an endpoint that can be used.
func Read(value string) (b Base, problem string) {
	text := strings.TrimSpace(value)
	switch {
	case text == "":
		return b, "is required"
	case len(value) > maxEndpoint:
		return b, "is longer than 2048 bytes"
	case !utf8.ValidString(text) || hasControl(text):
		return b, "contains a control character or is not valid UTF-8"
	case strings.ContainsAny(text, " \\"):
		return b, "contains a blank or a backslash"
	case strings.ContainsAny(text, "?#"):
		return b, "has a query or fragment; write only host, port and path"
	case strings.Contains(text, "%"):
		return b, "contains a percent sign; write host and path unescaped, and no zone"
	}
	return parse(text)
}

// parse reads [scheme://]host[:port][/path]. The problem says how the text was read.
func parse(text string) (t Base, problem string) {
	rest := text
	t.Scheme = "https"
	if scheme, after, ok := strings.Cut(text, "://"); ok {
		switch strings.ToLower(scheme) {
		case "https", "oci":
		case "http":
			t.Scheme = "http"
		default:
			return t, "has the scheme " + strconv.Quote(scheme) + "; write https://, http:// or oci://"
		}
		rest = after
	} else if word := schemeWord(text); word != "" {
		return t, "was read as a host named " + strconv.Quote(word) + "; write " + word + ":// with a colon and two slashes"
	}
	authority, path, _ := strings.Cut(rest, "/")
	t.Path = TrimV2(path)
	if strings.Contains(path, "..") {
		return t, `contains ".." in its path`
	}
	if strings.Contains(authority, "@") {
		return t, "contains user information; write user name and password into auth.username and auth.password"
	}
	host, port, problem := splitAuthority(authority, egress.DefaultPort(t.Scheme))
	if problem != "" {
		return t, problem
	}
	t.Port = port
	t.Host, problem = egress.ReadHost(host)
	t.Host = APIHost(t.Host)
	return t, problem
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

func splitAuthority(authority string, standard uint16) (host string, port uint16, problem string) {
	if authority == "" {
		return "", 0, "names no host"
	}
	host, number, hasPort := authority, "", false
	if strings.HasPrefix(authority, "[") {
		end := strings.Index(authority, "]")
		if end < 0 {
			return "", 0, "opens a bracket and does not close it"
		}
		host, number = authority[:end+1], authority[end+1:]
		if number, hasPort = strings.CutPrefix(number, ":"); !hasPort && number != "" {
			return "", 0, "has text after the closing bracket"
		}
	} else if strings.Count(authority, ":") > 1 {
		return "", 0, "looks like a bare IPv6 address; write it in brackets, as in [2001:db8::1]:5000"
	} else {
		host, number, hasPort = strings.Cut(authority, ":")
	}
	if !hasPort {
		return host, standard, ""
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil || n == 0 || number[0] == '+' {
		return "", 0, "has " + strconv.Quote(number) + " where a port from 1 to 65535 belongs"
	}
	return host, uint16(n), ""
}
