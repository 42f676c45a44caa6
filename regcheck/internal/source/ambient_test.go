package source

import (
	"errors"
	"io/fs"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/cloudtest"
)

const (
	podRole  = "arn:aws:iam::123456789012:role/pod"
	podName  = "system:serviceaccount:apps:regwarden"
	issuer   = "https://oidc.eks.eu-west-1.amazonaws.com/id/1"
	tokenAt  = "/var/run/secrets/token"
	provider = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/k"
)

// machine is what a process has around it in these tests.
type machine struct {
	env   map[string]string
	files map[string]string
}

func (m machine) ambient(clouds ...string) *Ambient {
	return &Ambient{Clouds: clouds, Getenv: func(name string) string { return m.env[name] },
		ReadFile: func(path string) ([]byte, error) {
			text, ok := m.files[path]
			if !ok {
				return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
			}
			return []byte(text), nil
		}}
}

func cluster() cloudtest.Cluster { return cloudtest.Cluster{Issuer: issuer, Key: keys()[0]} }

// withCluster returns a cloud that trusts a cluster, on a machine with every identity.
func withCluster() *cloud {
	c := newCloud()
	trust := func(audience string) cloudtest.Trust {
		return cloudtest.Trust{Issuer: issuer, Key: &keys()[0].PublicKey, Audience: audience}
	}
	all := []string{"ecr:GetAuthorizationToken"}
	c.AWS.Tokens = map[string]cloudtest.Trust{issuer: trust("sts.amazonaws.com")}
	c.AWS.Roles[podRole] = cloudtest.AWSRole{Trusts: []string{podName}, Account: "123456789012", Actions: all}
	c.AWS.Keys["AKIAAMBIENT"] = cloudtest.AWSKey{Secret: "ambient-secret", Account: "123456789012", Actions: all}
	c.Google.Pools = map[string]cloudtest.Trust{provider: trust("https:" + provider)}
	c.Google.Accounts["pod@p.iam.gserviceaccount.com"] = cloudtest.GoogleAccount{Trusts: []string{podName}}
	c.Azure.Clusters = map[string]cloudtest.Trust{issuer: trust("api://AzureADTokenExchange")}
	c.Azure.Tenants["contoso"]["pod"] = cloudtest.AzureClient{Secret: "unused", Subject: podName}
	c.Machine = &cloudtest.Machine{Clouds: &c.Clouds, InstanceRole: podRole, PodRole: podRole, PodToken: "pod-token",
		GoogleAccount: "pull@p.iam.gserviceaccount.com", AzureTenant: "contoso", AzureIDs: []string{"puller"}}
	return c
}

func irsa(token string) machine {
	return machine{map[string]string{"AWS_ROLE_ARN": podRole, "AWS_WEB_IDENTITY_TOKEN_FILE": tokenAt}, map[string]string{tokenAt: token}}
}

func podIdentity(token string) machine {
	return machine{map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://169.254.170.23/v1/credentials",
		"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": tokenAt}, map[string]string{tokenAt: token}}
}

func variables(id, key string) machine {
	return machine{env: map[string]string{"AWS_ACCESS_KEY_ID": id, "AWS_SECRET_ACCESS_KEY": key}}
}

func ambientECR(role, external string) ECR {
	e := ecr(private, "", "")
	e.Role, e.External, e.Ambient = role, external, true
	return e
}

// ambientRow is a source that uses the identity of a machine.
type ambientRow struct {
	name    string
	machine machine
	source  Source
	change  func(*cloud)
	reason  Reason // "": obtained
	says    string // in what was seen or in the hint
}

