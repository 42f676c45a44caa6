package regcheck

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/regwarden/regwarden/egress"
)

// origin is what may see the credentials.
type origin = egress.Origin

// target is where the API lives.
type target struct {
	origin
	path string // without slashes at the ends and without "v2"; may be empty
}

// url is a URL below the API's /v2/; rest may be empty.
func (t target) url(rest string) *url.URL {
	path := "/v2/" + rest
	if t.path != "" {
		path = "/" + t.path + path
	}
	return &url.URL{Scheme: t.Scheme, Host: t.Authority(), Path: path}
}

func (t target) String() string { return t.url("").String() }

// readBase joins endpoint and base path. Both may end in the "v2" that is ours to add.
func readBase(endpoint, basePath string, found *problems) target {
	t := readEndpoint(endpoint, found)
	base := trimV2(readPath("basePath", basePath, found))
	t.path = strings.Trim(trimV2(t.path)+"/"+base, "/")
	return t
}

// pathOfEndpoint is the path that was written into endpoint, "" for an endpoint that can't be used.
func pathOfEndpoint(endpoint string) string {
	var found problems
	return strings.Trim(trimV2(readEndpoint(endpoint, &found).path), "/")
}

// endpointAt is the definition's endpoint with its path, at another scheme, host or port.
func (p *plan) endpointAt(origin string) string {
	return strings.TrimSuffix(origin+"/"+p.endpointPath, "/")
}

func trimV2(path string) string {
	if path == "v2" {
		return ""
	}
	return strings.TrimRight(strings.TrimSuffix(path, "/v2"), "/")
}

// readPath checks and trims a path. Its spelling otherwise is for the registry to judge.
func readPath(field, value string, found *problems) string {
	path := strings.Trim(strings.TrimSpace(value), "/")
	switch {
	case len(value) > maxField:
		found.add(field, "is longer than %d bytes", maxField)
	case !utf8.ValidString(value):
		found.add(field, "is not valid UTF-8")
	case hasControl(path):
		found.add(field, "contains a control character")
	case strings.Contains(path, ".."):
		found.add(field, `contains "..", which cannot be part of a repository's name`)
	case strings.ContainsAny(path, "?#%"):
		found.add(field, `contains "?", "#" or "%%"; write the plain path`)
	}
	return path
}

func readEndpoint(value string, found *problems) target {
	text := strings.TrimSpace(value)
	problem := ""
	switch {
	case text == "":
		problem = "is required"
	case len(value) > maxEndpoint:
		problem = "is longer than 2048 bytes"
	case !utf8.ValidString(text) || hasControl(text):
		problem = "contains a control character or is not valid UTF-8"
	case strings.ContainsAny(text, " \\"):
		problem = "contains a blank or a backslash"
	case strings.ContainsAny(text, "?#"):
		problem = "has a query or fragment; write only host, port and path"
	case strings.Contains(text, "%"):
		problem = "contains a percent sign; write host and path unescaped, and no zone"
	}
	if problem != "" {
		found.add("endpoint", "%s", problem)
		return target{}
	}
	t, problem := parseEndpoint(text)
	if problem != "" {
		found.add("endpoint", "%s", problem)
	}
	return t
}

// parseEndpoint reads [scheme://]host[:port][/path]. The problem says how the text was read.
func parseEndpoint(text string) (t target, problem string) {
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
	t.path = strings.Trim(path, "/")
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
	t.Host = apiHost(t.Host)
	return t, problem
}

// apiHost: Docker Hub's three names are one registry, and only the last one serves the API.
func apiHost(host string) string {
	if host == "docker.io" || host == "index.docker.io" {
		return "registry-1.docker.io"
	}
	return host
}

// schemeWord finds "https:/host", "http//host" and the like, where the scheme would become a host.
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
