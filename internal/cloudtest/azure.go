package cloudtest

import (
	"net/http"
	"strings"
	"time"
)

// Azure imitates the token endpoint of Entra ID, and the exchange of its tokens at registries.
type Azure struct {
	Now     func() time.Time
	Tenants map[string]map[string]AzureClient // by tenant and client id
	Down    func() bool

	Clusters map[string]Trust    // by issuer
	Tokens   map[string]ACRToken // of the registry, by name

	access  issued
	refresh issued
	bearers issued
}

// AzureClient is an application.
type AzureClient struct {
	Secret   string
	Until    time.Time // of the secret
	Disabled bool
	NoRole   bool   // without AcrPull
	Subject  string // of tokens of Azure.Clusters, with which it is federated
}

// Accepts reports whether a registry accepts a username and password.
func (z *Azure) Accepts(user, password string) bool {
	return user == acrUser && z.refresh.valid(password, z.Now())
}

func (z *Azure) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if z.Down != nil && z.Down() {
		http.Error(w, "busy", http.StatusServiceUnavailable)
		return
	}
	tenant, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/oauth2/exchange":
		z.exchange(w, r)
	case r.URL.Path == "/oauth2/token":
		z.bearer(w, r)
	case rest == "v2.0/.well-known/openid-configuration":
		z.discovery(w, r, tenant)
	case rest == "oauth2/v2.0/token" && r.Method == http.MethodPost:
		z.token(w, r, tenant)
	default:
		http.NotFound(w, r)
	}
}

// discovery is what Microsoft's libraries read first (OpenID Connect Discovery section 4).
func (z *Azure) discovery(w http.ResponseWriter, r *http.Request, tenant string) {
	base := "https://" + r.Host + "/" + tenant
	respond(w, z.Now(), http.StatusOK, map[string]string{"issuer": base + "/v2.0", "token_endpoint": base + "/oauth2/v2.0/token",
		"authorization_endpoint": base + "/oauth2/v2.0/authorize"})
}

func (z *Azure) token(w http.ResponseWriter, r *http.Request, tenant string) {
	now := z.Now()
	fail := func(status int, code, description string) {
		respond(w, now, status, map[string]string{"error": code,
			"error_description": description + " Trace ID: 0 Correlation ID: 0 Timestamp: " + now.String()})
	}
	clients, known := z.Tenants[tenant]
	client, registered := clients[r.PostFormValue("client_id")]
	switch {
	case !known:
		fail(http.StatusBadRequest, "invalid_request", "AADSTS90002: Tenant '"+tenant+"' not found.")
	case r.PostFormValue("grant_type") != "client_credentials":
		fail(http.StatusBadRequest, "unsupported_grant_type", "AADSTS70003: The app requested an unsupported grant type.")
	case !registered:
		fail(http.StatusBadRequest, "unauthorized_client",
			"AADSTS700016: Application with identifier '"+r.PostFormValue("client_id")+"' was not found in the directory.")
	case r.PostFormValue("client_assertion") != "":
		if number, text := z.federated(client, r); number != "" {
			fail(http.StatusBadRequest, "invalid_client", number+": "+text)
			return
		}
		z.issue(w, client)
	case client.Secret != r.PostFormValue("client_secret"):
		fail(http.StatusUnauthorized, "invalid_client", "AADSTS7000215: Invalid client secret provided. "+
			"Ensure the secret being sent in the request is the client secret value, not the client secret ID.")
	case !client.Until.IsZero() && !now.Before(client.Until):
		fail(http.StatusUnauthorized, "invalid_client", "AADSTS7000222: The provided client secret keys for app '"+
			r.PostFormValue("client_id")+"' are expired. Visit the Azure portal to create new keys for your app: "+
			"https://aka.ms/NewClientSecret, or consider using certificate credentials for added security: https://aka.ms/certCreds.")
	case client.Disabled:
		fail(http.StatusBadRequest, "unauthorized_client", "AADSTS7000112: Application is disabled.")
	case !strings.Contains(r.PostFormValue("scope"), "/.default"):
		fail(http.StatusBadRequest, "invalid_scope", "AADSTS1002012: The provided value for scope is not valid.")
	default:
		z.issue(w, client)
	}
}

// issue sends an access token for a client.
func (z *Azure) issue(w http.ResponseWriter, client AzureClient) {
	respond(w, z.Now(), http.StatusOK, map[string]any{"token_type": "Bearer", "expires_in": 3599, "access_token": z.accessToken(client)})
}

func (z *Azure) accessToken(client AzureClient) string {
	prefix := "eyJ."
	if client.NoRole {
		prefix = "norole."
	}
	return z.access.add(prefix, z.Now().Add(time.Hour))
}

// federated returns why the token of a cluster is not accepted for a client.
func (z *Azure) federated(client AzureClient, r *http.Request) (number, text string) {
	const none = "No matching federated identity record found for presented assertion "
	subject, problem := verify(r.PostFormValue("client_assertion"), z.Clusters, z.Now())
	switch {
	case r.PostFormValue("client_assertion_type") != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer":
		return "AADSTS50027", "JWT token is invalid or malformed."
	case problem == expired:
		return "AADSTS700024", "Client assertion is not within its valid time range."
	case problem == wrongIssuer || problem == wrongSignature:
		return "AADSTS700211", none + "issuer."
	case problem == wrongAudience:
		return "AADSTS700212", none + "audience."
	case subject != client.Subject:
		return "AADSTS700213", none + "subject '" + subject + "'."
	}
	return "", ""
}

func (z *Azure) exchange(w http.ResponseWriter, r *http.Request) {
	now, token := z.Now(), r.PostFormValue("access_token")
	if r.PostFormValue("grant_type") != "access_token" || r.PostFormValue("service") != r.Host || !z.access.valid(token, now) ||
		strings.HasPrefix(token, "norole.") {
		respond(w, now, http.StatusUnauthorized, unauthorized)
		return
	}
	respond(w, now, http.StatusOK, map[string]string{"refresh_token": z.refresh.add("acr.", now.Add(3*time.Hour))})
}
