package scanner

import (
	"encoding/pem"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/inspect"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/lazyregexp"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

const maxPEM = 256 << 10

// variablePattern also matches a variable that is the scheme, the host or the port of an address, but none in its user and password.
var variablePattern = lazyregexp.New(`^\$[A-Za-z_]\w*($|://)|://[\w.:-]*\$[A-Za-z_][\w.:$-]*(/|$)|%[sdvq]`)

// IsTemplate reports whether another program puts in the value before the file is used.
func IsTemplate(text string) bool {
	for _, opening := range []string{"{{", "{%", "<%", "<<", "${", "$(", "###"} {
		if strings.Contains(text, opening) {
			return true
		}
	}
	return strings.HasPrefix(text, "ref+") || strings.ContainsAny(text, "$%") && variablePattern.Get().MatchString(text) ||
		inspect.IsMarked(text)
}

// IsBase64Placeholder reports whether a text is a placeholder where base64 must be.
func IsBase64Placeholder(text string) bool { return inspect.IsBase64Placeholder(text) }

// HasVariable reports whether a text has a part such as ${NAME}, which another program replaces.
func HasVariable(text string) bool {
	_, rest, found := strings.Cut(text, "${")
	return found && strings.Contains(rest, "}")
}

// IsMask reports whether a text stands for a secret that an API does not return.
func IsMask(text string) bool {
	return len(text) >= 3 && strings.Trim(text, "*") == ""
}

// IsOneOf reports whether a text is in a list.
func IsOneOf(text string, list ...string) bool { return slices.Contains(list, text) }

// BasicAuth returns authentication with a username and a password.
func BasicAuth(username, password string) *regcheck.Auth {
	return &regcheck.Auth{Username: username, Password: secret.String(password)}
}

// ConnectionNotices returns what a definition gives up of TLS.
func ConnectionNotices(endpoint string, tls regcheck.TLS) (notices []model.Notice) {
	if strings.HasPrefix(strings.ToLower(endpoint), "http://") {
		notices = append(notices, model.Notice{Code: model.NoticePlainHTTP,
			Message: "The connection is without TLS: " + riskOfPlainHTTP})
	}
	if tls.Enabled && tls.InsecureSkipVerify {
		notices = append(notices, model.Notice{Code: model.NoticeInsecureSkipVerify,
			Message: "The certificate of the registry is not verified. Set the CA certificate instead."})
	}
	return notices
}

// SetPlainHTTP makes the definition one without TLS.
func SetPlainHTTP(r *model.Registry, consumer string) {
	r.Definition.Endpoint = "http://" + strings.TrimPrefix(r.Definition.Endpoint, "https://")
	AddNotice(r, model.NoticePlainHTTP, "%s connects without TLS: %s", consumer, riskOfPlainHTTP)
}

const (
	riskOfPlainHTTP        = "everyone on the network can read the credentials and change the content."
	riskWithoutCredentials = "everyone on the network can read and change the content."
)

// notePlainHTTP corrects the notice of a definition that has no credentials, which is known when it is complete.
func notePlainHTTP(r *model.Registry) {
	at := slices.IndexFunc(r.Notices, func(n model.Notice) bool { return n.Code == model.NoticePlainHTTP })
	if at >= 0 && r.Reason == "" && r.Definition.Auth.Type == regcheck.NoAuth {
		r.Notices = slices.Clone(r.Notices)
		r.Notices[at].Message = strings.Replace(r.Notices[at].Message, riskOfPlainHTTP, riskWithoutCredentials, 1)
	}
}

// Pem returns the certificates and private keys of a file that f names. Nothing else of the file is used, since f may name any file.
func (f *File) Pem(r *model.Registry, name string) (certificates, keys string) {
	if IsTemplate(name) {
		SetUnresolved(r, model.UnresolvedTemplate, "The name of the file %s is a template or an expression.", Shown(name))
		return "", ""
	}
	data, err := f.OnMachine(name)
	if err != nil || len(data) > maxPEM {
		SetUnresolved(r, model.UnresolvedConfigFile,
			"The file %s is not in the directory that is read. Read a directory that has it at this path.", Shown(name))
		return "", ""
	}
	certificates, keys = PemBlocks(data)
	if certificates == "" && keys == "" {
		SetUnresolved(r, model.UnresolvedConfigFile, "The file %s has no certificate and no key in PEM format.", Shown(name))
	}
	return certificates, keys
}

// PemBlocks returns the certificates and private keys of a text, without anything else that it has.
func PemBlocks(text []byte) (certificates, keys string) {
	var ofCertificates, ofKeys []byte
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		switch {
		case block.Type == "CERTIFICATE":
			ofCertificates = append(ofCertificates, pem.EncodeToMemory(block)...)
		case strings.HasSuffix(block.Type, "PRIVATE KEY"):
			ofKeys = append(ofKeys, pem.EncodeToMemory(block)...)
		}
	}
	return string(ofCertificates), string(ofKeys)
}

