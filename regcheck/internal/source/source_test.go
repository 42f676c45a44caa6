package source

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/cloudtest"
	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/secret"
)

var now = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return now }

// keys are two RSA keys, which take long to make.
var keys = sync.OnceValue(func() (pair [2]*rsa.PrivateKey) {
	for i := range pair {
		pair[i], _ = rsa.GenerateKey(rand.Reader, 2048)
	}
	return pair
})

func pemOf(key *rsa.PrivateKey) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
}

// cloud has all imitations, and sends requests to the one of their host.
type cloud struct {
	cloudtest.Clouds
	down   bool
	secret []string // of the requests
}

func newCloud() *cloud {
	c := &cloud{}
	down := func() bool { return c.down }
	all := []string{"ecr:GetAuthorizationToken", "ecr-public:GetAuthorizationToken", "sts:GetServiceBearerToken"}
	c.AWS = &cloudtest.AWS{Now: clock, Down: down,
		Keys: map[string]cloudtest.AWSKey{
			"AKIAREADER":  {Secret: "reader-secret", Account: "123456789012", Actions: all},
			"AKIANOTHING": {Secret: "nothing-secret", Account: "123456789012"},
			"AKIAFOREIGN": {Secret: "foreign-secret", Account: "999999999999", Actions: all},
			"ASIAEXPIRED": {Secret: "expired-secret", Session: "expired-session", Account: "123456789012", Actions: all, Until: now},
		},
		Roles: map[string]cloudtest.AWSRole{
			"arn:aws:iam::123456789012:role/pull": {Trusts: []string{"AKIANOTHING"}, External: "org-1", Account: "123456789012",
				Actions: all},
			"arn:aws:iam::123456789012:role/empty": {Trusts: []string{"AKIANOTHING"}, Account: "123456789012"},
		}}
	c.Google = &cloudtest.Google{Now: clock, Down: down, Accounts: map[string]cloudtest.GoogleAccount{
		"pull@p.iam.gserviceaccount.com": {Keys: map[string]*rsa.PublicKey{"k1": &keys()[0].PublicKey}},
		"off@p.iam.gserviceaccount.com":  {Keys: map[string]*rsa.PublicKey{"k1": &keys()[0].PublicKey}, Disabled: true},
	}}
	c.Azure = &cloudtest.Azure{Now: clock, Down: down, Tenants: map[string]map[string]cloudtest.AzureClient{"contoso": {
		"puller": {Secret: "puller-secret"},
		"old":    {Secret: "old-secret", Until: now},
		"off":    {Secret: "off-secret", Disabled: true},
		"norole": {Secret: "norole-secret", NoRole: true},
	}}}
	c.GitHub = &cloudtest.GitHub{Now: clock, Down: down, Apps: map[string]cloudtest.GitHubApp{"7": {Key: &keys()[0].PublicKey,
		Installations: map[string]cloudtest.GitHubInstallation{
			"70": {Permissions: map[string]string{"packages": "read"}},
			"71": {Permissions: map[string]string{"contents": "read"}},
			"72": {Suspended: true, Permissions: map[string]string{"packages": "read"}},
		}}}}
	return c
}

// call is a Call. The response says when its own clock is, as HTTP does.
func (c *cloud) call(ctx context.Context, r *Request) (*Response, error) {
	request := httptest.NewRequestWithContext(ctx, r.Method, r.URL.String(), bytes.NewReader(r.Body))
	request.Header, request.Host = r.Header, r.URL.Host
	c.secret = append(c.secret, r.Secret...)
	recorder := httptest.NewRecorder()
	c.ServeHTTP(recorder, request)
	response := recorder.Result()
	body, err := io.ReadAll(response.Body)
	return &Response{Status: response.StatusCode, Header: response.Header, Body: body, Show: func(s string) string { return s }}, err
}

func ecr(host, id, key string) ECR {
	r, ok := readECRHost(host)
	if !ok {
		panic(host)
	}
	return ECR{Registry: r, AccessKey: id, Secret: secret.String(key)}
}

func googleKey(email, id string, key *rsa.PrivateKey) Google {
	text, _ := json.Marshal(map[string]string{"type": "service_account", "client_email": email, "private_key_id": id,
		"private_key": pemOf(key),
		"token_uri":   "https://attacker.example/"})
	account, err := readGoogleAccount(string(text))
	if err != nil {
		panic(err)
	}
	return Google{Account: account}
}

