package logins

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
)

// Environment variables for pipelines.
const (
	EnvServer = command.EnvPrefix + "SERVER"
	EnvAPIKey = command.EnvPrefix + "API_KEY"
	EnvCA     = command.EnvPrefix + "CA"

	EnvIDToken     = command.EnvPrefix + "ID_TOKEN" // of a platform, for a login
	EnvIDTokenFile = command.EnvPrefix + "ID_TOKEN_FILE"

	EnvContexts = command.EnvPrefix + "CONTEXTS" // file of contexts

	EnvInsecureHTTP = command.EnvPrefix + "INSECURE_HTTP" // a setting of the server, too
)

// maxCA is the maximum size of the CA certificates of a server, which are stored with a login.
const maxCA = 16 << 10

// ServerURL returns the URL of a server in one spelling. Without a scheme it is https.
func ServerURL(text string) (string, error) {
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(strings.TrimSpace(text))
	if err == nil {
		u = withoutConsole(u)
	}
	// The text of the error would repeat a password in the URL.
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		return "", command.AsUsage(errors.New("the server must be a URL such as https://regwarden.example.com, without credentials or " +
			"a query"))
	}
	return u.Scheme + "://" + strings.ToLower(u.Host) + strings.TrimRight(u.EscapedPath(), "/"), nil
}

// withoutConsole returns the URL of the server whose console has this URL, as people copy it from a browser.
func withoutConsole(u *url.URL) *url.URL {
	at := strings.Index(u.Path+"/", "/console/")
	if at < 0 || u.RawPath != "" {
		return u
	}
	return &url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host, Path: u.Path[:at]}
}

// CheckEncrypted refuses a server to which credentials would be sent without encryption.
func CheckEncrypted(server, allow string) error {
	u, err := url.Parse(server)
	if err != nil {
		return err
	}
	addr, err := netip.ParseAddr(u.Hostname())
	if u.Scheme == "https" || u.Hostname() == "localhost" || err == nil && addr.Unmap().IsLoopback() {
		return nil
	}
	return command.AsUsage(fmt.Errorf("credentials would cross the network to %s unencrypted; use https://, or allow it with %s", server,
		allow))
}

// ReadCA reads CA certificates. source is the flag or the variable that names the file.
func ReadCA(source, file string) (string, error) {
	if file == "" {
		return "", nil
	}
	data, err := os.ReadFile(file) // #nosec G304 G703 -- a file of the user
	switch {
	case err != nil:
		return "", command.AsUsage(fmt.Errorf("%s: %w", source, err))
	case len(data) > maxCA:
		return "", command.AsUsage(fmt.Errorf("%s must be at most %d KiB; give only the certificate of the server's CA", source, maxCA>>10))
	case !x509.NewCertPool().AppendCertsFromPEM(data):
		return "", command.AsUsage(fmt.Errorf("%s must contain a PEM certificate", source))
	}
	return string(data), nil
}

// Trust says what to do about the certificate of a server that is not trusted.
type Trust struct {
	Given string // the CA that was used, such as "the certificate in --ca"; empty for none but the system's
	Next  string // what to do
}

// ExplainConnection describes why there is no connection, or none with TLS.
func ExplainConnection(err error, server string, trust Trust) error {
	if errors.Is(err, client.ErrSpeaksTLS) {
		return fmt.Errorf("%s speaks TLS on this port; use %s", server, strings.Replace(server, "http://", "https://", 1))
	}
	if _, plain := errors.AsType[tls.RecordHeaderError](err); plain || errors.Is(err, http.ErrSchemeMismatch) {
		return fmt.Errorf("%s does not serve TLS; if it is meant to be used without, write http://", server)
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return fmt.Errorf("cannot connect to %s: %w; check the URL, and that the server is running", server, dial.Err)
	}
	failed, ok := errors.AsType[*tls.CertificateVerificationError](err)
	if !ok {
		return err
	}
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); unknown && trust.Given != "" {
		return fmt.Errorf("the certificate of %s is not signed by %s, but by %s; %s", server, trust.Given, issuer(failed), trust.Next)
	} else if unknown {
		return fmt.Errorf("the certificate of %s is not signed by a CA that this machine trusts; %s", server, trust.Next)
	}
	return fmt.Errorf("the certificate of %s cannot be used: %s", server, strings.TrimPrefix(failed.Err.Error(), "x509: "))
}

// issuer names what signed the certificate of a server.
func issuer(failed *tls.CertificateVerificationError) string {
	if len(failed.UnverifiedCertificates) == 0 {
		return "another one"
	}
	return strconv.Quote(failed.UnverifiedCertificates[len(failed.UnverifiedCertificates)-1].Issuer.String())
}

// InsecureHTTP reports whether the environment allows credentials without encryption, as for the server.
func InsecureHTTP() bool {
	allowed, err := strconv.ParseBool(os.Getenv(EnvInsecureHTTP))
	return err == nil && allowed
}
