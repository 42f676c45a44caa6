package manage

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
	"slices"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/cli/command"
)

// maxCA is the maximum size of the CA certificates of a server, which are stored with a login.
const maxCA = 16 << 10

// serverURL returns the URL of a server in one spelling. Without a scheme it is https.
func serverURL(text string) (string, error) {
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(strings.TrimSpace(text))
	// The text of the error would repeat a password in the URL.
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		return "", command.AsUsage(errors.New("the server must be a URL such as https://regwarden.example.com, without credentials or " +
			"a query"))
	}
	return u.Scheme + "://" + strings.ToLower(u.Host) + strings.TrimRight(u.EscapedPath(), "/"), nil
}

// checkEncrypted refuses a server to which credentials would be sent without encryption.
func checkEncrypted(server, allow string) error {
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

// readCA reads CA certificates. source is the flag or the variable that names the file.
func readCA(source, file string) (string, error) {
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

// explainConnection describes why there is no connection, or none with TLS. trust is what to do about an unknown CA.
func explainConnection(err error, server, trust string) error {
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
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); unknown {
		return fmt.Errorf("the certificate of %s is not signed by a CA that this machine trusts; %s", server, trust)
	}
	return fmt.Errorf("the certificate of %s cannot be used: %s", server, strings.TrimPrefix(failed.Err.Error(), "x509: "))
}

// codesOfLogin are the codes of errors about the credentials of a request.
var codesOfLogin = []string{"UnAuthorizedAccess", "InvalidRefreshToken"}

// explainServer names the next step where the server cannot be reached or does not accept the credentials.
func (c *call) explainServer(err error) error {
	if err == nil || c.login == nil {
		return err
	}
	server, again := c.login.Server, "regwarden login --context "+command.ShellQuote(c.login.Name)
	if refused, ok := errors.AsType[*api.Error](err); ok && slices.Contains(codesOfLogin, refused.Code) {
		switch {
		case c.login.Name == "":
			return fmt.Errorf("%s does not accept the key in %s: %s", server, EnvAPIKey, Shown(refused.Message))
		case c.login.APIKey != "":
			return fmt.Errorf("%s does not accept the key of the login %s: %s To give another one, run: %s --api-key-stdin",
				server, c.login.Name, Shown(refused.Message), again)
		}
		return fmt.Errorf("the login at %s as %s is no longer valid; run: %s", server, c.login.Email, again)
	}
	if c.login.Name != "" {
		return explainConnection(err, server, "name its certificate with: "+again+" --ca FILE")
	}
	return explainConnection(err, server, "name the file of its certificate in "+EnvCA)
}

// insecureHTTP reports whether the environment allows credentials without encryption, as for the server.
func insecureHTTP() bool {
	allowed, err := strconv.ParseBool(os.Getenv(envInsecureHTTP))
	return err == nil && allowed
}
