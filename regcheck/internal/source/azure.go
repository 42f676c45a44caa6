package source

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/regwarden/regwarden/regcheck/internal/endpoint"
	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/secret"
)

// AzureClient is what a token for Azure Container Registry is obtained with (auth.type azure): an application in Entra ID.
type AzureClient struct {
	TenantID     string        `json:"tenantId,omitempty"`
	ClientID     string        `json:"clientId,omitempty"`
	ClientSecret secret.String `json:"clientSecret,omitempty"`
	Ambient      bool          `json:"ambient,omitempty"` // instead of a secret: the identity of the process
}

// Serves implements Settings.
func (*AzureClient) Serves(host string) bool {
	return isACRHost(host)
}

// Source implements Settings.
func (c *AzureClient) Source(registry *url.URL, note Note) Source {
	if !isACRHost(registry.Hostname()) {
		note("endpoint", "must be a registry of Azure for {auth.type} azure, such as example.azurecr.io")
	}
	switch {
	case c.Ambient && c.ClientSecret != "":
		note("auth.azure.ambient", "cannot be combined with a secret")
	case c.Ambient:
		note("auth.azure.tenantId", endpoint.TextProblem(c.TenantID))
		note("auth.azure.clientId", endpoint.TextProblem(c.ClientID))
	default:
		required(note, "auth.azure.tenantId", c.TenantID)
		required(note, "auth.azure.clientId", c.ClientID)
		required(note, "auth.azure.clientSecret", c.ClientSecret.Reveal())
	}
	if strings.ContainsAny(c.TenantID, "/?#%") {
		note("auth.azure.tenantId", "must be the id or a domain of a tenant")
	}
	return Azure{Registry: registry, Tenant: c.TenantID, Client: c.ClientID, Secret: c.ClientSecret,
		Ambient: c.Ambient}
}

// Azure obtains a refresh token of Azure Container Registry, valid for 3 hours: a token of Microsoft Entra ID for the client, which the
// registry exchanges for its own. The registry accepts it as the password of a user whose name is a nil UUID.
type Azure struct {
	Registry *url.URL // the origin of the registry
	Tenant   string
	Client   string
	Secret   secret.String
	Ambient  bool          // the identity of the process instead of the secret; Client chooses one of several
	identity azureIdentity // that of the process, once it is bound
}

const acrUser = "00000000-0000-0000-0000-000000000000"

// entra has the hosts of Entra ID and the scope of registries, by the suffix of a registry's name.
var entra = []struct{ registry, login, scope string }{
	{".azurecr.io", "login.microsoftonline.com", "https://containerregistry.azure.net/.default"},
	{".azurecr.us", "login.microsoftonline.us", "https://containerregistry.azure.net/.default"},
	{".azurecr.cn", "login.chinacloudapi.cn", "https://containerregistry.azure.net/.default"},
}

// isACRHost reports whether the name is one of Azure Container Registry.
func isACRHost(host string) bool {
	for _, cloud := range entra {
		if strings.HasSuffix(host, cloud.registry) {
			return true
		}
	}
	return false
}

// Depends implements Source.
func (z Azure) Depends() []string {
	all := []string{"azure", z.Registry.String(), z.Tenant, z.Client, string(z.Secret)}
	if z.identity != nil {
		all = append(all, z.identity.depends()...)
	}
	return all
}

// Obtain implements Source.
func (z Azure) Obtain(ctx context.Context, call Call, now time.Time) (Credentials, error) {
	var token oauthToken
	var err error
	if z.identity != nil {
		token, err = z.identity.token(ctx, call, now)
	} else {
		token, err = z.token(ctx, call, url.Values{"client_secret": {string(z.Secret)}}, now)
	}
	if err != nil {
		return Credentials{}, err
	}
	return z.exchange(ctx, call, token.Access, now)
}

// token returns a token of Entra ID for the client, which proof authenticates.
func (z Azure) token(ctx context.Context, call Call, proof url.Values, now time.Time) (oauthToken, error) {
	login, scope := entra[0].login, entra[0].scope
	for _, cloud := range entra {
		if strings.HasSuffix(z.Registry.Hostname(), cloud.registry) {
			login, scope = cloud.login, cloud.scope
		}
	}
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {z.Client}, "scope": {scope}}
	maps.Copy(form, proof)
	request := postForm(apiURL(login, "/"+z.Tenant+"/oauth2/v2.0/token"), form)
	request.Secret = []string{proof.Get("client_secret") + proof.Get("client_assertion")} // one of them is there
	a, err := call(ctx, request)
	if err != nil {
		return oauthToken{}, err
	}
	token, err := readOAuthToken(login, a, now)
	if err != nil {
		return token, refuseEntra(login, a, err)
	}
	return token, nil
}

