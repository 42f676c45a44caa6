package clouds

import (
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/cloudtest"
	"github.com/regwarden/regwarden/regcheck"
)

const (
	podRole = "arn:aws:iam::123456789012:role/pod"
	podName = "system:serviceaccount:apps:regwarden"
	issuer  = "https://oidc.eks.eu-west-1.amazonaws.com/id/1"
	tokenAt = "/var/run/secrets/token"
)

// ambientRow is a check on a machine that has an identity.
type ambientRow struct {
	row
	env    map[string]string
	file   string // at tokenAt, "" for none
	change func(*world)
}

var (
	irsa     = map[string]string{"AWS_ROLE_ARN": podRole, "AWS_WEB_IDENTITY_TOKEN_FILE": tokenAt}
	podAgent = map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://169.254.170.23/v1/credentials",
		"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": tokenAt}
)

const pool = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/k"

const adcFile = `{"type": "external_account", "audience": "` + pool + `", "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
	"token_url": "https://sts.googleapis.com/v1/token", "credential_source": {"file": "` + tokenAt + `"},
	"service_account_impersonation_url":
		"https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/pod@p.iam.gserviceaccount.com:generateAccessToken"}`

var (
	adc      = map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": "/adc.json"}
	workload = map[string]string{"AZURE_TENANT_ID": "contoso", "AZURE_CLIENT_ID": "pod", "AZURE_FEDERATED_TOKEN_FILE": tokenAt}
	// The address is that of a service on this machine, as App Service sets it; connections to it go to the imitation.
	appService = map[string]string{"IDENTITY_ENDPOINT": "http://169.254.129.2:8081/msi/token", "IDENTITY_HEADER": "identity-header"}
)

func clusterToken(subject, audience string) string {
	return cloudtest.Cluster{Issuer: issuer, Key: key}.Token(subject, audience, time.Now().Add(time.Hour))
}

func awsVariables(id, secretKey string) map[string]string {
	return map[string]string{"AWS_ACCESS_KEY_ID": id, "AWS_SECRET_ACCESS_KEY": secretKey}
}

func ambientRows() []ambientRow {
	aws := regcheck.Auth{Type: regcheck.ECR, AWS: &regcheck.AWSKey{Ambient: true}}
	google := regcheck.Auth{Type: regcheck.GCP, GCP: &regcheck.GCPKey{Ambient: true}}
	azure := regcheck.Auth{Type: regcheck.Azure, Azure: &regcheck.AzureClient{Ambient: true}}
	role2 := regcheck.Auth{Type: regcheck.ECR, AWS: &regcheck.AWSKey{Ambient: true, RoleARN: role + "2"}}
	of := func(host string, auth regcheck.Auth, name string, reason regcheck.Reason, field, hint string) row {
		return row{name, host, auth, regcheck.CodeCredentialSourceFailed, reason, field, hint}
	}
	fails := func(name string, reason regcheck.Reason, hint string) row {
		return of(private, aws, name, reason, "", hint)
	}
	works := row{host: private, auth: aws}
	return []ambientRow{
		{row: works, env: irsa, file: clusterToken(podName, "sts.amazonaws.com")},
		{row: works, env: podAgent, file: "pod-token-of-the-agent"},
		{row: works, env: awsVariables("AKIAREADER", "reader-secret-of-aws")},
		{row: row{host: private, auth: role2}, env: awsVariables("AKIANOTHING", "nothing-secret-of-aws")},
		{row: of(private, role2, "another role of the process", regcheck.ReasonRoleNotAssumed, "auth.aws.roleArn", "trust policy"),
			env: awsVariables("AKIAREADER", "reader-secret-of-aws")},
		{row: works, change: func(w *world) { w.Machine.InstanceRole = podRole }},
		{row: fails("IRSA for another audience", regcheck.ReasonIdentityToken, "OpenID Connect provider"), env: irsa,
			file: clusterToken(podName, "vault")},
		{row: fails("IRSA of another subject", regcheck.ReasonRoleNotAssumed, "subject and audience"), env: irsa,
			file: clusterToken("another", "sts.amazonaws.com")},
		{row: fails("IRSA without its file", regcheck.ReasonFileMissing, "path"), env: irsa},
		{row: fails("agent without association", regcheck.ReasonNotAuthorized, "pod identity association"), env: podAgent,
			file: "pod-token-of-the-agent", change: func(w *world) { w.Machine.PodRole = "" }},
		{row: fails("IRSA of another cluster", regcheck.ReasonIdentityToken, "OpenID Connect provider"), env: irsa,
			file: cloudtest.Cluster{Issuer: "https://other", Key: key}.Token(podName, "sts.amazonaws.com", time.Now().Add(time.Hour))},
		{row: fails("agent with another token", regcheck.ReasonNotAuthorized, "pod identity association"), env: podAgent, file: "typo"},
		{row: fails("role of the profile", regcheck.ReasonNotAuthorized, "ec2.amazonaws.com"), change: func(w *world) {
			w.Machine.InstanceRole, w.Machine.Broken = podRole, true
		}},
		{row: fails("no instance profile", regcheck.ReasonIdentityMissing, "instance profile")},
		{row: row{host: artifact, auth: google}, change: func(w *world) { w.Machine.GoogleAccount = "pull@p.iam.gserviceaccount.com" }},
		{row: row{host: artifact, auth: google}, env: adc, file: clusterToken(podName, "https:"+pool)},
		{row: of(artifact, google, "Google without an account", regcheck.ReasonIdentityMissing, "", "Attach a service account")},
		{row: of(artifact, google, "Google, account not for the pod", regcheck.ReasonNotAuthorized, "", "workloadIdentityUser"),
			change: func(w *world) {
				w.Google.Accounts["off"] = cloudtest.GoogleAccount{Disabled: true}
				w.Machine.GoogleAccount = "off"
			}},
		{row: of(artifact, google, "Google, federation for another audience", regcheck.ReasonIdentityToken, "", "workload identity pool"),
			env: adc, file: clusterToken(podName, "vault")},
		{row: of(artifact, google, "Google, federation of another subject", regcheck.ReasonNotAuthorized, "", "workloadIdentityUser"),
			env: adc, file: clusterToken("another", "https:"+pool)},
		{row: of(artifact, google, "Google, federation without the token", regcheck.ReasonFileMissing, "", "path"), env: adc},

		{row: row{host: acr, auth: azure}, change: func(w *world) { w.Machine.AzureIDs = []string{"puller"} }},
		{row: row{host: acr, auth: azure}, env: appService, change: func(w *world) { w.Machine.AzureIDs = []string{"puller"} }},
		{row: row{host: acr, auth: azure}, env: map[string]string{"AZURE_TENANT_ID": "contoso", "AZURE_CLIENT_ID": "puller",
			"AZURE_CLIENT_SECRET": "puller-secret-of-azure"}},
		{row: row{host: acr, auth: azure}, env: workload, file: clusterToken(podName, "api://AzureADTokenExchange")},
		{row: of(acr, azure, "Azure without an identity", regcheck.ReasonIdentityMissing, "", "managed identity")},
		{row: of(acr, azure, "Azure with two identities", regcheck.ReasonIdentityMissing, "auth.azure.clientId", "several"),
			change: func(w *world) { w.Machine.AzureIDs = []string{"puller", "norole"} }},
		{row: of(acr, azure, "Azure without the role", regcheck.ReasonNotAuthorized, "auth.azure.clientId", "AcrPull"),
			change: func(w *world) { w.Machine.AzureIDs = []string{"norole"} }},
		{row: of(acr, azure, "Azure, federation for another audience", regcheck.ReasonIdentityToken, "", "federated credential"),
			env: workload, file: clusterToken(podName, "vault")},
		{row: of(acr, azure, "Azure, federation of another subject", regcheck.ReasonIdentityToken, "", "federated credential"),
			env: workload, file: clusterToken("another", "api://AzureADTokenExchange")},
		{row: of(acr, azure, "Azure, federation without the token", regcheck.ReasonFileMissing, "", "path"), env: workload},
	}
}

