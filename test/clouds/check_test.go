package clouds

import (
	"context"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ecr"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/cloudtest"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
	"github.com/regwarden/regwarden/test/realregistry"
	"github.com/regwarden/regwarden/test/testca"
)

const (
	private  = "123456789012.dkr.ecr.eu-west-1.amazonaws.com"
	artifact = "europe-west1-docker.pkg.dev"
	acr      = "corp.azurecr.io"

	government = "123456789012.dkr.ecr.us-gov-west-1.amazonaws.com"
	fips       = "123456789012.dkr.ecr-fips.us-gov-west-1.amazonaws.com"
	frankfurt  = "123456789012.dkr.ecr.eu-central-1.amazonaws.com"
	dualStack  = "123456789012.dkr-ecr.eu-west-1.on.aws"
	registryOf = "eu.gcr.io" // Container Registry
	residency  = "containers.corp.ghe.com"
)

// pull has the actions for content of ECR.
var pull = []string{"ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer", "ecr:ListImages"}

// registryHosts are the registries of each cloud.
var registryHosts = map[regcheck.AuthType][]string{
	regcheck.ECR:    {private, "public.ecr.aws", government, fips, frankfurt, dualStack},
	regcheck.GCP:    {artifact, registryOf},
	regcheck.Azure:  {acr},
	regcheck.GitHub: {"ghcr.io", residency},
}

// world is the clouds with a real registry behind each of their registry hosts, which accepts exactly what its cloud has issued.
type world struct {
	*cloudtest.Clouds
	checker  *regcheck.Checker
	down     atomic.Bool
	network  network
	ca       string       // PEM, of the certificate of all hosts
	denied   atomic.Bool  // registries deny everything
	replaced atomic.Bool  // another server responds to the requests for providers
	later    atomic.Int64 // how much the clock of all providers is ahead of the machine's, in nanoseconds
}

func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.later.Load())) }

// network finds every host at one listener.
type network struct{ to, machine string }

var registriesAddr, providers = netip.MustParseAddr("52.94.76.1"), netip.MustParseAddr("52.94.76.2")

func (network) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if isRegistry(host) {
		return []netip.Addr{registriesAddr}, nil
	}
	return []netip.Addr{providers}, nil
}

func isRegistry(host string) bool {
	return regcheck.ObtainedBy(strings.TrimSuffix(host, ".")) != ""
}

// DialContext connects to loopback, whatever the address is. Metadata services have a listener of their own, without TLS.
func (n network) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	if strings.HasPrefix(address, "169.254.") {
		return new(net.Dialer).DialContext(ctx, "tcp", n.machine)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", n.to)
}

// refuses is a network in which the hosts of providers refuse connections.
type refuses struct{ network }

