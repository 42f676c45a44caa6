package regcheck

import (
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
	for _, p := range d.Problems() {
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
		if p.auth != row.want || got != row.bad || len(found) > 1 {
			t.Errorf("%v: type %s, problems %v; want %s and %q", row.auth, p.auth, found, row.want, row.bad)
		}
	}
}

// A problem is shown to users and written to logs: it must not repeat a secret.
func TestProblemsContainNoSecret(t *testing.T) {
	const marked = "marked-secret-4711"
	d := Definition{Endpoint: "user:" + marked + "@registry.test", Auth: &Auth{Type: NoAuth, Password: secret.String(marked + "\n"), Token: marked,
		TLS: TLS{Enabled: true, Key: marked}}}
	err := &DefinitionError{d.Problems()}
	if len(err.Problems) < 4 || strings.Contains(err.Error(), marked) {
		t.Errorf("%v", err)
	}
}

func TestLineBreakAtEndOfPassword(t *testing.T) {
	d := Definition{Endpoint: "registry.test", Auth: &Auth{Username: "_json_key", Password: "{\n}\n"}}
	if found := d.Problems(); len(found) != 1 || found[0].Problem != "must not end in a line break; remove the trailing newline" {
		t.Errorf("%v", found)
	}
}
