package federation

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/lazyregexp"
	"github.com/regwarden/regwarden/internal/service/wording"
	"github.com/regwarden/regwarden/internal/storage/identities"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// Published is what an identity provider publishes of itself. UserInfo and Logout may be empty.
type Published struct{ Authorization, Token, UserInfo, Logout string }

// testPause is the shortest time between two tests that ask a provider.
const testPause = 3 * time.Second

// Test asks the identity provider of an organization for what a login needs: its configuration and its keys. A disabled one is asked too.
// A failure says why it cannot be used, to those who set it.
//
// Faults: NotFound without a provider.
func (s *SSO) Test(ctx context.Context, orgUID string) (published Published, failure string, err error) {
	stored, err := store.Read(ctx, s.service.db, func(tx *store.Tx) (identities.Provider, error) {
		return tx.Identities.Provider(ctx, orgUID)
	})
	if errors.Is(err, store.ErrNotFound) {
		return published, "", fault.ResourceNotFound("The organization has no identity provider.")
	}
	if err != nil {
		return published, "", fault.Wrap("test the identity provider", err)
	}
	from, issuers := s.issuerOf(stored), s.service.issuers
	fresh := issuers.get(from)
	if fresh.tried.IsZero() || issuers.now().Sub(fresh.tried) >= testPause {
		fresh = issuers.fetch(ctx, from)
	}
	if fresh.err != nil {
		return published, failureOf(fresh.err), nil
	}
	p, err := s.provider(ctx, stored)
	if err != nil {
		return published, failureOf(err), nil
	}
	return Published{p.Authorization, p.Config.Endpoint.TokenURL, p.UserInfo, p.Logout}, "", nil
}

// statusError is how the OpenID Connect library begins the error of a status.
var statusError = lazyregexp.New(`^read its configuration: ([1-5][0-9]{2}) `)

// failureOf describes why a provider cannot be used, without anything of a response: the issuer may be any server that this one reaches.
func failureOf(err error) string {
	text := err.Error()
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return unreachable(failed.Err)
	}
	if status := statusError.Get().FindStringSubmatch(text); status != nil {
		return "its configuration at /.well-known/openid-configuration is not there: the response is HTTP " + status[1]
	}
	for part, meaning := range map[string]string{
		"did not match the issuer": "its configuration names another issuer: both must be equal to the letter",
		"read its keys":            "its keys at jwks_uri cannot be read",
		"authorization_endpoint":   "its authorization_endpoint is not a URL with https",
		"token_endpoint":           "its token_endpoint is not a URL that this service may use",
	} {
		if strings.Contains(text, part) {
			return meaning
		}
	}
	return "its configuration at /.well-known/openid-configuration cannot be read"
}

// unreachable describes why a provider sent no response. The error itself has addresses of this network, such as those of its DNS servers,
// and may have text of whatever is there: a name in a certificate, or the first line of another protocol.
func unreachable(err error) string {
	if forbidden, ok := errors.AsType[*egress.Forbidden](err); ok {
		return "its address is not allowed, since " + wording.Reason(forbidden) + ". " + wording.Hint(forbidden)
	}
	timeout, ok := errors.AsType[net.Error](err)
	late := ok && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded)
	proxy, ok := errors.AsType[*egress.ProxyError](err)
	switch {
	case ok && proxy.Status != 0:
		return fmt.Sprintf("the outbound proxy did not connect to it: it returned HTTP %d", proxy.Status)
	case ok && late && proxy.Requested != "":
		return "the outbound proxy did not connect to it in time"
	case ok:
		return "the outbound proxy could not be reached, or its response is not HTTP"
	case errors.Is(err, errRedirect):
		return "its response is a redirect, which is not followed: the issuer must be exactly what the provider calls itself"
	case errors.Is(err, http.ErrSchemeMismatch):
		return "its port does not use TLS"
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok && egress.HostNotFound(err) {
		return "its host does not exist in the DNS that regwarden uses"
	} else if ok {
		return "its host could not be resolved: no DNS server responded, or one reported a failure"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "its certificate has expired, does not match the host, or is not trusted: set ca to the authority that signed it"
	}
	if late {
		return "it did not respond in time"
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return "the connection to it failed"
	}
	return "it closed the connection, or its response is not HTTP"
}
