package definitions

import (
	"strings"

	"github.com/regwarden/regwarden/regcheck"
)

// entry is a registry as a file of another program has it.
type entry struct {
	Registry
	at      Source
	address string // [scheme://]host[:port][/path]
	path    pathUse
}

// pathUse is what the path of an address is for.
type pathUse int

const (
	pathOfContent pathUse = iota
	pathOfAPI
	pathIgnored // by the consumer, which uses the host only
)

// add adds the registry, or what its address is instead of one.
func (e entry) add(s *Scanner) {
	endpoint, path, reason := readAddress(e.address)
	if reason != "" {
		s.skip(e.at, reason, "%s", addressMessages[reason])
		return
	}
	e.Sources = []Source{e.at}
	e.Definition.Endpoint = endpoint
	switch e.path {
	case pathOfContent:
		e.Definition.BaseContentPath = joinPath(path, e.Definition.BaseContentPath)
	case pathOfAPI:
		e.Definition.BasePath = joinPath(path, e.Definition.BasePath)
	}
	if e.Definition.Auth == nil {
		e.Definition.Auth = &regcheck.Auth{}
	}
	e.Notices = append(e.Notices, connectionNotices(endpoint, e.Definition.Auth.TLS)...)
	s.found(e.Registry)
}

func joinPath(a, b string) string { return strings.Trim(a+"/"+strings.Trim(b, "/"), "/") }

var addressMessages = map[SkipReason]string{
	SkipNoHost:            "The entry has no registry host.",
	SkipTemplate:          "The address is an expression, whose value is not in the file.",
	SkipUnsupportedScheme: "The scheme of the address is not https, http or oci.",
	SkipWildcard:          "The entry is for several registries. Give the registry that is used.",
}

// readAddress reads [scheme://]host[:port][/path], without a user, a query and a fragment. The reason is why it is not the address of
// a registry, "" if it is.
func readAddress(text string) (endpoint, path string, reason SkipReason) {
	scheme, rest, found := strings.Cut(strings.TrimSpace(text), "://")
	if !found {
		scheme, rest = "https", strings.TrimSpace(text)
	}
	if cut := strings.IndexAny(rest, "?#"); cut >= 0 {
		rest = rest[:cut]
	}
	host, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	host, path = strings.ToLower(host), strings.Trim(path, "/")
	switch {
	case strings.Contains(host, "*"):
		return "", "", SkipWildcard
	case host == "" || strings.ContainsAny(host, " \t\r\n\"'\\<>{}$") || strings.Trim(host, ".:") == "":
		return "", "", SkipNoHost
	}
	switch strings.ToLower(scheme) {
	case "https", "oci":
		return endpointOf(host), path, ""
	case "http":
		return "http://" + host, path, ""
	default:
		return "", "", SkipUnsupportedScheme
	}
}

// hostOf returns host[:port] of an address.
func hostOf(address string) string {
	if _, rest, found := strings.Cut(address, "://"); found {
		address = rest
	}
	host, _, _ := strings.Cut(address, "/")
	return host
}

// isECR reports whether an address is a registry of AWS, whose passwords are made with AWS credentials.
func isECR(address string) bool {
	host := hostOf(address)
	return strings.Contains(host, ".dkr.ecr") && strings.Contains(host, ".amazonaws.com") || host == "public.ecr.aws"
}

// secretNotice is for a password that is in a file of a repository. instead is what to use, as an imperative sentence.
func secretNotice(instead string) Notice {
	return Notice{NoticeSecretInRepository, "The file has the password itself, which everyone who can read the repository can use. " + instead + " Then replace the password."}
}
