package regcheck

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/secret"
)

// Credentials that a registry echoes are masked in the report.
func TestReportContainsNoCredential(t *testing.T) {
	const password, token = "a-password-of-some-length", "a-token-of-some-length"
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, given, _ := r.BasicAuth()
		text := r.Header.Get("Authorization") + " " + given
		w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
		w.Header().Set("WWW-Authenticate", `Basic realm="`+text+`"`)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"errors":[{"code":"UNAUTHORIZED","message":%q}]}`, text)
	}))
	defer echo.Close()
	policy, err := egress.ParsePolicy(egress.Settings{Allow: []string{"127.0.0.0/8"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, auth := range []*Auth{{Type: Basic, Username: "ada", Password: password}, {Type: Token, Token: token},
		{Type: Token, Username: "ada", Token: token}} {
		var seen strings.Builder
		report, err := (&Checker{Egress: policy}).Check(t.Context(), MustParse(t, Definition{Endpoint: echo.URL, Auth: auth}),
			func(r StageResult) { seen.WriteString(r.Detail) })
		if err != nil {
			t.Fatal(err)
		}
		text, err := report.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		all := string(text) + seen.String()
		for _, sent := range []string{password, token, strings.TrimRight(base64.StdEncoding.EncodeToString([]byte("ada:"+password)), "=")} {
			if strings.Contains(all, sent) {
				t.Errorf("the report repeats %q: %s", sent, all)
			}
		}
		if report.Code != CodeAuthFailed || !strings.Contains(all, secret.Mask) {
			t.Errorf("this registry text nothing back: %s", all)
		}
	}
}

// No place of a response brings a secret into a report.
func TestNoPlaceOfResponseRepeatsSecrets(t *testing.T) {
	const password = "Fq7-x81kLmz02-vTTa9"
	policy, err := egress.ParsePolicy(egress.Settings{Allow: []string{"127.0.0.0/8"}})
	if err != nil {
		t.Fatal(err)
	}
	for place, respond := range map[string]func(w http.ResponseWriter, r *http.Request){
		"title": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<title>" + password + "</title>"))
		},
		"split by control characters": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, password[:5]+"\x00\u202e"+password[5:], http.StatusTeapot)
		},
		"Retry-After": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", password)
			w.WriteHeader(http.StatusTooManyRequests)
		},
		"Location": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://"+password+".test/"+password+"/v2/")
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
		"Location without a host": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v2/" {
				http.Redirect(w, r, "/"+password, http.StatusTemporaryRedirect)
			}
		},
		"realm": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="https://`+password+`.test/`+password+`"`)
			w.WriteHeader(http.StatusUnauthorized)
		},
		"invalid realm": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="ftp://`+password+`"`)
			w.WriteHeader(http.StatusUnauthorized)
		},
		"scheme": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", password)
			w.WriteHeader(http.StatusUnauthorized)
		},
		"token service": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="/token"`)
			http.Error(w, password, http.StatusUnauthorized)
		},
		"tag": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
			switch {
			case strings.HasSuffix(r.URL.Path, "/tags/list"):
				_, _ = w.Write([]byte(`{"tags":["` + password + `"]}`))
			case strings.Contains(r.URL.Path, "/manifests/"):
				http.Error(w, "no", http.StatusNotFound)
			}
		},
		"catalog": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
			switch {
			case strings.HasSuffix(r.URL.Path, "/_catalog"):
				_, _ = w.Write([]byte(`{"repositories":["charts/` + password + `"]}`))
			case strings.HasSuffix(r.URL.Path, "/charts/tags/list"):
				http.Error(w, "no", http.StatusNotFound)
			case r.URL.Path != "/v2/":
				http.Error(w, "no", http.StatusForbidden)
			}
		},
		"digest of a blob": func(w http.ResponseWriter, r *http.Request) {
			artifactWith(w, r, `{"config":{"mediaType":"application/vnd.cncf.helm.config.v1+json","digest":"x:`+password+`","size":1}}`)
		},
		"platform of an index": func(w http.ResponseWriter, r *http.Request) {
			artifactWith(w, r, `{"manifests":[{"digest":"x:`+password+`","platform":{"os":"`+password+`","architecture":"`+password+`"}}]}`)
		},
		"redirect of a blob": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "https://"+password+".test/"+password)
			artifactWith(w, r, `{"config":{"mediaType":"`+password+`","digest":"sha256:`+strings.Repeat("0", 64)+`","size":1}}`)
		},
		"not HTTP": func(w http.ResponseWriter, _ *http.Request) {
			if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
				_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\n" + password + "\r\n\r\n"))
				_ = conn.Close()
			}
		},
	} {
		t.Run(place, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(respond))
			t.Cleanup(server.Close)
			for _, auth := range []*Auth{{Username: "ada", Password: password}, {Token: password}} {
				d := Definition{Endpoint: server.URL, BaseContentPath: "charts", Auth: auth}
				report, err := (&Checker{Egress: policy}).Check(t.Context(), MustParse(t, d), nil)
				if err != nil {
					t.Fatal(err)
				}
				text, err := report.MarshalJSON()
				if err != nil {
					t.Fatal(err)
				}
				if all := string(text) + report.Known.String(); strings.Contains(strings.ToLower(all), strings.ToLower(password)) {
					t.Errorf("%s", all)
				}
			}
		})
	}
}

