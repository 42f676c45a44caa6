package regcheck_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/inventory"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
	"github.com/regwarden/regwarden/secret"
)

// A report does not change with a secret that is a word: a mask would disclose it.
func TestReportsDoNotChangeWithSecrets(t *testing.T) {
	for _, server := range []string{"htpasswd", "htpasswd-http", "bearer", "open", "open-checks-credentials", "harbor",
		"harbor-refuses-scopeless", "ghcr", "google", "ecr",
		"ecr-public", "acr", "quay", "dockerhub", "gitlab", "gitlab-any-cause", "artifactory", "nexus-anonymous", "zot-mixed", "gitea",
		"tls-private-ca", "tls-wrong-name",
		"redirect-cross-origin", "realm-unknown-host", "realm-http", "token-html", "token-429", "content-403",
		"challenge-negotiate-only", "none"} {
		g := regchecktest.Start(t, server)
		reports := func(password string) (all []string) {
			for _, auth := range []regcheck.Auth{{Username: "ada", Password: secret.String(password)}, {Token: secret.String(password)}} {
				for _, path := range []string{"", "charts/nginx"} {
					d := regcheck.Definition{Endpoint: g.Endpoint, BasePath: g.BasePath, BaseContentPath: path, Auth: &auth}
					all = append(all, stableText(t, g, d))
				}
			}
			return all
		}
		plain := reports("xq9-Zr4w-77")
		for _, password := range []string{"password", "username", "user", "harbor", "Registry", "token", "the", "charts",
			"nginx", "charts/nginx"} {
			for i, text := range reports(password) {
				if text != plain[i] {
					t.Errorf("%s, %q:\n%s\ninstead of\n%s", server, password, text, plain[i])
				}
			}
		}
	}
}

var randomPart = regexp.MustCompile(`[0-9a-f]{32}`)

// stableText returns all texts of a report, without what differs from check to check.
func stableText(t *testing.T, g *regchecktest.Registry, d regcheck.Definition) string {
	t.Helper()
	report, err := checker(g, egress.Policy{}, matrixRow{}).Check(t.Context(), regcheck.MustParse(t, d), nil)
	if err != nil {
		t.Fatal(err)
	}
	report.StartedAt, report.DurationMS, report.RoundTrips = time.Time{}, 0, 0
	for i := range report.Stages {
		report.Stages[i].DurationMS, report.Stages[i].RoundTrips = 0, 0 // connections that are open at times
	}
	text, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	return randomPart.ReplaceAllString(string(text), "random")
}

// A list of content omits nothing because of a name, and stores no long secret that a registry returns as a name.
func TestInventoryOmitsNoName(t *testing.T) {
	for password, want := range map[string]string{
		"nginx1":               "charts/nginx1:nginx1 helm, charts/other:nginx1 helm",
		"0f2b77c1d95e4a08b6c3": "charts/********:, charts/other:******** ",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
			switch {
			case strings.HasSuffix(r.URL.Path, "/_catalog"):
				_, _ = fmt.Fprintf(w, `{"repositories":["charts/%s","charts/other"]}`, password)
			case strings.HasSuffix(r.URL.Path, "/tags/list"):
				_, _ = fmt.Fprintf(w, `{"tags":[%q]}`, password)
			case strings.Contains(r.URL.Path, "/manifests/"):
				_, _ = w.Write([]byte(`{"config":{"mediaType":"application/vnd.cncf.helm.config.v1+json"}}`))
			default:
				_, _ = w.Write([]byte("{}"))
			}
		}))
		defer server.Close()
		local, err := egress.ParsePolicy(egress.Settings{Allow: []string{"127.0.0.0/8"}})
		if err != nil {
			t.Fatal(err)
		}
		d := regcheck.Definition{Endpoint: server.URL, BaseContentPath: "charts",
			Auth: &regcheck.Auth{Username: "ada", Password: secret.String(password)}}
		var listed []string
		report, found, err := inventory.List(t.Context(), &regcheck.Checker{Egress: local}, regcheck.MustParse(t, d),
			inventory.Cursor{}, inventory.Limits{}, func(r inventory.Repository) error {
				tags := ""
				for _, tag := range r.Tags {
					tags += tag.Name + " " + string(tag.Kind)
				}
				if r.Name != "charts" {
					listed = append(listed, r.Name+":"+tags)
				}
				return nil
			})
		if err != nil || found == nil {
			t.Fatal(err, report)
		}
		if got := strings.Join(listed, ", "); got != want || !found.Complete {
			t.Errorf("%s: %q, want %q: %+v", password, got, want, found)
		}
		text, _ := json.Marshal(report)
		if len(password) >= 16 && strings.Contains(string(text)+fmt.Sprintf("%+v", found), password) {
			t.Errorf("%s is in the report: %s %+v", password, text, found)
		}
	}
}
