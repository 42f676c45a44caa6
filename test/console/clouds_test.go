package console_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/cloudtest"
	"github.com/regwarden/regwarden/test/testca"
)

// cloud is a registry whose credentials are obtained from AWS, behind a proxy.
type cloud struct {
	Endpoint  string `json:"endpoint"`
	CA        string `json:"ca"`
	AccessKey string `json:"accessKey"`
	SecretKey string `json:"secretKey"`

	proxy string
	hosts string // hosts file of the service, so that no name is looked up
}

const (
	ecrHost = "123456789012.dkr.ecr.eu-west-1.amazonaws.com"
	apiHost = "api.ecr.eu-west-1.amazonaws.com"
)

func startCloud(t *testing.T) cloud {
	t.Helper()
	c := cloud{Endpoint: "https://" + ecrHost, AccessKey: "AKIAREADER", SecretKey: "reader-secret-of-aws"}
	aws := &cloudtest.AWS{Now: time.Now, Down: func() bool { return false }, Keys: map[string]cloudtest.AWSKey{c.AccessKey: {
		Secret: c.SecretKey, Account: "123456789012", Actions: []string{"ecr:GetAuthorizationToken"}}}}
	ca := testca.New(t, "cloud")
	pair := ca.Issue(t, testca.Options{Hosts: []string{ecrHost, apiHost}})
	certificate, err := tls.X509KeyPair([]byte(pair.Certificate), []byte(pair.Key))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/v2/") {
			(&cloudtest.Clouds{AWS: aws}).ServeHTTP(w, r)
			return
		}
		if user, password, _ := r.BasicAuth(); !aws.Accepts(user, password) {
			w.Header().Set("WWW-Authenticate", `Basic realm="ecr",service="ecr.amazonaws.com"`)
			http.Error(w, "Not Authorized", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/v2/" {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"errors":[{"code":"NAME_UNKNOWN"}]}`)
			return
		}
		_, _ = io.WriteString(w, "{}")
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.StartTLS()
	t.Cleanup(server.Close)
	c.CA, c.proxy = ca.PEM(), startProxy(t, server.Listener.Addr().String())
	c.hosts = fmt.Sprintf("127.0.0.1 localhost %s %s\n", ecrHost, apiHost)
	return c
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
