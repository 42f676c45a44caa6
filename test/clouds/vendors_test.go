// Package clouds proves that the imitations of package cloudtest are right: the clients of the vendors work with them, and see the errors
// that these document. The engine's tests rely on the imitations.
package clouds

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/ecrpublic"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/regwarden/regwarden/internal/cloudtest"
	"github.com/regwarden/regwarden/test/testca"
)

const role = "arn:aws:iam::123456789012:role/pull"

var key = func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
}()

// start serves all providers on loopback, and returns a client that finds every host there.
func start(t *testing.T) (*cloudtest.Clouds, *http.Client) {
	t.Helper()
	all := []string{"ecr:GetAuthorizationToken", "ecr-public:GetAuthorizationToken", "sts:GetServiceBearerToken"}
	clouds := &cloudtest.Clouds{
		AWS: &cloudtest.AWS{Now: time.Now, Keys: map[string]cloudtest.AWSKey{
			"AKIAREADER":  {Secret: "reader-secret", Account: "123456789012", Actions: all},
			"AKIANOTHING": {Secret: "nothing-secret", Account: "123456789012"},
		}, Roles: map[string]cloudtest.AWSRole{role: {Trusts: []string{"AKIANOTHING"}, External: "org-1", Account: "123456789012",
			Actions: all}}},
		Google: &cloudtest.Google{Now: time.Now, Accounts: map[string]cloudtest.GoogleAccount{
			"pull@p.iam.gserviceaccount.com": {Keys: map[string]*rsa.PublicKey{"k1": &key.PublicKey}}}},
		Azure: &cloudtest.Azure{Now: time.Now,
			Tenants: map[string]map[string]cloudtest.AzureClient{"11111111-2222-3333-4444-555555555555": {
				"puller": {Secret: "puller-secret"}, "old": {Secret: "old-secret", Until: time.Now()}}}},
		GitHub: &cloudtest.GitHub{Now: time.Now},
	}
	ca := testca.New(t, "clouds")
	pair := ca.Issue(t, testca.Options{Hosts: []string{"api.ecr.eu-west-1.amazonaws.com", "api.ecr-public.us-east-1.amazonaws.com",
		"sts.eu-west-1.amazonaws.com", "oauth2.googleapis.com", "sts.googleapis.com", "iamcredentials.googleapis.com",
		"login.microsoftonline.com"}})
	certificate, err := tls.X509KeyPair([]byte(pair.Certificate), []byte(pair.Key))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(clouds)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return clouds, &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool()},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
		}}}
}

// config is AWS' configuration with one attempt, so that errors come at once.
func config(client *http.Client, region, id, secret string) aws.Config {
	return aws.Config{Region: region, HTTPClient: client, Credentials: credentials.NewStaticCredentialsProvider(id, secret, ""),
		Retryer: func() aws.Retryer { return aws.NopRetryer{} }}
}

func accepted(t *testing.T, clouds *cloudtest.Clouds, token *string) {
	t.Helper()
	pair, err := base64.StdEncoding.DecodeString(aws.ToString(token))
	user, password, _ := strings.Cut(string(pair), ":")
	if err != nil || !clouds.AWS.Accepts(user, password) {
		t.Errorf("the registry rejects %q (%v)", user, err)
	}
}

