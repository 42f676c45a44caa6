package clouds

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/regwarden/regwarden/internal/cloudtest"
	"github.com/regwarden/regwarden/internal/needs"
)

const tenant = "11111111-2222-3333-4444-555555555555"

// startMachine serves all providers, and the services of a machine without TLS. The client finds every host there, as the clients of
// vendors in another process do by the address of the machine's services.
func startMachine(t *testing.T) (clouds *cloudtest.Clouds, client *http.Client, machine string) {
	t.Helper()
	clouds, client = start(t)
	all := []string{"ecr:GetAuthorizationToken"}
	clouds.Machine = &cloudtest.Machine{Clouds: clouds, PodToken: "pod-token-of-the-agent", PodRole: podRole, InstanceRole: podRole,
		GoogleAccount: "pull@p.iam.gserviceaccount.com", AzureTenant: tenant, AzureIDs: []string{"puller"}}
	trust := func(audience string) map[string]cloudtest.Trust {
		return map[string]cloudtest.Trust{issuer: {Issuer: issuer, Key: &key.PublicKey, Audience: audience}}
	}
	clouds.AWS.Roles[podRole] = cloudtest.AWSRole{Trusts: []string{podName}, Account: "123456789012", Actions: all}
	clouds.AWS.Tokens, clouds.Azure.Clusters = trust("sts.amazonaws.com"), trust("api://AzureADTokenExchange")
	clouds.Google.Pools = map[string]cloudtest.Trust{pool: {Issuer: issuer, Key: &key.PublicKey, Audience: "https:" + pool}}
	clouds.Google.Accounts["pod@p.iam.gserviceaccount.com"] = cloudtest.GoogleAccount{Trusts: []string{podName}}
	clouds.Azure.Tenants[tenant]["pod"] = cloudtest.AzureClient{Subject: podName}
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/credentials" {
			r.Host = cloudtest.PodAgent // which other processes cannot reach
		}
		clouds.Machine.ServeHTTP(w, r)
	}))
	t.Cleanup(plain.Close)
	machine = plain.Listener.Addr().String()
	transport, _ := client.Transport.(*http.Transport)
	secure := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasSuffix(address, ":443") {
			return secure(ctx, network, address)
		}
		return new(net.Dialer).DialContext(ctx, network, machine)
	}
	return clouds, client, machine
}

// file returns the path of a new file.
func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// The identities that a program has on a machine of AWS are those that AWS' own client gets there, and refused to it where they are to us.
func TestAWSMachine(t *testing.T) {
	clouds, client, _ := startMachine(t)
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "") // of the machine that runs the test
	noRetry := func() aws.Retryer { return aws.NopRetryer{} }
	metadata := imds.New(imds.Options{HTTPClient: client, Retryer: noRetry()})
	agent := func(token string) aws.CredentialsProvider {
		return endpointcreds.New("http://"+cloudtest.PodAgent+"/v1/credentials", func(o *endpointcreds.Options) {
			o.HTTPClient, o.AuthorizationToken, o.Retryer = client, token, noRetry()
		})
	}
	cluster := func(subject, audience string) aws.CredentialsProvider {
		c := sts.New(sts.Options{Region: "eu-west-1", HTTPClient: client, Retryer: noRetry()})
		return stscreds.NewWebIdentityRoleProvider(c, podRole, stscreds.IdentityTokenFile(file(t, clusterToken(subject, audience))))
	}
	for _, row := range []struct {
		name     string
		provider aws.CredentialsProvider
		fails    string
	}{
		{"IMDSv2", ec2rolecreds.New(func(o *ec2rolecreds.Options) { o.Client = metadata }), ""},
		{"pod identity", agent("pod-token-of-the-agent"), ""},
		{"pod identity with another token", agent("typo"), "token cannot be empty or is invalid"},
		{"web identity", cluster(podName, "sts.amazonaws.com"), ""},
		{"web identity for another audience", cluster(podName, "vault"), "InvalidIdentityToken"},
		{"web identity of another subject", cluster("another", "sts.amazonaws.com"), "AccessDenied"},
	} {
		c := config(client, "eu-west-1", "", "")
		c.Credentials = row.provider
		got, err := ecr.NewFromConfig(c).GetAuthorizationToken(t.Context(), nil)
		switch {
		case row.fails != "":
			if err == nil || !strings.Contains(err.Error(), row.fails) {
				t.Errorf("%s: %v, want %s", row.name, err, row.fails)
			}
		case err != nil:
			t.Errorf("%s: %v", row.name, err)
		default:
			accepted(t, clouds, got.AuthorizationData[0].AuthorizationToken)
		}
	}
}

// botocoreProgram prints the id of the key that botocore finds in its environment, and the type of its provider.
const botocoreProgram = `
import botocore.session
c = botocore.session.get_session().get_credentials()
print(c.method if c else "none", c.get_frozen_credentials().access_key if c else "")
`

