package regcheck

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
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
	for _, auth := range []*Auth{{Type: Basic, Username: "ada", Password: password}, {Type: Token, Token: token}, {Type: Token, Username: "ada", Token: token}} {
		var seen strings.Builder
		report, err := (&Checker{Egress: policy}).Check(t.Context(), Definition{Endpoint: echo.URL, Auth: auth}, func(r StageResult) { seen.WriteString(r.Detail) })
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
				report, err := (&Checker{Egress: policy}).Check(t.Context(), d, nil)
				if err != nil {
					t.Fatal(err)
				}
				text, err := report.MarshalJSON()
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(strings.ToLower(string(text)), strings.ToLower(password)) {
					t.Errorf("%s", text)
				}
			}
		})
	}
}