func (r refuses) DialContext(ctx context.Context, kind, address string) (net.Conn, error) {
	if strings.HasPrefix(address, providers.String()) {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	return r.network.DialContext(ctx, kind, address)
}

// patient are limits that a busy machine does not reach.
var patient = regcheck.Limits{Total: 10 * time.Minute, Resolve: time.Minute, Connect: time.Minute, TLS: time.Minute,
	Response: 5 * time.Minute}

func newWorld(t *testing.T) *world {
	t.Helper()
	registry := realregistry.Distribution(t, realregistry.Options{})
	realregistry.Push(t, registry, realregistry.Helm, "team/app", "1.0.0")
	behind, err := url.Parse(registry.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{}
	all := append([]string{"ecr:GetAuthorizationToken", "ecr-public:GetAuthorizationToken", "sts:GetServiceBearerToken"}, pull...)
	w.Clouds = &cloudtest.Clouds{
		AWS: &cloudtest.AWS{Now: w.now, Down: w.down.Load, Keys: map[string]cloudtest.AWSKey{
			"AKIAREADER":  {Secret: "reader-secret-of-aws", Account: "123456789012", Actions: all},
			"AKIANOTHING": {Secret: "nothing-secret-of-aws", Account: "123456789012"},
			"AKIAFOREIGN": {Secret: "foreign-secret-of-aws", Account: "999999999999", Actions: all},
			"ASIASESSION": {Secret: "session-secret-of-aws", Session: "session-of-a-key", Account: "123456789012", Actions: all},
			"ASIAEXPIRED": {Secret: "expired-secret-of-aws", Session: "session-of-a-key", Account: "123456789012", Actions: all,
				Until: time.Now()},
			"AKIAOTHER":   {Secret: "other-secret-of-aws", Account: "888888888888", Actions: all},
			"AKIAPRIVATE": {Secret: "private-secret-of-aws", Account: "123456789012", Actions: all[:1]},
		}, Roles: map[string]cloudtest.AWSRole{
			role:       {Trusts: []string{"AKIANOTHING"}, External: "org-1", Account: "123456789012", Actions: all},
			role + "2": {Trusts: []string{"AKIANOTHING"}, Account: "123456789012", Actions: all},
			role + "3": {Trusts: []string{"AKIANOTHING"}, Account: "123456789012"}},
			Shares: map[string][]string{"team/app": {"999999999999"}}},
		Google: &cloudtest.Google{Now: w.now, Down: w.down.Load, Accounts: map[string]cloudtest.GoogleAccount{
			"pull@p.iam.gserviceaccount.com":  {Keys: map[string]*rsa.PublicKey{"k1": &key.PublicKey}},
			"login@p.iam.gserviceaccount.com": {Keys: map[string]*rsa.PublicKey{"k1": &key.PublicKey}, NoReader: true},
			"off@p.iam.gserviceaccount.com":   {Keys: map[string]*rsa.PublicKey{"k1": &key.PublicKey}, Disabled: true}}},
		Azure: &cloudtest.Azure{Now: w.now, Down: w.down.Load, Tenants: map[string]map[string]cloudtest.AzureClient{"contoso": {
			"puller": {Secret: "puller-secret-of-azure"}, "old": {Secret: "old-secret-of-azure", Until: time.Now()},
			"disabled": {Secret: "disabled-secret-of-azure", Disabled: true},
			"norole":   {Secret: "norole-secret-of-azure", NoRole: true}}}, Tokens: map[string]cloudtest.ACRToken{
			"reader":  {Password: "reader-secret-of-azure", Repositories: []string{"team/app"}},
			"other":   {Password: "other-secret-of-azure", Repositories: []string{"team/other"}},
			"expired": {Password: "expired-secret-of-azure", Until: time.Now(), Repositories: []string{"team/app"}},
			"off":     {Password: "off-secret-of-azure", Disabled: true, Repositories: []string{"team/app"}}}},
		GitHub: &cloudtest.GitHub{Now: w.now, Down: w.down.Load, Apps: map[string]cloudtest.GitHubApp{"7": {Key: &key.PublicKey,
			Installations: map[string]cloudtest.GitHubInstallation{"70": {Permissions: map[string]string{"packages": "read"}},
				"72": {Permissions: map[string]string{"contents": "read"}}, "73": {Suspended: true}}}},
			Tokens: map[string]cloudtest.GitHubToken{"ghp_reader_of_packages": {Scopes: []string{"read:packages"}},
				"ghp_reader_of_repositories": {Scopes: []string{"repo"}},
				"ghp_reader_without_sso":     {Scopes: []string{"read:packages"}, NoSSO: true}}},
	}
	admits := map[regcheck.AuthType]func(http.ResponseWriter, *http.Request) bool{regcheck.ECR: w.AWS.Admits,
		regcheck.GCP: w.Google.Admits, regcheck.Azure: w.Azure.Admits, regcheck.GitHub: w.GitHub.Admits}
	proxy := httputil.NewSingleHostReverseProxy(behind)
	front := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		host, _, _ := strings.Cut(r.Host, ":")
		ofRegistry := isRegistry(host) && (strings.HasPrefix(r.URL.Path, "/v2/") || r.URL.Path == "/token")
		switch admit := admits[regcheck.ObtainedBy(host)]; {
		case w.replaced.Load() && !ofRegistry:
			http.Error(rw, "<html>Captive portal</html>", http.StatusOK)
		case !ofRegistry:
			w.ServeHTTP(rw, r)
		case w.denied.Load():
			rw.Header().Set("WWW-Authenticate", `Basic realm="https://`+host+`/",service="ecr.amazonaws.com"`)
			http.Error(rw, "Not Authorized", http.StatusUnauthorized)
		case admit(rw, r):
			r.Header.Del("Authorization")
			proxy.ServeHTTP(rw, r)
		}
	})
	ca := testca.New(t, "clouds")
	hosts := []string{"api.ecr.eu-west-1.amazonaws.com", "sts.eu-west-1.amazonaws.com", "api.ecr-public.us-east-1.amazonaws.com",
		"oauth2.googleapis.com", "sts.googleapis.com", "iamcredentials.googleapis.com", "login.microsoftonline.com", "api.github.com",
		"api.corp.ghe.com", "api.ecr.us-gov-west-1.amazonaws.com", "ecr-fips.us-gov-west-1.amazonaws.com",
		"api.ecr.eu-central-1.amazonaws.com", "sts.eu-central-1.amazonaws.com", "sts.us-east-1.amazonaws.com"}
	for _, ofCloud := range registryHosts {
		hosts = append(hosts, ofCloud...)
	}
	for region, domain := range partitions {
		hosts = append(hosts, "123456789012.dkr.ecr."+region+"."+domain, "api.ecr."+region+"."+domain, "sts."+region+"."+domain)
	}
	pair := ca.Issue(t, testca.Options{Hosts: hosts})
	certificate, err := tls.X509KeyPair([]byte(pair.Certificate), []byte(pair.Key))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(front)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.StartTLS()
	t.Cleanup(server.Close)
	w.Machine = &cloudtest.Machine{Clouds: w.Clouds, PodToken: "pod-token-of-the-agent"}
	machine := httptest.NewServer(w.Clouds)
	t.Cleanup(machine.Close)
	n := network{server.Listener.Addr().String(), machine.Listener.Addr().String()}
	w.network, w.ca = n, ca.PEM()
	w.checker = &regcheck.Checker{Resolver: n, Dialer: n, Roots: ca.Pool(), Obtained: new(regcheck.CredentialCache), Limits: patient}
	return w
}