// botocore, on which the command line of AWS is built, takes our imitations of the machine for AWS'.
func TestBotocore(t *testing.T) {
	needs.DebianPackage(t, "python3-botocore", exec.CommandContext(t.Context(), "python3", "-c", "import botocore").Run() == nil)
	_, _, machine := startMachine(t)
	for _, row := range []struct {
		want string
		env  []string
	}{
		{"iam-role ASIA", []string{"AWS_EC2_METADATA_SERVICE_ENDPOINT=http://" + machine, "AWS_METADATA_SERVICE_NUM_ATTEMPTS=1",
			"AWS_METADATA_SERVICE_TIMEOUT=60"}},
		{"container-role ASIA", []string{"AWS_CONTAINER_CREDENTIALS_FULL_URI=http://" + machine + "/v1/credentials",
			"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=" + file(t, "pod-token-of-the-agent"), "AWS_EC2_METADATA_DISABLED=true"}},
	} {
		cmd := exec.CommandContext(t.Context(), "python3", "-c", botocoreProgram)
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, row.env...)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), row.want) {
			t.Errorf("%v: %v\n%s, want %s", row.env, err, out, row.want)
		}
	}
}

func TestGoogleMachine(t *testing.T) {
	clouds, client, machine := startMachine(t)
	t.Setenv("GCE_METADATA_HOST", machine)
	token, err := google.ComputeTokenSource("").Token()
	if err != nil || !clouds.Google.Accepts("oauth2accesstoken", token.AccessToken) {
		t.Errorf("metadata: %v", err)
	}
	ctx := context.WithValue(t.Context(), oauth2.HTTPClient, client)
	for audience, fails := range map[string]string{"https:" + pool: "", "vault": "invalid_grant"} {
		var adc map[string]any
		if err := json.Unmarshal([]byte(adcFile), &adc); err != nil {
			t.Fatal(err)
		}
		adc["credential_source"] = map[string]string{"file": file(t, clusterToken(podName, audience))}
		text, err := json.Marshal(adc)
		if err != nil {
			t.Fatal(err)
		}
		c, err := google.CredentialsFromJSONWithType(ctx, text, google.ExternalAccount, "https://www.googleapis.com/auth/cloud-platform")
		if err != nil {
			t.Fatal(err)
		}
		token, err := c.TokenSource.Token()
		if fails != "" {
			if err == nil || !strings.Contains(err.Error(), fails) {
				t.Errorf("federation for %s: %v", audience, err)
			}
		} else if err != nil || !clouds.Google.Accepts("oauth2accesstoken", token.AccessToken) {
			t.Errorf("federation: %v", err)
		}
	}
}

func TestAzureMachine(t *testing.T) {
	clouds, client, _ := startMachine(t)
	options := azcore.ClientOptions{Transport: client, Retry: policy.RetryOptions{MaxRetries: -1}}
	get := func(c azcore.TokenCredential, err error) (azcore.AccessToken, error) {
		if err != nil {
			t.Fatal(err)
		}
		return c.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{"https://containerregistry.azure.net/.default"}})
	}
	managed := func(id string) (azcore.AccessToken, error) {
		o := &azidentity.ManagedIdentityCredentialOptions{ClientOptions: options}
		if id != "" {
			o.ID = azidentity.ClientID(id)
		}
		c, err := azidentity.NewManagedIdentityCredential(o)
		return get(c, err)
	}
	federated := func(subject string) (azcore.AccessToken, error) {
		c, err := azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{ClientOptions: options,
			ClientID: "pod", TenantID: tenant, TokenFilePath: file(t, clusterToken(subject, "api://AzureADTokenExchange")),
			DisableInstanceDiscovery: true})
		return get(c, err)
	}
	want := func(name, fails string, token azcore.AccessToken, err error) {
		t.Helper()
		if fails == "" && (err != nil || token.Token == "") || fails != "" && (err == nil || !strings.Contains(err.Error(), fails)) {
			t.Errorf("%s: %v, want %q", name, err, fails)
		}
	}
	clouds.Machine.AzureIDs = []string{"puller", "old"} // before a success, which is remembered
	token, err := managed("")
	want("IMDS, two identities", "Multiple user assigned identities", token, err)
	clouds.Machine.AzureIDs = []string{"puller"}
	token, err = managed("")
	want("IMDS", "", token, err)
	token, err = managed("unknown")
	want("IMDS, another identity", "Identity not found", token, err)
	token, err = federated(podName)
	want("workload identity", "", token, err)
	token, err = federated("another")
	want("workload identity of another subject", "AADSTS", token, err)
	t.Setenv("IDENTITY_ENDPOINT", appService["IDENTITY_ENDPOINT"])
	t.Setenv("IDENTITY_HEADER", "typo")
	token, err = managed("puller")
	want("App Service, another header", "X-IDENTITY-HEADER", token, err)
	t.Setenv("IDENTITY_HEADER", appService["IDENTITY_HEADER"])
	token, err = managed("puller")
	want("App Service", "", token, err)
}
