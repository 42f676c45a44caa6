package regcheck

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/secret"
)

func TestAllProblemsAtOnce(t *testing.T) {
	d := Definition{
		Endpoint: "ftp://x", BasePath: "a?b", BaseContentPath: "a/../b", ProviderType: "deb",
		Auth: &Auth{Type: Basic, Username: "a:b", Token: "t\n", TLS: TLS{Enabled: true, CA: "no", Key: "no"}},
	}
	var fields []string
	_, problems := Parse(d)
	for _, p := range problems {
		fields = append(fields, p.Field)
	}
	want := "endpoint basePath baseContentPath providerType auth.password auth.token auth.token auth.username auth.tls.ca auth.tls.key " +
		"auth.tls.key"
	if got := strings.Join(fields, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAuthType(t *testing.T) {
	for _, row := range []struct {
		auth Auth
		want AuthType
		bad  string
	}{
		{Auth{}, NoAuth, ""},
		{Auth{Username: "u", Password: "p"}, Basic, ""},
		{Auth{Token: "t"}, Token, ""},
		{Auth{Token: "t", Username: "u"}, Token, ""},
		{Auth{Username: "u"}, Basic, "auth.password"},
		{Auth{Password: "p"}, Basic, "auth.username"},
		{Auth{Type: Token}, Token, "auth.token"},
		{Auth{Token: "t", Username: "u", Password: "p"}, Token, "auth.password"},
		{Auth{Type: NoAuth, Password: "p"}, NoAuth, "auth.password"},
		{Auth{Type: NoAuth, Token: "t"}, NoAuth, "auth.token"},
		{Auth{Type: Basic, Username: "u", Password: "p", Token: "t"}, Basic, "auth.token"},
		{Auth{Type: "ntlm"}, "ntlm", "auth.type"},
		{Auth{Username: "u:v", Password: "p"}, Basic, "auth.username"},
		{Auth{Username: "u", Password: " p "}, Basic, ""}, // blanks belong to a secret
		{Auth{Username: "u", Password: "p\r\n"}, Basic, "auth.password"},
		{Auth{Username: "_json_key", Password: "{\n  \"type\": \"service_account\"\r\n}"}, Basic, ""},
		{Auth{Username: "_json_key", Password: "{\n}\n"}, Basic, "auth.password"},
		{Auth{Username: "u", Password: "p\tq"}, Basic, "auth.password"},
		{Auth{Username: "u", Password: "p\x00q"}, Basic, "auth.password"},
		{Auth{Username: "u\nv", Password: "p"}, Basic, "auth.username"},
		{Auth{Token: "t\nu"}, Token, "auth.token"},
	} {
		p, found := Definition{Endpoint: "registry.test", Auth: &row.auth}.read(true)
		got := ""
		if len(found) > 0 {
			got = found[0].Field
		}
		if p.login.Type != row.want || got != row.bad || len(found) > 1 {
			t.Errorf("%v: type %s, problems %v; want %s and %q", row.auth, p.login.Type, found, row.want, row.bad)
		}
	}
}

func TestChartRepository(t *testing.T) {
	for _, row := range []struct {
		definition Definition
		bad        string
	}{
		{Definition{}, ""},
		{Definition{BasePath: "stable", BaseContentPath: "nginx", ProviderType: Helm}, ""},
		{Definition{BaseContentPath: "nginx:1.2.3+build.7", References: []string{"nginx:1.2.3-rc.1", "redis:18"}}, ""},
		{Definition{BaseContentPath: "bitnami/nginx"}, "baseContentPath"},
		{Definition{BaseContentPath: "nginx:"}, "baseContentPath"},
		{Definition{BaseContentPath: "nginx@sha256:00"}, "baseContentPath"},
		{Definition{References: []string{"nginx:1", "nginx", "a/b:1", "nginx:1"}}, "references[1] references[2] references[3]"},
		{Definition{ProviderType: Zarf}, "providerType"},
		{Definition{Kind: "helm"}, "kind"},
		{Definition{Endpoint: "oci://charts.test"}, "endpoint"},
		{Definition{Auth: &Auth{Type: ECR}}, "auth.type"},
	} {
		d := row.definition
		d.Kind, d.Endpoint, d.Auth = cmp.Or(d.Kind, KindChartRepository), cmp.Or(d.Endpoint, "https://charts.test"), cmp.Or(d.Auth, &Auth{})
		plan, problems := Parse(d)
		var fields []string
		for _, p := range problems {
			if p.Field != "auth.aws" {
				fields = append(fields, p.Field)
			}
		}
		if got := strings.Join(fields, " "); got != row.bad || (plan == nil) != (row.bad != "") {
			t.Errorf("%+v: problems of %q, want %q: %v", d, got, row.bad, problems)
		}
	}
}

// A problem is shown to users and written to logs: it must not repeat a secret.
func TestProblemsContainNoSecret(t *testing.T) {
	const marked = "marked-secret-4711"
	d := Definition{Endpoint: "user:" + marked + "@registry.test",
		Auth: &Auth{Type: NoAuth, Password: secret.String(marked + "\n"), Token: marked,
			TLS: TLS{Enabled: true, Key: marked}}}
	if _, problems := Parse(d); len(problems) < 4 || strings.Contains(fmt.Sprint(problems), marked) {
		t.Errorf("%v", problems)
	}
}

func TestLineBreakAtEndOfPassword(t *testing.T) {
	d := Definition{Endpoint: "registry.test", Auth: &Auth{Username: "_json_key", Password: "{\n}\n"}}
	if _, found := Parse(d); len(found) != 1 || found[0].Problem != "must not end in a line break; remove the trailing newline" {
		t.Errorf("%v", found)
	}
}

// MustParse parses a definition without problems, also for tests of other packages.
func MustParse(t *testing.T, d Definition) *Plan {
	t.Helper()
	plan, problems := Parse(d)
	if len(problems) > 0 {
		t.Fatalf("problems of the definition: %v", problems)
	}
	return plan
}