func (w *world) check(t *testing.T, host string, auth regcheck.Auth) *regcheck.Report {
	t.Helper()
	return w.checkPath(t, host, "team/app", auth)
}

func (w *world) checkPath(t *testing.T, host, path string, auth regcheck.Auth) *regcheck.Report {
	t.Helper()
	plan, problems := regcheck.Parse(regcheck.Definition{Endpoint: host, BaseContentPath: path, Auth: &auth})
	if len(problems) > 0 {
		t.Fatalf("%s: %v", host, problems)
	}
	report, err := w.checker.Check(t.Context(), plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func pemKey(key *rsa.PrivateKey) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
}

func awsAuth(id, secretKey string) regcheck.Auth {
	return regcheck.Auth{Type: regcheck.ECR, AWS: &regcheck.AWSKey{AccessKey: id, SecretKey: secret.String(secretKey)}}
}

func awsRole(externalID string) regcheck.Auth {
	a := awsAuth("AKIANOTHING", "nothing-secret-of-aws")
	a.AWS.RoleARN, a.AWS.ExternalID = role, externalID
	return a
}

func awsRoleOf(suffix string) regcheck.Auth {
	a := awsRole("")
	a.AWS.RoleARN += suffix
	return a
}

func awsSession(id, secretKey string) regcheck.Auth {
	a := awsAuth(id, secretKey)
	a.AWS.SessionToken = "session-of-a-key"
	return a
}

func gcp(email, id string) regcheck.Auth {
	file, _ := json.Marshal(map[string]string{"type": "service_account", "client_email": email, "private_key_id": id,
		"private_key": pemKey(key)})
	return regcheck.Auth{Type: regcheck.GCP, GCP: &regcheck.GCPKey{ServiceAccount: secret.String(string(file))}}
}

func azure(tenant, client, secretText string) regcheck.Auth {
	return regcheck.Auth{Type: regcheck.Azure, Azure: &regcheck.AzureClient{TenantID: tenant, ClientID: client,
		ClientSecret: secret.String(secretText)}}
}

func github(app, installation string) regcheck.Auth {
	return regcheck.Auth{Type: regcheck.GitHub, GitHub: &regcheck.GitHubApp{AppID: app, InstallationID: installation,
		PrivateKey: secret.String(pemKey(key))}}
}

// rows has definitions with the result of their check. An empty code means valid.
func rows() []row {
	return []row{
		{"ECR", private, awsAuth("AKIAREADER", "reader-secret-of-aws"), "", "", "", ""},
		{"ECR Public", "public.ecr.aws", awsAuth("AKIAREADER", "reader-secret-of-aws"), "", "", "", ""},
		{"ECR by a role", private, awsRole("org-1"), "", "", "", ""},
		{"ECR with a key of another account", private, awsAuth("AKIAFOREIGN", "foreign-secret-of-aws"), "", "", "", ""},
		{"ECR, unknown key", private, awsAuth("AKIAUNKNOWN", "unknown-secret"), regcheck.CodeCredentialSourceFailed,
			regcheck.ReasonKeyUnknown, "auth.aws.accessKey", "id"},
		{"ECR, wrong secret", private, awsAuth("AKIAREADER", "typo-in-the-secret"), regcheck.CodeCredentialSourceFailed,
			regcheck.ReasonSecretWrong, "auth.aws.secretKey", "secret"},
		{"ECR, not authorized", private, awsAuth("AKIANOTHING", "nothing-secret-of-aws"), regcheck.CodeCredentialSourceFailed,
			regcheck.ReasonNotAuthorized, "auth.aws", "ecr:GetAuthorizationToken"},
		{"ECR, wrong external id", private, awsRole("org-2"), regcheck.CodeCredentialSourceFailed, regcheck.ReasonRoleNotAssumed,
			"auth.aws.roleArn", "trust policy"},
		{"ECR, a role without a key", private, regcheck.Auth{Type: regcheck.ECR, AWS: &regcheck.AWSKey{RoleARN: role}},
			regcheck.CodeCredentialSourceFailed, regcheck.ReasonAmbientNotAllowed, "auth.aws", "Give a key"},
		{"ECR of a government", government, awsAuth("AKIAREADER", "reader-secret-of-aws"), "", "", "", ""},
		{"ECR with FIPS", fips, awsAuth("AKIAREADER", "reader-secret-of-aws"), "", "", "", ""},
		{"ECR with dual stack", dualStack, awsAuth("AKIAREADER", "reader-secret-of-aws"), "", "", "", ""},
		{"ECR by a role of another region", frankfurt, awsRole("org-1"), "", "", "", ""},
		{"ECR Public by a role", "public.ecr.aws", awsRole("org-1"), "", "", "", ""},
		{"ECR by a role without an external id", private, awsRoleOf("2"), "", "", "", ""},
		{"ECR with a temporary key", private, awsSession("ASIASESSION", "session-secret-of-aws"), "", "", "", ""},
		{"ECR, temporary key has expired", private, awsSession("ASIAEXPIRED", "expired-secret-of-aws"),
			regcheck.CodeCredentialSourceFailed, regcheck.ReasonKeyExpired, "auth.aws.sessionToken", "new"},
		{"ECR, role without permission", private, awsRoleOf("3"), regcheck.CodeCredentialSourceFailed, regcheck.ReasonNotAuthorized,
			"auth.aws", "ecr:GetAuthorizationToken"},
		{"ECR Public, not authorized", "public.ecr.aws", awsAuth("AKIAPRIVATE", "private-secret-of-aws"),
			regcheck.CodeCredentialSourceFailed, regcheck.ReasonNotAuthorized, "auth.aws", "ecr-public:GetAuthorizationToken"},
		{"Container Registry", registryOf, gcp("pull@p.iam.gserviceaccount.com", "k1"), "", "", "", ""},
		{"Google, disabled account", artifact, gcp("off@p.iam.gserviceaccount.com", "k1"), regcheck.CodeCredentialSourceFailed,
			regcheck.ReasonKeyExpired, "auth.gcp.serviceAccount", ""},
		{"Azure, no client", acr, azure("contoso", "typo", "puller-secret-of-azure"), regcheck.CodeCredentialSourceFailed,
			regcheck.ReasonKeyUnknown, "auth.azure.clientId", ""},
		{"Azure, disabled client", acr, azure("contoso", "disabled", "disabled-secret-of-azure"), regcheck.CodeCredentialSourceFailed,
			regcheck.ReasonNotAuthorized, "auth.azure.clientId", "Enable the application"},
		{"GitHub with data residency", residency, github("7", "70"), "", "", "", ""},
		{"GitHub, no permission for packages", "ghcr.io", github("7", "72"), regcheck.CodeCredentialSourceFailed,
			regcheck.ReasonNotAuthorized, "auth.github.appId", "Packages: read"},
		{"GitHub, suspended", "ghcr.io", github("7", "73"), regcheck.CodeCredentialSourceFailed, regcheck.ReasonNotAuthorized,
			"auth.github.installationId", "Unsuspend"},
		{"Google", artifact, gcp("pull@p.iam.gserviceaccount.com", "k1"), "", "", "", ""},
		{"Google, no account", artifact, gcp("typo@p.iam.gserviceaccount.com", "k1"), regcheck.CodeCredentialSourceFailed,
			regcheck.ReasonKeyUnknown, "auth.gcp.serviceAccount", "id"},
		{"Google, deleted key", artifact, gcp("pull@p.iam.gserviceaccount.com", "k2"), regcheck.CodeCredentialSourceFailed,
			regcheck.ReasonSecretWrong, "auth.gcp.serviceAccount", "secret"},
		{"Azure", acr, azure("contoso", "puller", "puller-secret-of-azure"), "", "", "", ""},
		{"Azure, no tenant", acr, azure("typo", "puller", "puller-secret-of-azure"), regcheck.CodeCredentialSourceFailed,
			regcheck.ReasonKeyUnknown, "auth.azure.tenantId", "tenant"},
		{"Azure, wrong secret", acr, azure("contoso", "puller", "typo-in-the-secret"), regcheck.CodeCredentialSourceFailed,
			regcheck.ReasonSecretWrong, "auth.azure.clientSecret", "value of the secret"},
		{"Azure, expired secret", acr, azure("contoso", "old", "old-secret-of-azure"), regcheck.CodeCredentialSourceFailed,
			regcheck.ReasonKeyExpired, "auth.azure.clientSecret", "az ad app credential list"},
		{"Azure, no role", acr, azure("contoso", "norole", "norole-secret-of-azure"), regcheck.CodeCredentialSourceFailed,
			regcheck.ReasonNotAuthorized, "auth.azure.clientId", "AcrPull"},
		{"GitHub", "ghcr.io", github("7", "70"), "", "", "", ""},
		{"GitHub, no installation", "ghcr.io", github("7", "71"), regcheck.CodeCredentialSourceFailed, regcheck.ReasonKeyUnknown,
			"auth.github.installationId", "installation"},
		{"GitHub, no app", "ghcr.io", github("8", "70"), regcheck.CodeCredentialSourceFailed, regcheck.ReasonKeyUnknown,
			"auth.github.appId", "id"},
	}
}

// deniedRows has definitions whose registry denies what it lets others read, with what is said of it.
func deniedRows() []row {
	pat := func(token string) regcheck.Auth {
		return regcheck.Auth{Type: regcheck.Basic, Username: "ada", Password: secret.String(token)}
	}
	denied := func(name, host string, auth regcheck.Auth, says string) row {
		return row{name, host, auth, regcheck.CodeAccessDenied, "", "baseContentPath", says}
	}
	return []row{
		denied("ECR, key that may log in", private, awsAuth("AKIAPRIVATE", "private-secret-of-aws"), "the action ecr:ListImages"),
		denied("ECR, repository not shared", private, awsAuth("AKIAOTHER", "other-secret-of-aws"),
			"The key belongs to account 888888888888: the policy of the repository must allow that account"),
		denied("Google, no role on the repository", artifact, gcp("login@p.iam.gserviceaccount.com", "k1"),
			"artifactregistry.repositories.downloadArtifacts"),
		{"GitHub, token of a user", "ghcr.io", pat("ghp_reader_of_packages"), "", "", "", ""},
		denied("GitHub, token without read:packages", "ghcr.io", pat("ghp_reader_of_repositories"), "the scope read:packages"),
		denied("GitHub, token without SSO", "ghcr.io", pat("ghp_reader_without_sso"), "Configure SSO"),
		{"GitHub, no token", "ghcr.io", pat("ghp_typo_in_the_secret"), regcheck.CodeAuthFailed, regcheck.ReasonRefused, "auth.password",
			"read:packages"},
	}
}

type row struct {
	name, host string
	auth       regcheck.Auth
	code       regcheck.Code
	reason     regcheck.Reason
	field      string
	hint       string
}

// The tables have enough of what works and of what fails.
func TestTablesAreLarge(t *testing.T) {
	valid, all := 0, rows()
	for _, row := range ambientRows() {
		all = append(all, row.row)
	}
	all = append(all, deniedRows()...)
	for _, row := range all {
		if row.code == "" {
			valid++
		}
	}
	t.Logf("%d rows, %d of them valid", len(all), valid)
	if len(all) < 60 || valid < 25 || len(all)-valid < 30 {
		t.Errorf("%d rows, %d of them valid", len(all), valid)
	}
}

func TestChecksWithObtainedCredentials(t *testing.T) {
	w := newWorld(t)
	for _, row := range rows() {
		report := w.check(t, row.host, row.auth)
		if report.Valid != (row.code == "") || report.Code != row.code || report.Reason != row.reason || report.Field != row.field {
			t.Errorf("%s: valid %v, %s (%s), field %q: %s", row.name, report.Valid, report.Code, report.Reason, report.Field,
				report.Message)
		}
		if !strings.Contains(report.Hint, row.hint) {
			t.Errorf("%s: hint %q, want %q in it", row.name, report.Hint, row.hint)
		}
		if row.code != "" && report.Stage != regcheck.StageCredentials {
			t.Errorf("%s: failed in %s", row.name, report.Stage)
		}
		text, err := json.Marshal(report)
		if err != nil {
			t.Fatal(err)
		}
		for _, known := range []string{"secret-of-aws", "typo-in-the-secret", "secret-of-azure", "PRIVATE KEY", "eyJ", "ya29.", "ghs_"} {
			if strings.Contains(string(text), known) {
				t.Errorf("%s: the report has %s", row.name, known)
			}
		}
	}
}

// A registry may accept what was obtained, and still not let it read: the report says what is missing there.
func TestDeniedContent(t *testing.T) {
	w := newWorld(t)
	for _, row := range deniedRows() {
		report := w.check(t, row.host, row.auth)
		if report.Code != row.code || report.Reason != row.reason || report.Field != row.field || !strings.Contains(report.Hint, row.hint) {
			t.Errorf("%s: %s (%s), field %q: %s %s", row.name, report.Code, report.Reason, report.Field, report.Message, report.Hint)
		}
		if text, err := json.Marshal(report); err != nil || strings.Contains(string(text), "ghp_") {
			t.Errorf("%s: %v, or the report has the token", row.name, err)
		}
	}
}

// ECR has a repository in one region: in another one, it says that there is none.
func TestRegionOfARepository(t *testing.T) {
	w := newWorld(t)
	w.AWS.Regions = map[string]string{"team/app": "eu-west-1"}
	auth := awsAuth("AKIAREADER", "reader-secret-of-aws")
	if report := w.checkPath(t, private, "team/app:1.0.0", auth); !report.Valid {
		t.Errorf("its region: %s", report.Message)
	}
	report := w.checkPath(t, frankfurt, "team/app:1.0.0", auth)
	if report.Code != regcheck.CodeContentNotFound || !strings.Contains(report.Hint, "eu-central-1") {
		t.Errorf("another region: %s, field %q: %s %s", report.Code, report.Field, report.Message, report.Hint)
	}
}

// Credentials are obtained once, and once more when a registry rejects them.
func TestObtainedCredentialsAreRemembered(t *testing.T) {
	w := newWorld(t)
	auth := awsAuth("AKIAREADER", "reader-secret-of-aws")
	first, second := w.check(t, private, auth), w.check(t, private, auth)
	if !first.Valid || !second.Valid || w.AWS.Issued() != 1 {
		t.Fatalf("valid %v, %v; %d passwords issued", first.Valid, second.Valid, w.AWS.Issued())
	}
	if n := stage(second, regcheck.StageCredentials).RoundTrips; n != 0 {
		t.Errorf("%d round trips for remembered credentials", n)
	}
	w.AWS.Revoke()
	if third := w.check(t, private, auth); !third.Valid || w.AWS.Issued() != 2 {
		t.Errorf("after a revocation: valid %v, %d passwords issued: %s", third.Valid, w.AWS.Issued(), third.Message)
	}
	w.later.Store(int64(13 * time.Hour))
	w.checker.Now = w.now
	if fourth := w.check(t, private, auth); !fourth.Valid || w.AWS.Issued() != 3 {
		t.Errorf("after 13 hours: valid %v, %d passwords issued: %s", fourth.Valid, w.AWS.Issued(), fourth.Message)
	}
}

// A check with remembered credentials has the round trips of one whose definition has the password.
func TestRememberedCredentialsCostNoRoundTrip(t *testing.T) {
	w := newWorld(t)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(w.ca))
	client := &http.Client{Transport: &http.Transport{DialContext: w.network.DialContext,
		TLSClientConfig: &tls.Config{RootCAs: roots}}}
	t.Cleanup(client.CloseIdleConnections)
	api := ecr.NewFromConfig(config(client, "eu-west-1", "AKIAREADER", "reader-secret-of-aws"))
	issued, err := api.GetAuthorizationToken(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := base64.StdEncoding.DecodeString(*issued.AuthorizationData[0].AuthorizationToken)
	if err != nil {
		t.Fatal(err)
	}
	user, password, _ := strings.Cut(string(pair), ":")
	trips := func(auth regcheck.Auth) int {
		report := w.check(t, private, auth)
		if !report.Valid {
			t.Fatalf("%s: %s", report.Code, report.Message)
		}
		return report.RoundTrips
	}
	given := regcheck.Auth{Type: regcheck.Basic, Username: user, Password: secret.String(password)}
	obtained := awsAuth("AKIAREADER", "reader-secret-of-aws")
	first := w.check(t, private, obtained)
	basic, remembered := math.MaxInt, math.MaxInt
	for n := 0; n < 8 || n < 100 && basic != remembered; n++ { // requests that overlap on an idle machine need not on a busy one
		basic, remembered = min(basic, trips(given)), min(remembered, trips(obtained))
	}
	t.Logf("round trips: %d with the password, %d with remembered credentials, %d when they are obtained", basic, remembered,
		first.RoundTrips)
	if remembered != basic {
		t.Errorf("%d round trips, want %d as with the password", remembered, basic)
	}
}

// outages are what is wrong with the provider or the machine, never with the definition.
var outages = []struct {
	name      string
	change    func(*testing.T, *world)
	reason    regcheck.Reason
	retryable bool
}{
	{"down", func(_ *testing.T, w *world) { w.down.Store(true) }, regcheck.ReasonProviderUnavailable, true},
	{"the clock of the machine is behind", func(_ *testing.T, w *world) { w.later.Store(int64(2 * time.Hour)) }, regcheck.ReasonClockSkew,
		false},
	{"a host that refuses connections", func(_ *testing.T, w *world) { w.checker.Dialer = refuses{w.network} },
		regcheck.ReasonProviderUnreachable, true},
	{"a proxy that responds in its place", func(_ *testing.T, w *world) { w.replaced.Store(true) }, regcheck.ReasonBadProviderResponse,
		false},
}

func TestOutages(t *testing.T) {
	for _, outage := range outages {
		w := newWorld(t)
		outage.change(t, w)
		for _, row := range rows() {
			clockMatters := row.host != acr // no signature
			if row.code != "" || outage.reason == regcheck.ReasonClockSkew && !clockMatters {
				continue
			}
			report := w.check(t, row.host, row.auth)
			if report.Code != regcheck.CodeCredentialSourceFailed || report.Reason != outage.reason ||
				report.Retryable != outage.retryable || report.Field != "" {
				t.Errorf("%s, %s: %s (%s), retryable %v, field %q: %s", outage.name, row.name, report.Code, report.Reason,
					report.Retryable, report.Field,
					report.Message)
			}
		}
	}
}

// A registry that rejects what was obtained has its field in auth: the definition has no password.
func TestObtainedCredentialsAreRejected(t *testing.T) {
	w := newWorld(t)
	w.denied.Store(true)
	report := w.check(t, private, awsAuth("AKIAREADER", "reader-secret-of-aws"))
	if report.Code != regcheck.CodeAuthFailed || report.Field != "auth" || strings.Contains(report.Hint, "password") {
		t.Errorf("%s, field %q: %s %s", report.Code, report.Field, report.Message, report.Hint)
	}
}

// insecureSkipVerify is about the registry. The certificate of the provider is always verified.
func TestProviderIsVerified(t *testing.T) {
	w := newWorld(t)
	w.checker.Roots = testca.New(t, "another").Pool()
	auth := azure("contoso", "puller", "puller-secret-of-azure")
	auth.TLS = regcheck.TLS{Enabled: true, InsecureSkipVerify: true}
	report := w.check(t, acr, auth)
	if report.Code != regcheck.CodeCredentialSourceFailed || report.Reason != regcheck.ReasonProviderTLS {
		t.Errorf("%s (%s): %s", report.Code, report.Reason, report.Message)
	}
}

// The egress policy applies to providers, too. The table of codes has the stage.
func TestProviderAtAForbiddenAddress(t *testing.T) {
	w := newWorld(t)
	var err error
	if w.checker.Egress, err = egress.ParsePolicy(egress.Settings{Deny: []string{providers.String()}}); err != nil {
		t.Fatal(err)
	}
	report := w.check(t, private, awsAuth("AKIAREADER", "reader-secret-of-aws"))
	all := regcheck.Entries()
	i := slices.IndexFunc(all, func(e regcheck.Entry) bool { return e.Code == regcheck.CodeAddressForbidden })
	if report.Code != all[i].Code || report.Stage != regcheck.StageCredentials || !slices.Contains(all[i].Stages, report.Stage) {
		t.Errorf("%s at %s: %s", report.Code, report.Stage, report.Message)
	}
}

// The tests above have each reason of the code.
func TestEachReasonIsProvoked(t *testing.T) {
	provoked := map[regcheck.Reason]bool{regcheck.ReasonProviderTLS: true, // TestProviderIsVerified
		regcheck.ReasonAmbientNotAllowed: true} // TestMachineIsNotUsedWithoutLeave
	for _, row := range rows() {
		provoked[row.reason] = true
	}
	for _, row := range ambientRows() {
		provoked[row.reason] = true
	}
	for _, outage := range outages {
		provoked[outage.reason] = true
	}
	for _, row := range localRows() {
		provoked[row.reason] = true
	}
	for _, e := range regcheck.Entries() {
		if e.Code == regcheck.CodeCredentialSourceFailed && !provoked[e.Reason] {
			t.Errorf("no test provokes %s", e.Reason)
		}
	}
}

func stage(r *regcheck.Report, name regcheck.Stage) regcheck.StageResult {
	for _, s := range r.Stages {
		if s.Name == name {
			return s
		}
	}
	return regcheck.StageResult{}
}
