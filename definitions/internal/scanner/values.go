package scanner

import (
	"encoding/pem"
	"slices"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/lazyregexp"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

const maxPEM = 256 << 10

var variablePattern = lazyregexp.New(`^\$[A-Za-z_][A-Za-z0-9_]*$`)

// IsTemplate reports whether another program puts in the value before the file is used.
func IsTemplate(text string) bool {
	for _, opening := range []string{"{{", "{%", "<%", "${", "$("} {
		if strings.Contains(text, opening) {
			return true
		}
	}
	return strings.HasPrefix(text, "ref+") || variablePattern.Get().MatchString(text)
}

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
			Message: "The connection is without TLS: everyone on the network can read the credentials and change the content."})
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
	AddNotice(r, model.NoticePlainHTTP, "%s connects without TLS: everyone on the network can read the credentials and change the content.",
		consumer)
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