func TestAWS(t *testing.T) {
	clouds, client := start(t)
	got, err := ecr.NewFromConfig(config(client, "eu-west-1", "AKIAREADER", "reader-secret")).GetAuthorizationToken(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	data := got.AuthorizationData[0]
	accepted(t, clouds, data.AuthorizationToken)
	if left := time.Until(*data.ExpiresAt); left < 11*time.Hour ||
		*data.ProxyEndpoint != "https://123456789012.dkr.ecr.eu-west-1.amazonaws.com" {
		t.Errorf("valid for %v, for %s", left, *data.ProxyEndpoint)
	}
	public, err := ecrpublic.NewFromConfig(config(client, "us-east-1", "AKIAREADER", "reader-secret")).GetAuthorizationToken(t.Context(),
		nil)
	if err != nil {
		t.Fatal(err)
	}
	accepted(t, clouds, public.AuthorizationData.AuthorizationToken)
}

func TestAWSRole(t *testing.T) {
	clouds, client := start(t)
	assumed, err := sts.NewFromConfig(config(client, "eu-west-1", "AKIANOTHING", "nothing-secret")).AssumeRole(t.Context(),
		&sts.AssumeRoleInput{
			RoleArn: aws.String(role), RoleSessionName: aws.String("test"), ExternalId: aws.String("org-1"),
			DurationSeconds: aws.Int32(900)})
	if err != nil {
		t.Fatal(err)
	}
	c := config(client, "eu-west-1", "", "")
	c.Credentials = credentials.NewStaticCredentialsProvider(*assumed.Credentials.AccessKeyId, *assumed.Credentials.SecretAccessKey,
		*assumed.Credentials.SessionToken)
	got, err := ecr.NewFromConfig(c).GetAuthorizationToken(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	accepted(t, clouds, got.AuthorizationData[0].AuthorizationToken)
}

func TestAWSErrors(t *testing.T) {
	_, client := start(t)
	for _, row := range []struct{ id, secret, code string }{
		{"AKIAUNKNOWN", "x", "UnrecognizedClientException"},
		{"AKIAREADER", "typo", "InvalidSignatureException"},
		{"AKIANOTHING", "nothing-secret", "AccessDeniedException"},
	} {
		_, err := ecr.NewFromConfig(config(client, "eu-west-1", row.id, row.secret)).GetAuthorizationToken(t.Context(), nil)
		var api smithy.APIError
		if !errors.As(err, &api) || api.ErrorCode() != row.code {
			t.Errorf("%s: %v, want %s", row.id, err, row.code)
		}
	}
	for external, code := range map[string]string{"org-2": "AccessDenied", "": "AccessDenied"} {
		_, err := sts.NewFromConfig(config(client, "eu-west-1", "AKIANOTHING", "nothing-secret")).AssumeRole(t.Context(),
			&sts.AssumeRoleInput{
				RoleArn: aws.String(role), RoleSessionName: aws.String("test"),
				ExternalId: aws.String("other-" + external), DurationSeconds: aws.Int32(900)})
		var api smithy.APIError
		if !errors.As(err, &api) || api.ErrorCode() != code {
			t.Errorf("external id %q: %v, want %s", external, err, code)
		}
	}
}

func TestGoogle(t *testing.T) {
	clouds, client := start(t)
	block := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	ctx := context.WithValue(t.Context(), oauth2.HTTPClient, client)
	for _, row := range []struct{ email, id, code string }{
		{"pull@p.iam.gserviceaccount.com", "k1", ""},
		{"typo@p.iam.gserviceaccount.com", "k1", "invalid_grant"},
		{"pull@p.iam.gserviceaccount.com", "k2", "invalid_grant"},
	} {
		file, err := json.Marshal(map[string]string{"type": "service_account", "client_email": row.email, "private_key_id": row.id,
			"private_key": string(block), "token_uri": "https://oauth2.googleapis.com/token"})
		if err != nil {
			t.Fatal(err)
		}
		c, err := google.JWTConfigFromJSON(file, "https://www.googleapis.com/auth/cloud-platform.read-only")
		if err != nil {
			t.Fatal(err)
		}
		token, err := c.TokenSource(ctx).Token()
		if row.code == "" {
			if err != nil || !clouds.Google.Accepts("oauth2accesstoken", token.AccessToken) {
				t.Errorf("%s: %v", row.email, err)
			}
			continue
		}
		var failed *oauth2.RetrieveError
		if !errors.As(err, &failed) || !strings.Contains(string(failed.Body), `"error":"`+row.code+`"`) {
			t.Errorf("%s %s: %v, want %s", row.email, row.id, err, row.code)
		}
	}
}

func TestEntraID(t *testing.T) {
	_, client := start(t)
	for _, row := range []struct{ id, secret, number string }{
		{"puller", "puller-secret", ""},
		{"puller", "typo", "AADSTS7000215"},
		{"old", "old-secret", "AADSTS7000222"},
		{"typo", "x", "AADSTS700016"},
	} {
		c, err := azidentity.NewClientSecretCredential("11111111-2222-3333-4444-555555555555", row.id, row.secret,
			&azidentity.ClientSecretCredentialOptions{DisableInstanceDiscovery: true,
				ClientOptions: azcore.ClientOptions{Transport: client, Retry: policy.RetryOptions{MaxRetries: -1}}})
		if err != nil {
			t.Fatal(err)
		}
		token, err := c.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{"https://containerregistry.azure.net/.default"}})
		if row.number == "" {
			if err != nil || token.Token == "" {
				t.Errorf("%s: %v", row.id, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), row.number) {
			t.Errorf("%s: %v, want %s", row.id, err, row.number)
		}
	}
}