func awsRows() []ambientRow {
	good := cluster().Token(podName, "sts.amazonaws.com", now.Add(time.Hour))
	plain := ambientECR("", "")
	instance := machine{}
	return []ambientRow{
		{"variables", variables("AKIAAMBIENT", "ambient-secret"), plain,
			nil, "", ""},
		{"variables with a wrong secret", variables("AKIAAMBIENT", "typo"), plain, nil, SecretWrong, "does not match"},
		{"variables without a secret", variables("AKIAAMBIENT", ""), plain, nil, IdentityMissing, "AWS_SECRET_ACCESS_KEY must be set"},
		{"variables with a tab", variables("AKIAAMBIENT", "a\tb"), plain, nil, IdentityMissing,
			"AWS_SECRET_ACCESS_KEY must not contain control characters"},
		{"web identity", irsa(good + "\n"), plain, nil, "", ""},
		{"web identity at ECR Public", irsa(good), ECR{Registry: ecrRegistry{Public: true, Region: "us-east-1", Suffix: "amazonaws.com"},
			Ambient: true}, func(c *cloud) {
			c.AWS.Roles[podRole] = cloudtest.AWSRole{Trusts: []string{podName},
				Actions: []string{"ecr-public:GetAuthorizationToken", "sts:GetServiceBearerToken"}}
		}, "", ""},
		{"web identity without its file", machine{env: irsa("").env}, plain, nil, FileMissing, tokenAt + " does not exist"},
		{"web identity with an empty file", irsa(" \n"), plain, nil, FileMissing, "has no token"},
		{"web identity without a role", machine{map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": tokenAt},
			map[string]string{tokenAt: good}}, plain, nil, IdentityMissing, "AWS_ROLE_ARN"},
		{"web identity for another audience", irsa(cluster().Token(podName, "vault", now.Add(time.Hour))), plain, nil, TokenRejected,
			`for audience "vault"`},
		{"web identity of an unknown cluster", irsa(cloudtest.Cluster{Issuer: "https://other", Key: keys()[0]}.Token(podName,
			"sts.amazonaws.com", now.Add(time.Hour))), plain, nil, TokenRejected, `issuer "https://other"`},
		{"web identity that expired", irsa(cluster().Token(podName, "sts.amazonaws.com", now)), plain, nil, TokenRejected, "Token expired"},
		{"web identity of another subject", irsa(cluster().Token("system:serviceaccount:other:x", "sts.amazonaws.com", now.Add(time.Hour))),
			plain, nil, RoleNotAssumed, `subject "system:serviceaccount:other:x"`},
		{"web identity without permission", irsa(good), plain, func(c *cloud) {
			c.AWS.Roles[podRole] = cloudtest.AWSRole{Trusts: []string{podName}, Account: "123456789012"}
		}, NotAuthorized, "ecr:GetAuthorizationToken"},

		{"pod identity", podIdentity("pod-token"), plain, nil, "", ""},
		{"pod identity without its file", machine{env: podIdentity("").env}, plain, nil, FileMissing, "does not exist"},
		{"pod identity with another token", podIdentity("typo"), plain, nil, NotAuthorized, "invalid"},
		{"pod identity without association", podIdentity("pod-token"), plain, func(c *cloud) { c.Machine.PodRole = "" }, NotAuthorized,
			"pod identity association"},
		{"pod identity at another address", machine{
			env: map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://169.254.169.254/x"}}, plain, nil,
			IdentityMissing, "not the address of an agent"},

		{"instance profile", instance, plain, nil, "", ""},
		{"no instance profile", instance, plain, func(c *cloud) { c.Machine.InstanceRole = "" }, IdentityMissing, "instance profile"},
		{"instance profile that cannot be assumed", instance, plain, func(c *cloud) { c.Machine.Broken = true }, NotAuthorized,
			"ec2.amazonaws.com"},
		{"metadata off", instance, plain, func(c *cloud) { c.Machine.Disabled = true }, IdentityMissing, "returned 403"},
		{"metadata not wanted", machine{env: map[string]string{"AWS_EC2_METADATA_DISABLED": "true"}}, plain, nil, IdentityMissing,
			"AWS_EC2_METADATA_DISABLED"},

		{"role of the definition", variables("AKIANOTHING", "nothing-secret"),
			ambientECR("arn:aws:iam::123456789012:role/pull", "org-1"), nil, "", ""},
		{"role with another external id", variables("AKIANOTHING", "nothing-secret"),
			ambientECR("arn:aws:iam::123456789012:role/pull", "org-2"), nil, RoleNotAssumed,
			"external id"},
	}
}

func TestAmbientAWS(t *testing.T) {
	testAmbient(t, "aws", awsRows(), func(c *cloud) func(user, password string) bool { return c.AWS.Accepts })
}

func testAmbient(t *testing.T, name string, rows []ambientRow, accepts func(*cloud) func(user, password string) bool) {
	for _, row := range rows {
		c := withCluster()
		if row.change != nil {
			row.change(c)
		}
		got, err := Bind(row.source, row.machine.ambient(name)).Obtain(t.Context(), c.call, now)
		if row.reason == "" {
			if err != nil || !accepts(c)(got.Username, string(got.Password)) {
				t.Errorf("%s: %q, %v", row.name, got.Username, err)
			}
			continue
		}
		r, ok := errors.AsType[*Refusal](err)
		if !ok || r.Reason != row.reason || r.Retry || !strings.Contains(r.Error()+" "+shown(r), row.says) {
			t.Errorf("%s: %v, want %s with %q", row.name, err, row.reason, row.says)
		}
		for _, secret := range c.secret {
			if ok && secret != "" && strings.Contains(r.Error(), secret) {
				t.Errorf("%s: a secret is shown", row.name)
			}
		}
	}
}

// shown is the hint of a refusal, or the usual one.
func shown(r *Refusal) string {
	hint := r.Hint
	for _, x := range Explanations() {
		if hint == "" && x.Reason == r.Reason {
			hint = x.Hint
		}
	}
	return hint.Show(func(name string) string { return name })
}

// No definition gets the identity of the process without leave, and no request is sent for it.
func TestAmbientIsAllowedByNameOnly(t *testing.T) {
	c := withCluster()
	own := acr("", "", "")
	own.Ambient = true
	for other, source := range map[string]Source{"gcp": ambientECR("", ""), "azure": Google{Ambient: true}, "aws": own} {
		for _, around := range []*Ambient{nil, {}, machine{}.ambient(other)} {
			got, err := Bind(source, around).Obtain(t.Context(), nil, now)
			if r, ok := errors.AsType[*Refusal](err); !ok || r.Reason != AmbientNotAllowed || got.Password != "" {
				t.Errorf("%+v: %v", around, err)
			}
		}
	}
	if c.AWS.Issued() != 0 {
		t.Error("a password was issued")
	}
}

// A role is assumed with the external id of the organization, whatever a definition says: otherwise one organization could name the role
// of another one that trusts this server (confused deputy).
func TestExternalIDOfTheOrganization(t *testing.T) {
	c := withCluster()
	around := variables("AKIANOTHING", "nothing-secret").ambient("aws")
	for _, row := range []struct {
		own, written string
		reason       Reason
	}{{"org-1", "", ""}, {"org-1", "org-1", ""}, {"org-2", "", RoleNotAssumed}, {"org-2", "org-1", RoleNotAssumed}} {
		around.ExternalID = row.own
		_, err := Bind(ambientECR("arn:aws:iam::123456789012:role/pull", row.written), around).Obtain(t.Context(), c.call, now)
		r, refused := errors.AsType[*Refusal](err)
		if refused != (row.reason != "") || refused && r.Reason != row.reason {
			t.Errorf("%+v: %v", row, err)
		}
	}
}

// Definitions have an access key or ask for the identity of the process, not both.
func TestAmbientExcludesAKey(t *testing.T) {
	registry := &url.URL{Scheme: "https", Host: private}
	for _, row := range []struct {
		key  AWSKey
		want []string
	}{
		{AWSKey{Ambient: true}, nil},
		{AWSKey{Ambient: true, RoleARN: podRole}, nil},
		{AWSKey{Ambient: true, AccessKey: "AKIA"}, []string{"auth.aws.ambient"}},
		{AWSKey{}, []string{"auth.aws.accessKey", "auth.aws.secretKey"}},
	} {
		checkNotes(t, &row.key, registry, row.want)
	}
	google := &url.URL{Scheme: "https", Host: "europe-west1-docker.pkg.dev"}
	checkNotes(t, &GCPKey{Ambient: true}, google, nil)
	checkNotes(t, &GCPKey{Ambient: true, ServiceAccount: "{}"}, google, []string{"auth.gcp.ambient"})
	azure := &url.URL{Scheme: "https", Host: "corp.azurecr.io"}
	checkNotes(t, &AzureClient{Ambient: true, ClientID: "puller"}, azure, nil)
	checkNotes(t, &AzureClient{Ambient: true, ClientSecret: "x"}, azure, []string{"auth.azure.ambient"})
}

// federationFile returns a file for workload identity federation, as gcloud writes it.
func federationFile(audience, account, format string) string {
	impersonation := ""
	if account != "" {
		impersonation = `"service_account_impersonation_url": "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/` +
			account + `:generateAccessToken", `
	}
	return `{"type": "external_account", "audience": "` + audience + `", "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
		"token_url": "https://sts.googleapis.com/v1/token", ` + impersonation + `"credential_source": {"file": "` + tokenAt + `"` +
		format + `}}`
}

func googleFiles(file, token string) machine {
	m := machine{map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": "/adc.json"}, map[string]string{"/adc.json": file}}
	if token != "" {
		m.files[tokenAt] = token
	}
	return m
}

func googleRows() []ambientRow {
	const pod = "pod@p.iam.gserviceaccount.com"
	own := Google{Ambient: true}
	token := func(subject, audience string) string { return cluster().Token(subject, audience, now.Add(time.Hour)) }
	good := token(podName, "https:"+provider)
	key := googleKey("pull@p.iam.gserviceaccount.com", "k1", keys()[0]).Account.original
	file := federationFile(provider, pod, "")
	return []ambientRow{
		{"metadata", machine{}, own, nil, "", ""},
		{"no service account", machine{}, own, func(c *cloud) { c.Machine.GoogleAccount = "" }, IdentityMissing,
			"Attach a service account"},
		{"account that the pod may not use", machine{}, own, func(c *cloud) { c.Machine.GoogleAccount = "off@p.iam.gserviceaccount.com" },
			NotAuthorized, "roles/iam.workloadIdentityUser"},
		{"key file", googleFiles(key, ""), own, nil, "", ""},
		{"no file", machine{env: googleFiles("", "").env}, own, nil, FileMissing, "/adc.json does not exist"},
		{"file of a user", googleFiles(`{"type": "authorized_user"}`, ""), own, nil, IdentityMissing, "external_account"},
		{"federation", googleFiles(file, good), own, nil, "", ""},
		{"federation with JSON", googleFiles(federationFile(provider, pod, `, "format": {"type": "json", "subject_token_field_name": "t"}`),
			`{"t": "`+good+`"}`), own, nil, "", ""},
		{"federation with JSON without the token", googleFiles(federationFile(provider, pod,
			`, "format": {"type": "json", "subject_token_field_name": "t"}`), `{}`), own, nil, FileMissing, `no member "t"`},
		{"federation without its token", googleFiles(file, ""), own, nil, FileMissing, tokenAt + " does not exist"},
		{"federation for another audience", googleFiles(file, token(podName, "vault")), own, nil, TokenRejected, `audience "vault"`},
		{"federation of another cluster", googleFiles(file, cloudtest.Cluster{Issuer: "https://other", Key: keys()[0]}.Token(podName,
			"https:"+provider, now.Add(time.Hour))), own, nil, TokenRejected, `issuer "https://other"`},
		{"federation with an expired token", googleFiles(file, cluster().Token(podName, "https:"+provider, now)), own, nil, TokenRejected,
			"stale"},
		{"federation without a pool", googleFiles(federationFile("//iam.googleapis.com/x", pod, ""), good), own, nil, TokenRejected,
			"enable the workload identity pool"},
		{"federation of another subject", googleFiles(file, token("another", "https:"+provider)), own, nil, NotAuthorized,
			"workloadIdentityUser on the service account " + pod},
		{"federation of an unknown account", googleFiles(federationFile(provider, "gone@p.iam.gserviceaccount.com", ""), good), own, nil,
			KeyUnknown, "service account gone@p.iam.gserviceaccount.com"},
		{"federation to another server", googleFiles(strings.Replace(file, "sts.googleapis.com", "attacker.example", 1), good), own, nil,
			IdentityMissing, "other URLs"},
		{"federation with another server's account", googleFiles(strings.Replace(file, "iamcredentials.googleapis.com",
			"attacker.example", 1), good), own, nil, IdentityMissing, "other URLs"},
	}
}

func TestAmbientGoogle(t *testing.T) {
	testAmbient(t, "gcp", googleRows(), func(c *cloud) func(user, password string) bool { return c.Google.Accepts })
}

func azureRows() []ambientRow {
	own, chosen := acr("", "", ""), acr("", "norole", "")
	own.Ambient, chosen.Ambient = true, true
	workload := func(token string) machine {
		m := machine{map[string]string{"AZURE_TENANT_ID": "contoso", "AZURE_CLIENT_ID": "pod", "AZURE_FEDERATED_TOKEN_FILE": tokenAt},
			map[string]string{tokenAt: token}}
		if token == "" {
			m.files = nil
		}
		return m
	}
	token := func(subject, audience string) string { return cluster().Token(subject, audience, now.Add(time.Hour)) }
	appService := func(endpoint, header string) machine {
		return machine{env: map[string]string{"IDENTITY_ENDPOINT": endpoint, "IDENTITY_HEADER": header}}
	}
	several := func(c *cloud) { c.Machine.AzureIDs = []string{"puller", "norole"} }
	return []ambientRow{
		{"managed identity", machine{}, own, nil, "", ""},
		{"one of several", machine{}, chosen, several, NotAuthorized, "AcrPull"},
		{"several", machine{}, own, several, IdentityMissing, "the machine has several"},
		{"none", machine{}, own, func(c *cloud) { c.Machine.AzureIDs = nil }, IdentityMissing, "Assign a managed identity"},
		{"another one", machine{}, func() Azure { z := own; z.Client = "typo"; return z }(), nil, IdentityMissing, "auth.azure.clientId"},
		{"App Service", appService("http://127.0.0.1:41741/msi/token", "identity-header"), own, nil, "", ""},
		{"Container Apps", appService("http://localhost:42356/msi/token", "identity-header"), own, nil, "", ""},
		{"App Service on Linux", appService("http://172.16.5.3:8081/msi/token", "identity-header"), own, nil, "", ""},
		{"App Service without an identity", appService("http://172.16.5.3:8081/msi/token", "identity-header"), own,
			func(c *cloud) { c.Machine.AzureIDs = nil }, IdentityMissing, "Unable to load requested managed identity"},
		{"App Service with another header", appService("http://127.0.0.1:41741/msi/token", "typo"), own, nil, IdentityMissing,
			"X-IDENTITY-HEADER"},
		{"App Service at another address", appService("http://192.0.2.1/msi/token", "x"), own, nil, IdentityMissing,
			"not an address of this machine"},
		{"variables", machine{env: map[string]string{"AZURE_TENANT_ID": "contoso", "AZURE_CLIENT_ID": "puller",
			"AZURE_CLIENT_SECRET": "puller-secret"}}, own, nil, "", ""},
		{"variables without the client", machine{env: map[string]string{"AZURE_TENANT_ID": "contoso", "AZURE_CLIENT_SECRET": "x"}},
			own, nil, IdentityMissing, "AZURE_CLIENT_ID"},
		{"workload identity", workload(token(podName, "api://AzureADTokenExchange")), own, nil, "", ""},
		{"workload identity without its file", workload(""), own, nil, FileMissing, "does not exist"},
		{"workload identity for another audience", workload(token(podName, "vault")), own, nil, TokenRejected, "AADSTS700212"},
		{"workload identity of another subject", workload(token("another", "api://AzureADTokenExchange")), own, nil, TokenRejected,
			`subject "another"`},
		{"workload identity of another cluster", workload(cloudtest.Cluster{Issuer: "https://other", Key: keys()[0]}.Token(podName,
			"api://AzureADTokenExchange", now.Add(time.Hour))), own, nil, TokenRejected, "federated credential"},
		{"workload identity that expired", workload(cluster().Token(podName, "api://AzureADTokenExchange", now)), own, nil, TokenRejected,
			"AADSTS700024"},
	}
}

func TestAmbientAzure(t *testing.T) {
	testAmbient(t, "azure", azureRows(), func(c *cloud) func(user, password string) bool { return c.Azure.Accepts })
}
