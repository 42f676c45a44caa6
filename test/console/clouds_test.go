package console_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/cloudtest"
	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/testca"
)

// cloud is a registry whose credentials are obtained from AWS, behind a proxy. The registries of other clouds are there too.
type cloud struct {
	Endpoint  string       `json:"endpoint"`
	CA        string       `json:"ca"`
	AccessKey string       `json:"accessKey"`
	SecretKey string       `json:"secretKey"`
	Others    []otherCloud `json:"others"`

	proxy string
	hosts string // hosts file of the service, so that no name is looked up
}

// otherCloud is a definition, as the labels and values of its form.
type otherCloud struct {
	Type     string            `json:"type"`
	Endpoint string            `json:"endpoint"`
	Fields   map[string]string `json:"fields"`
	Secret   string            `json:"secret"` // the label of the field that pages must not show
	Wrong    map[string]string `json:"wrong"`  // values with which the check fails
	Fix      string            `json:"fix"`    // what the page says then
}

const (
	ecrHost = "123456789012.dkr.ecr.eu-west-1.amazonaws.com"
	gcpHost = "europe-west1-docker.pkg.dev"
	acrHost = "corp.azurecr.io"
)

func startCloud(t *testing.T) cloud {
	t.Helper()
	c := cloud{Endpoint: "https://" + ecrHost, AccessKey: "AKIAREADER", SecretKey: "reader-secret-of-aws"}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	clouds := &cloudtest.Clouds{
		AWS: &cloudtest.AWS{Now: time.Now, Keys: map[string]cloudtest.AWSKey{c.AccessKey: {
			Secret: c.SecretKey, Account: "123456789012", Actions: []string{"ecr:GetAuthorizationToken"}}}},
		Google: &cloudtest.Google{Now: time.Now, Accounts: map[string]cloudtest.GoogleAccount{
			"pull@p.iam.gserviceaccount.com": {Keys: map[string]*rsa.PublicKey{"k1": &key.PublicKey}}}},
		Azure: &cloudtest.Azure{Now: time.Now, Tenants: map[string]map[string]cloudtest.AzureClient{"contoso": {
			"puller": {Secret: "puller-secret-of-azure"}, "old": {Secret: "old-secret-of-azure", Until: time.Now()}}}},
		GitHub: &cloudtest.GitHub{Now: time.Now, Apps: map[string]cloudtest.GitHubApp{"7": {Key: &key.PublicKey,
			Installations: map[string]cloudtest.GitHubInstallation{"70": {Permissions: map[string]string{"packages": "read"}},
				"71": {Suspended: true}}}}},
	}
	c.Others = otherClouds(t, string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})))
	hosts := []string{ecrHost, gcpHost, acrHost, "ghcr.io", "api.ecr.eu-west-1.amazonaws.com", "oauth2.googleapis.com",
		"login.microsoftonline.com", "api.github.com"}
	ca := testca.New(t, "cloud")
	pair := ca.Issue(t, testca.Options{Hosts: hosts})
	certificate, err := tls.X509KeyPair([]byte(pair.Certificate), []byte(pair.Key))
	if err != nil {
		t.Fatal(err)
	}
	admits := map[string]func(http.ResponseWriter, *http.Request) bool{ecrHost: clouds.AWS.Admits, gcpHost: clouds.Google.Admits,
		acrHost: clouds.Azure.Admits, "ghcr.io": clouds.GitHub.Admits}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		admit, isRegistry := admits[r.Host]
		switch {
		case !isRegistry || !strings.HasPrefix(r.URL.Path, "/v2/") && r.URL.Path != "/token":
			clouds.ServeHTTP(w, r)
		case !admit(w, r):
		case r.URL.Path != "/v2/":
			http.Error(w, `{"errors":[{"code":"NAME_UNKNOWN"}]}`, http.StatusNotFound)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{}")
		}
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.StartTLS()
	t.Cleanup(server.Close)
	c.CA, c.proxy = ca.PEM(), startProxy(t, server.Listener.Addr().String())
	c.hosts = "127.0.0.1 localhost " + strings.Join(hosts, " ") + "\n"
	return c
}

// otherClouds returns definitions with a key.
func otherClouds(t *testing.T, key string) []otherCloud {
	t.Helper()
	account := func(email string) string {
		return instance.JSON(map[string]string{"type": "service_account", "client_email": email, "private_key_id": "k1",
			"private_key": key})
	}
	return []otherCloud{
		{"gcp", gcpHost, map[string]string{"Service account key": account("pull@p.iam.gserviceaccount.com")}, "Service account key",
			map[string]string{"Service account key": account("typo@p.iam.gserviceaccount.com")}, "Correct the id in the definition"},
		{"azure", acrHost, map[string]string{"Tenant ID": "contoso", "Client ID": "puller", "Client secret": "puller-secret-of-azure"},
			"Client secret", map[string]string{"Client ID": "old", "Client secret": "old-secret-of-azure"},
			"Create a new secret of the application"},
		{"github", "ghcr.io", map[string]string{"App ID": "7", "Installation ID": "70", "Private key": key}, "Private key",
			map[string]string{"Installation ID": "71"}, "Unsuspend the installation"},
	}
}

// startProxy starts a proxy that connects everything to one address.
func startProxy(t *testing.T, to string) string {
	t.Helper()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		there, err := net.Dial("tcp", to)
		if r.Method != http.MethodConnect || err != nil {
			http.Error(w, "only CONNECT", http.StatusBadGateway)
			return
		}
		defer there.Close()
		here, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer here.Close()
		_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(there, buffered) }()
		_, _ = io.Copy(here, there)
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}