// exchange exchanges a token of Entra ID for one of the registry.
func (z Azure) exchange(ctx context.Context, call Call, access secret.String, now time.Time) (Credentials, error) {
	host := z.Registry.Host
	target := *z.Registry
	target.Path = "/oauth2/exchange"
	request := postForm(&target, url.Values{"grant_type": {"access_token"}, "service": {host}, "tenant": {z.Tenant},
		"access_token": {string(access)}})
	request.Secret = []string{string(access)}
	a, err := call(ctx, request)
	if err != nil {
		return Credentials{}, err
	}
	if refusal := busy(host, a); refusal != nil {
		return Credentials{}, refusal
	}
	if a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden {
		return Credentials{}, &Refusal{Reason: NotAuthorized, Field: "auth.azure.clientId",
			Seen: message.Of("%s returned %d for the token of Entra ID: %s.", host, a.Status,
				a.excerpt()),
			Hint: "Assign the application the role AcrPull on the registry (with repository permissions: Container Registry Repository " +
				"Reader). The registry must belong to the tenant of {auth.azure.tenantId}."}
	}
	var body struct {
		Refresh string `json:"refresh_token"`
	}
	if a.Status != http.StatusOK || json.Unmarshal(a.Body, &body) != nil || body.Refresh == "" {
		return Credentials{}, notAPI(host, a)
	}
	// The lifetime is in the token; registries document 3 hours.
	return Credentials{Username: acrUser, Password: secret.String(body.Refresh), Expires: now.Add(3 * time.Hour), Issuer: host}, nil
}

// refuseEntra explains an error by the number of Entra ID in its description (AADSTS…).
func refuseEntra(host string, a *Response, err error) error {
	e, ok := errors.AsType[*oauthError](err)
	if !ok {
		return err
	}
	seen := e.seen(host, a)
	for _, known := range []struct {
		number string
		Refusal
	}{
		{"AADSTS700016", Refusal{Reason: KeyUnknown, Field: "auth.azure.clientId",
			Hint: "Correct {auth.azure.clientId}, or set {auth.azure.tenantId} to the tenant of the application: this one does not " +
				"have it."}},
		{"AADSTS90002", Refusal{Reason: KeyUnknown, Field: "auth.azure.tenantId",
			Hint: "Correct {auth.azure.tenantId}: Entra ID does not have this tenant."}},
		{"AADSTS900023", Refusal{Reason: KeyUnknown, Field: "auth.azure.tenantId",
			Hint: "Correct {auth.azure.tenantId}: it is neither the id nor a domain of a tenant."}},
		{"AADSTS7000215", Refusal{Reason: SecretWrong, Field: "auth.azure.clientSecret",
			Hint: "Set {auth.azure.clientSecret} to the value of the secret; its id, which the portal shows next to it, is a UUID."}},
		{"AADSTS7000222", Refusal{Reason: KeyExpired, Field: "auth.azure.clientSecret",
			Hint: "Create a new secret of the application, and set {auth.azure.clientSecret} to it. " +
				"`az ad app credential list --id CLIENT-ID` has the dates of its secrets."}},
		{"AADSTS7000112", Refusal{Reason: NotAuthorized, Field: "auth.azure.clientId", Hint: "Enable the application in Entra ID."}},
		{"AADSTS53003", Refusal{Reason: NotAuthorized, Field: "auth.azure.clientId",
			Hint: "Allow the application in the policies for conditional access."}},
		{"AADSTS700024", Refusal{Reason: TokenRejected,
			Hint: "Check that the cluster renews the token, and correct the clock of the machine on which {program} runs."}},
		{"AADSTS700211", notFederated}, {"AADSTS700212", notFederated}, {"AADSTS700213", notFederated}, {"AADSTS70021", notFederated},
		{"AADSTS500011", Refusal{Reason: NotAuthorized, Field: "auth.azure.tenantId",
			Hint: "Correct {auth.azure.tenantId}: the tenant has no registries."}},
	} {
		// A number must not be followed by a digit: AADSTS90002 is also the beginning of AADSTS900023.
		_, after, found := strings.Cut(e.Description, known.number)
		if found && (after == "" || after[0] < '0' || after[0] > '9') {
			r := known.Refusal
			r.Seen = seen
			return &r
		}
	}
	return &Refusal{Reason: BadResponse, Field: "auth.azure", Seen: seen}
}