// Shown quotes a text of a file for a message.
func Shown(text string) string { return strconv.Quote(dockerauth.Show(text)) }

// SetAuth sets the credentials; TLS stays as it is.
func SetAuth(r *model.Registry, auth *regcheck.Auth) {
	if r.Definition.Auth != nil {
		auth.TLS = r.Definition.Auth.TLS
	}
	r.Definition.Auth = auth
}

// SetUnresolved sets what is missing. The first reason stays.
func SetUnresolved(r *model.Registry, reason model.UnresolvedReason, format string, args ...any) {
	if r.Reason == "" {
		r.Reason, r.Detail = reason, model.Detail(fmt.Sprintf(format, args...))
	}
}

// AddNotice adds a notice to a definition.
func AddNotice(r *model.Registry, code model.NoticeCode, format string, args ...any) {
	r.Notices = append(r.Notices, model.Notice{Code: code, Message: fmt.Sprintf(format, args...)})
}

// ReachedFrom adds a notice about a host that is each node of a cluster.
func ReachedFrom(r *model.Registry, host string) {
	if !isLoopback(hostname(host)) {
		return // Found notes Services
	}
	AddNotice(r, model.NoticeOnlyFromTheNode, "%s is each node of the cluster itself. Run the check on a node.", host)
}

// noteHost adds what follows from the host for every format: docker and containerd, which pulls for kubelet, treat the machine itself as a
// registry that may have no TLS, and Services are reached from their cluster only.
func noteHost(r *model.Registry) {
	host, isTLS := HostOf(r.Definition.Endpoint), strings.HasPrefix(r.Definition.Endpoint, "https://")
	switch name := hostname(host); {
	case strings.HasSuffix(name, ".svc") || strings.HasSuffix(name, ".svc.cluster.local"):
		AddNotice(r, model.NoticeOnlyFromTheCluster, "%s is a Service of the cluster. Run the check in the cluster.", host)
	case isTLS && isOfDaemon(r) && isLoopback(name) && r.Definition.Auth.TLS == (regcheck.TLS{}):
		withoutTLS(r, "docker verifies no certificate of the machine itself, and connects without TLS if the registry has none.")
	case isTLS && r.Consumer == model.Kubelet && isLoopback(name) && r.Definition.Auth.TLS == (regcheck.TLS{}) &&
		!strings.HasSuffix(host, "]"): // containerd does not recognize IPv6 without a port
		noteContainerd(r, strings.TrimPrefix(host[strings.LastIndexByte(host, ']')+1:], name))
	}
}

// noteContainerd makes a registry on the machine itself, whose host ends with a port or without one, what it is for containerd.
func noteContainerd(r *model.Registry, port string) {
	switch port {
	case ":80":
		SetPlainHTTP(r, "containerd")
	case "", ":443":
		auth := *r.Definition.Auth
		auth.TLS = regcheck.TLS{Enabled: true, InsecureSkipVerify: true}
		r.Definition.Auth = &auth
		AddNotice(r, model.NoticeInsecureSkipVerify, "containerd verifies no certificate of the machine itself.")
	default:
		withoutTLS(r, "containerd verifies no certificate of the machine itself, and connects without TLS if the registry has none.")
	}
}

// isPlaceholder reports whether a host is one of capital letters, such as HOSTNAME:5000, which some program replaces.
func isPlaceholder(host string) bool {
	name := hostname(host)
	return strings.ToUpper(name) == name && strings.ToLower(name) != name && !strings.Contains(name, ":")
}

// hostname returns a host without its port and without the brackets of IPv6.
func hostname(host string) string {
	if colon := strings.LastIndexByte(host, ':'); colon > strings.LastIndexByte(host, ']') {
		host = host[:colon]
	}
	return strings.Trim(host, "[]")
}

func isLoopback(name string) bool {
	if !strings.HasPrefix(name, "127.") && !strings.HasPrefix(name, ":") {
		return name == "localhost"
	}
	address, err := netip.ParseAddr(name)
	return err == nil && address.IsLoopback()
}

// HelmAnonymous is for a chart, whose credentials Helm has.
var HelmAnonymous = model.Notice{Code: model.NoticeNoMatchingCredentials,
	Message: "Helm takes the credentials of a chart from its own configuration (helm registry login), which is not part of this file. " +
		"The check connects without credentials."}