// around is what a process has around it.
func around(env map[string]string, file string) *regcheck.Ambient {
	return &regcheck.Ambient{Clouds: []string{"aws", "gcp", "azure"}, Getenv: func(name string) string { return env[name] },
		ReadFile: func(path string) ([]byte, error) {
			if path == "/adc.json" {
				return []byte(adcFile), nil
			}
			if path != tokenAt || file == "" {
				return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
			}
			return []byte(file), nil
		}}
}

func (w *world) withMachine() {
	all := append([]string{"ecr:GetAuthorizationToken"}, pull...)
	w.AWS.Tokens = map[string]cloudtest.Trust{issuer: {Issuer: issuer, Key: &key.PublicKey, Audience: "sts.amazonaws.com"}}
	w.AWS.Roles[podRole] = cloudtest.AWSRole{Trusts: []string{podName}, Account: "123456789012", Actions: all}
	w.Machine.PodRole, w.Machine.AzureTenant = podRole, "contoso"
	w.Google.Pools = map[string]cloudtest.Trust{pool: {Issuer: issuer, Key: &key.PublicKey, Audience: "https:" + pool}}
	w.Google.Accounts["pod@p.iam.gserviceaccount.com"] = cloudtest.GoogleAccount{Trusts: []string{podName}}
	w.Azure.Clusters = map[string]cloudtest.Trust{issuer: {Issuer: issuer, Key: &key.PublicKey, Audience: "api://AzureADTokenExchange"}}
	w.Azure.Tenants["contoso"]["pod"] = cloudtest.AzureClient{Secret: "unused", Subject: podName}
}

func TestChecksWithTheIdentityOfTheMachine(t *testing.T) {
	for _, row := range ambientRows() {
		w := newWorld(t)
		w.withMachine()
		if row.change != nil {
			row.change(w)
		}
		w.checker.Ambient = around(row.env, row.file)
		report := w.check(t, row.host, row.auth)
		if report.Valid != (row.code == "") || report.Code != row.code || report.Reason != row.reason || report.Field != row.field {
			t.Errorf("%s: valid %v, %s (%s): %s", row.name, report.Valid, report.Code, report.Reason, report.Message)
		}
		if !strings.Contains(report.Hint, row.hint) {
			t.Errorf("%s: hint %q, want %q in it", row.name, report.Hint, row.hint)
		}
		if row.file != "" && strings.Contains(report.Message+report.Hint, row.file) {
			t.Errorf("%s: the report has the token", row.name)
		}
	}
}

// Without leave, nothing of the machine is used and nothing is sent to its addresses: also a registry there stays forbidden.
func TestMachineIsNotUsedWithoutLeave(t *testing.T) {
	w := newWorld(t)
	w.withMachine()
	w.Machine.InstanceRole = podRole
	auth := regcheck.Auth{Type: regcheck.ECR, AWS: &regcheck.AWSKey{Ambient: true}}
	if report := w.check(t, private, auth); report.Reason != regcheck.ReasonAmbientNotAllowed || w.AWS.Issued() != 0 {
		t.Errorf("%s (%s): %s", report.Code, report.Reason, report.Message)
	}
	w.checker.Ambient = around(nil, "")
	report := w.check(t, "http://169.254.169.254", regcheck.Auth{Type: regcheck.NoAuth})
	if report.Code != regcheck.CodeAddressForbidden {
		t.Errorf("a registry at the address of the metadata service: %s", report.Code)
	}
}
