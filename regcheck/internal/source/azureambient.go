package source

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/regwarden/regwarden/regcheck/internal/message"
)

// azureIdentity is how the process gets a token of Entra ID, in the order of Azure's libraries: variables of an application, the token of
// a cluster, a managed identity.
type azureIdentity interface {
	token(ctx context.Context, call Call, now time.Time) (oauthToken, error)
	depends() []string
}

// bind implements binder.
func (z Azure) bind(a *Ambient) Source {
	if !z.Ambient {
		return z
	}
	if r := a.refuse("azure", "auth.azure"); r != nil {
		return r
	}
	z.Tenant = cmp.Or(z.Tenant, a.Getenv("AZURE_TENANT_ID"))
	z.Client = cmp.Or(z.Client, a.Getenv("AZURE_CLIENT_ID"))
	switch file, key := a.Getenv("AZURE_FEDERATED_TOKEN_FILE"), a.Getenv("AZURE_CLIENT_SECRET"); {
	case key != "":
		z.identity = azureProof{a, z, "", key}
	case file != "":
		z.identity = azureProof{a, z, file, ""}
	default:
		z.identity = managedIdentity{z.Client, a.Getenv("IDENTITY_ENDPOINT"), a.Getenv("IDENTITY_HEADER")}
	}
	return z
}

// azureProof is an application that variables name, with a secret or with the token of a cluster (RFC 7523).
type azureProof struct {
	*Ambient
	application Azure
	file        string
	key         string
}

func (p azureProof) depends() []string { return []string{"application", p.file, p.key} }

func (p azureProof) token(ctx context.Context, call Call, now time.Time) (oauthToken, error) {
	if p.application.Tenant == "" || p.application.Client == "" {
		return oauthToken{}, &Refusal{Reason: IdentityMissing, Seen: "AZURE_TENANT_ID or AZURE_CLIENT_ID is not set.",
			Hint: "Set both to the application whose secret or token file the other variables have."}
	}
	if p.file == "" {
		return p.application.token(ctx, call, url.Values{"client_secret": {p.key}}, now)
	}
	assertion, err := p.readToken(p.file)
	if err != nil {
		return oauthToken{}, err
	}
	token, err := p.application.token(ctx, call, url.Values{"client_assertion": {assertion},
		"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}}, now)
	return token, withClaims(err, assertion)
}

// notFederated is for a token of which Entra ID knows no issuer, audience or subject.
var notFederated = Refusal{Reason: TokenRejected,
	Hint: "Add a federated credential with issuer, subject and audience (api://AzureADTokenExchange) of the token to the application."}

// managedIdentity is that of a machine, or of App Service, which has an endpoint of its own.
type managedIdentity struct{ client, endpoint, header string }

func (m managedIdentity) depends() []string { return []string{"managed identity", m.endpoint} }

const azureResource = "https://containerregistry.azure.net"

func (m managedIdentity) token(ctx context.Context, call Call, now time.Time) (oauthToken, error) {
	query := url.Values{"api-version": {"2018-02-01"}, "resource": {azureResource}}
	request := &Request{Method: http.MethodGet, Local: true, Header: http.Header{"Metadata": {"true"}}}
	if m.endpoint != "" {
		query.Set("api-version", "2019-08-01")
		request.Header, request.Secret = http.Header{"X-Identity-Header": {m.header}}, []string{m.header}
	}
	if m.client != "" {
		query.Set("client_id", m.client)
	}
	if request.URL = m.target(query); request.URL == nil {
		return oauthToken{}, &Refusal{Reason: IdentityMissing, Hint: "Remove the variable, which App Service sets.",
			Seen: "IDENTITY_ENDPOINT is not an address of this machine or of a private network."}
	}
	a, err := call(ctx, request)
	if err != nil {
		return oauthToken{}, unreachableLocal(err)
	}
	token, err := readOAuthToken(request.URL.Host, a, now)
	var other struct{ Message string } // of App Service on Linux
	if e, ok := errors.AsType[*oauthError](err); ok {
		err = m.refuse(e.seen(request.URL.Host, a), e)
	} else if a.Status == http.StatusBadRequest && json.Unmarshal(a.Body, &other) == nil && other.Message != "" {
		err = m.refuse(message.Of("%s returned 400 (%s).", request.URL.Host, a.Show(other.Message)), &oauthError{})
	}
	return token, err
}

// target returns the URL of the service, nil if it is on another network. App Service on Linux has it at a private address.
func (m managedIdentity) target(query url.Values) *url.URL {
	if m.endpoint == "" {
		return metadataURL("/metadata/identity/oauth2/token", query)
	}
	target, err := url.Parse(m.endpoint)
	if err != nil || target.Scheme != "http" {
		return nil
	}
	if target.Hostname() == "localhost" {
		target.Host = "127.0.0.1:" + cmp.Or(target.Port(), "80")
	}
	address, err := netip.ParseAddr(target.Hostname())
	if err != nil || !address.IsLoopback() && !address.IsLinkLocalUnicast() && !address.IsPrivate() {
		return nil
	}
	target.RawQuery = query.Encode()
	return target
}

func (m managedIdentity) refuse(seen message.Text, e *oauthError) error {
	r := &Refusal{Reason: IdentityMissing, Seen: seen, Hint: "Assign a managed identity to the machine."}
	switch {
	case e.has("multiple user assigned"):
		r.Field, r.Hint = "auth.azure.clientId", "Set {auth.azure.clientId} to the identity to use: the machine has several."
	case m.client != "":
		r.Field, r.Hint = "auth.azure.clientId", "Assign the managed identity in {auth.azure.clientId} to the machine, or correct it."
	}
	return r
}