func acr(tenant, client, key string) Azure {
	return Azure{Registry: &url.URL{Scheme: "https", Host: "corp.azurecr.io"}, Tenant: tenant, Client: client, Secret: secret.String(key)}
}

func app(id, installation string, key *rsa.PrivateKey) GitHub {
	read, err := readGitHubKey(pemOf(key))
	if err != nil {
		panic(err)
	}
	return GitHub{"api.github.com", id, installation, read}
}

const private = "123456789012.dkr.ecr.eu-west-1.amazonaws.com"

// Credentials that a source obtains are those that the registry accepts.
func TestObtain(t *testing.T) {
	c := newCloud()
	role := ecr(private, "AKIANOTHING", "nothing-secret")
	role.Role, role.External = "arn:aws:iam::123456789012:role/pull", "org-1"
	for _, row := range []struct {
		name    string
		source  Source
		accepts func(user, password string) bool
		life    time.Duration
		account string
	}{
		{"ECR", ecr(private, "AKIAREADER", "reader-secret"), c.AWS.Accepts, 12 * time.Hour, ""},
		{"ECR with FIPS", ecr("123456789012.dkr.ecr-fips.us-east-1.amazonaws.com", "AKIAREADER", "reader-secret"), c.AWS.Accepts,
			12 * time.Hour, ""},
		{"ECR with dual stack", ecr("123456789012.dkr-ecr.us-east-1.on.aws", "AKIAREADER", "reader-secret"), c.AWS.Accepts,
			12 * time.Hour, ""},
		{"ECR Public", ecr("public.ecr.aws", "AKIAREADER", "reader-secret"), c.AWS.Accepts, 12 * time.Hour, ""},
		{"ECR of another account", ecr(private, "AKIAFOREIGN", "foreign-secret"), c.AWS.Accepts, 12 * time.Hour, "999999999999"},
		{"ECR by a role", role, c.AWS.Accepts, 15 * time.Minute, ""},
		{"Google", googleKey("pull@p.iam.gserviceaccount.com", "k1", keys()[0]), c.Google.Accepts, 3599 * time.Second, ""},
		{"Azure", acr("contoso", "puller", "puller-secret"), c.Azure.Accepts, 3 * time.Hour, ""},
		{"GitHub", app("7", "70", keys()[0]), c.GitHub.Accepts, time.Hour, ""},
	} {
		got, err := row.source.Obtain(t.Context(), c.call, now)
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		if !row.accepts(got.Username, string(got.Password)) {
			t.Errorf("%s: the registry rejects %s", row.name, got.Username)
		}
		if life := got.Expires.Sub(now); life != row.life || got.Account != row.account {
			t.Errorf("%s: valid for %v, account %q, want %v, %q", row.name, life, got.Account, row.life, row.account)
		}
	}
}

