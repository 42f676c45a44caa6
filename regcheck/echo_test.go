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