// artifactWith responds as a registry with one artifact whose blobs are lost, or redirected if there is a header Location.
func artifactWith(w http.ResponseWriter, r *http.Request, manifest string) {
	location := w.Header().Get("Location")
	w.Header().Del("Location")
	w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	switch {
	case strings.HasSuffix(r.URL.Path, "/tags/list"):
		_, _ = w.Write([]byte(`{"tags":["1"]}`))
	case strings.Contains(r.URL.Path, "/manifests/"):
		_, _ = w.Write([]byte(manifest))
	case strings.Contains(r.URL.Path, "/blobs/") && location != "":
		w.Header().Set("Location", location)
		w.WriteHeader(http.StatusTemporaryRedirect)
	case r.URL.Path != "/v2/":
		http.Error(w, "no", http.StatusNotFound)
	}
}

// A password with characters that JSON and Go escape is masked in texts that have it escaped.
func TestEscapedSecretsAreMasked(t *testing.T) {
	const password = `Fq7&x81<mz02"vTTa9`
	escaped, err := json.Marshal(map[string]string{"detail": "wrong password " + password})
	if err != nil {
		t.Fatal(err)
	}
	for place, respond := range map[string]http.HandlerFunc{
		"body": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			_, _ = w.Write(escaped)
		},
		"invalid Location": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://host:"+password)
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
	} {
		server := httptest.NewServer(respond)
		t.Cleanup(server.Close)
		report := echoedBy(t, &Checker{}, Definition{Endpoint: server.URL, Auth: &Auth{Username: "ada", Password: password}})
		if !strings.Contains(report, secret.Mask) || strings.Contains(report, "vTTa9") {
			t.Errorf("%s: %s", place, report)
		}
	}
}

// echoedBy returns the texts of a report.
func echoedBy(t *testing.T, c *Checker, d Definition) string {
	t.Helper()
	policy, err := egress.ParsePolicy(egress.Settings{Allow: []string{"127.0.0.0/8"}})
	if err != nil {
		t.Fatal(err)
	}
	c.Egress = policy
	report, err := c.Check(t.Context(), MustParse(t, d), nil)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %s %+v %+v", report.Message, report.Hint, report.Stages, report.Warnings)
}

// localNetwork resolves every name to this computer, and connects to one server.
type localNetwork struct{ address string }

func (localNetwork) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

func (n localNetwork) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, n.address)
}

// A report masks secrets in the host of a redirect whose certificate is wrong, or that the outbound proxy refuses.
func TestHostNamesRepeatNoSecrets(t *testing.T) {
	const password = "fq7-x81klmz02-vtta9"
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "https://"+password+".test/blob")
		artifactWith(w, r, `{"config":{"digest":"sha256:`+strings.Repeat("0", 64)+`","size":1}}`)
	}))
	t.Cleanup(server.Close)
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Host, password) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.WriteHeader(http.StatusOK)
		tunnelTo(w, server.Listener.Addr().String())
	}))
	t.Cleanup(refusing.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	network := localNetwork{server.Listener.Addr().String()}
	proxy := func(*url.URL) (*url.URL, error) { return url.Parse(refusing.URL) }
	for cause, c := range map[string]*Checker{
		"not for":        {Resolver: network, Dialer: network, Roots: roots},
		"outbound proxy": {Resolver: network, Roots: roots, Proxy: proxy, ProxyConnect: egress.ConnectName},
	} {
		report := echoedBy(t, c, Definition{Endpoint: "https://example.com", BaseContentPath: "charts",
			Auth: &Auth{Username: "ada", Password: password}})
		if !strings.Contains(report, cause) || !strings.Contains(report, secret.Mask) || strings.Contains(report, "x81klmz02") {
			t.Errorf("%s: %s", cause, report)
		}
	}
}

// tunnelTo connects a CONNECT request with an address.
func tunnelTo(w http.ResponseWriter, address string) {
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = client.Close() }()
	target, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer func() { _ = target.Close() }()
	go func() { _, _ = io.Copy(target, buffered) }()
	_, _ = io.Copy(client, target)
}