// Each refusal of a provider has the reason and the field to correct.
func TestRefusals(t *testing.T) {
	role := func(arn, external string) ECR {
		s := ecr(private, "AKIANOTHING", "nothing-secret")
		s.Role, s.External = "arn:aws:iam::123456789012:role/"+arn, external
		return s
	}
	session := ecr(private, "ASIAEXPIRED", "expired-secret")
	session.Session = "expired-session"
	otherSession := session
	otherSession.Session = "of another key"
	for _, row := range []struct {
		name   string
		source Source
		reason Reason
		field  string
		says   string        // in what was seen or in the hint
		late   time.Duration // how much the clock is behind
	}{
		{"unknown key", ecr(private, "AKIAUNKNOWN", "x"), KeyUnknown, "auth.aws.accessKey", "UnrecognizedClientException", 0},
		{"wrong secret", ecr(private, "AKIAREADER", "typo"), SecretWrong, "auth.aws.secretKey", "does not match", 0},
		{"wrong secret at ECR Public", ecr("public.ecr.aws", "AKIAREADER", "typo"), SecretWrong, "auth.aws.secretKey", "does not match", 0},
		{"clock behind at ECR", ecr(private, "AKIAREADER", "reader-secret"), ClockSkew, "", "6m0s behind", 6 * time.Minute},
		{"clock behind at STS", role("pull", "org-1"), ClockSkew, "", "6m0s behind", 6 * time.Minute},
		{"not authorized", ecr(private, "AKIANOTHING", "nothing-secret"), NotAuthorized, "auth.aws", "ecr:GetAuthorizationToken", 0},
		{"role not trusted", role("pull", "org-2"), RoleNotAssumed, "auth.aws.roleArn", "sts:AssumeRole", 0},
		{"role unknown", role("missing", ""), RoleNotAssumed, "auth.aws.roleArn", "sts:AssumeRole", 0},
		{"role without permission", role("empty", ""), NotAuthorized, "auth.aws", "ecr:GetAuthorizationToken", 0},
		{"session expired", session, KeyExpired, "auth.aws.sessionToken", "ExpiredTokenException", 0},
		{"session of another key", otherSession, KeyUnknown, "auth.aws.sessionToken", "UnrecognizedClientException", 0},

		{"Google: no account", googleKey("typo@p.iam.gserviceaccount.com", "k1", keys()[0]), KeyUnknown, "auth.gcp.serviceAccount",
			"account not found", 0},
		{"Google: disabled", googleKey("off@p.iam.gserviceaccount.com", "k1", keys()[0]), KeyExpired, "auth.gcp.serviceAccount",
			"disabled", 0},
		{"Google: deleted key", googleKey("pull@p.iam.gserviceaccount.com", "k2", keys()[0]), SecretWrong, "auth.gcp.serviceAccount",
			"Signature", 0},
		{"Google: other key", googleKey("pull@p.iam.gserviceaccount.com", "k1", keys()[1]), SecretWrong, "auth.gcp.serviceAccount",
			"Signature", 0},
		{"Google: clock behind", googleKey("pull@p.iam.gserviceaccount.com", "k1", keys()[0]), ClockSkew, "", "2h0m0s behind",
			2 * time.Hour},

		{"Azure: no tenant", acr("typo", "puller", "puller-secret"), KeyUnknown, "auth.azure.tenantId", "AADSTS90002", 0},
		{"Azure: no client", acr("contoso", "typo", "x"), KeyUnknown, "auth.azure.clientId", "AADSTS700016", 0},
		{"Azure: wrong secret", acr("contoso", "puller", "typo"), SecretWrong, "auth.azure.clientSecret", "AADSTS7000215", 0},
		{"Azure: expired secret", acr("contoso", "old", "old-secret"), KeyExpired, "auth.azure.clientSecret", "AADSTS7000222", 0},
		{"Azure: disabled", acr("contoso", "off", "off-secret"), NotAuthorized, "auth.azure.clientId", "AADSTS7000112", 0},
		{"Azure: no role", acr("contoso", "norole", "norole-secret"), NotAuthorized, "auth.azure.clientId", "AcrPull", 0},

		{"GitHub: no app", app("8", "70", keys()[0]), KeyUnknown, "auth.github.appId", "Integration not found", 0},
		{"GitHub: other key", app("7", "70", keys()[1]), SecretWrong, "auth.github.privateKey", "could not be decoded", 0},
		{"GitHub: no installation", app("7", "99", keys()[0]), KeyUnknown, "auth.github.installationId", "Not Found", 0},
		{"GitHub: suspended", app("7", "72", keys()[0]), NotAuthorized, "auth.github.installationId", "suspended", 0},
		{"GitHub: no packages", app("7", "71", keys()[0]), NotAuthorized, "auth.github.appId", "Packages", 0},
		{"GitHub: clock behind", app("7", "70", keys()[0]), ClockSkew, "", "20m0s behind", 20 * time.Minute},
	} {
		_, err := row.source.Obtain(t.Context(), newCloud().call, now.Add(-row.late))
		r, ok := errors.AsType[*Refusal](err)
		if !ok {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		text := r.Error() + " " + string(r.Hint)
		if r.Reason != row.reason || r.Field != row.field || !strings.Contains(text, row.says) || r.Retry {
			t.Errorf("%s: %s, field %q, retry %v: %s", row.name, r.Reason, r.Field, r.Retry, text)
		}
	}
}

func allSources() map[string]Source {
	role := ecr(private, "AKIANOTHING", "nothing-secret")
	role.Role = "arn:aws:iam::123456789012:role/empty"
	return map[string]Source{"ECR": ecr(private, "AKIAREADER", "reader-secret"), "role": role,
		"Google": googleKey("pull@p.iam.gserviceaccount.com", "k1", keys()[0]), "Azure": acr("contoso", "puller",
			"puller-secret"), "GitHub": app("7", "70", keys()[0])}
}

// A provider that is down says nothing about the definition.
func TestProviderIsDown(t *testing.T) {
	c := newCloud()
	c.down = true
	for name, s := range allSources() {
		_, err := s.Obtain(t.Context(), c.call, now)
		if r, ok := errors.AsType[*Refusal](err); !ok || r.Reason != Unavailable || !r.Retry {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A provider that limits requests, or does not reach the issuer of a token, is asked again. A missing permission remains one.
func TestTemporaryRefusals(t *testing.T) {
	const (
		github = `{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}`
		aws    = `<ErrorResponse><Error><Code>IDPCommunicationError</Code><Message>timeout</Message></Error></ErrorResponse>`
	)
	gitHub := func(a *Response) *Refusal { return GitHub{API: "api.github.com"}.refuse(a, now) }
	sts := func(a *Response) *Refusal { return awsKey{}.refuse("sts.eu-west-1.amazonaws.com", a, now) }
	for name, row := range map[string]struct {
		refuse func(*Response) *Refusal
		status int
		header http.Header
		body   string
		want   Reason
	}{
		"secondary limit":      {gitHub, 403, http.Header{"X-Ratelimit-Remaining": {"4999"}}, github, Unavailable},
		"limit with a time":    {gitHub, 403, http.Header{"Retry-After": {"60"}}, `{"message":"Wait."}`, Unavailable},
		"no requests left":     {gitHub, 403, http.Header{"X-Ratelimit-Remaining": {"0"}}, `{"message":"Wait."}`, Unavailable},
		"missing permission":   {gitHub, 403, nil, `{"message":"Resource not accessible by integration"}`, NotAuthorized},
		"issuer not reachable": {sts, 400, nil, aws, Unavailable},
	} {
		r := row.refuse(&Response{Status: row.status, Header: row.header, Body: []byte(row.body), Show: strings.TrimSpace})
		if r.Reason != row.want || r.Retry != (row.want == Unavailable) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// What is sent as a secret is known to the caller, who masks it in responses.
func TestRequestsNameTheirSecrets(t *testing.T) {
	for name, s := range allSources() {
		c := newCloud()
		_, _ = s.Obtain(t.Context(), c.call, now)
		if len(c.secret) == 0 {
			t.Errorf("%s: no secret is named", name)
		}
	}
}

func FuzzResponses(f *testing.F) {
	f.Add(200, []byte(`{"authorizationData":[{"authorizationToken":"QVdTOng=","expiresAt":1,"proxyEndpoint":"x"}]}`))
	f.Add(400, []byte(`{"__type":"a#b","message":"m"}`))
	f.Add(403, []byte(`<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>`))
	f.Add(200, []byte(`{"access_token":"t","expires_in":1e300,"refresh_token":"r","token":"t","permissions":{}}`))
	f.Add(401, []byte(`{"error":"invalid_grant","error_description":"AADSTS9"}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		call := func(context.Context, *Request) (*Response, error) {
			return &Response{Status: status, Header: http.Header{}, Body: body, Show: func(s string) string { return s }}, nil
		}
		for name, s := range allSources() {
			got, err := s.Obtain(context.Background(), call, now)
			_, refused := errors.AsType[*Refusal](err)
			if err != nil && !refused {
				t.Fatalf("%s: a response is an error: %v", name, err)
			}
			if err == nil && got.Password == "" {
				t.Fatalf("%s: no password and no refusal", name)
			}
		}
	})
}

// checkNotes compares the fields in which settings have a problem.
func checkNotes(t *testing.T, s Settings, registry *url.URL, want []string) {
	t.Helper()
	var noted []string
	s.Source(registry, func(field string, problem message.Text) {
		if problem != "" {
			noted = append(noted, field)
		}
	})
	if !slices.Equal(noted, want) {
		t.Errorf("%+v: problems of %v, want %v", s, noted, want)
	}
}
