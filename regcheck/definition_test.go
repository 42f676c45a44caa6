package regcheck

import (
	"strings"
	"testing"

	"github.com/regwarden/regwarden/secret"
)

func TestEndpoint(t *testing.T) {
	for _, row := range []struct{ endpoint, basePath, want string }{
		{"registry.test", "", "https://registry.test/v2/"},
		{"oci://registry.test", "", "https://registry.test/v2/"},
		{"HTTP://Registry.Test", "", "http://registry.test/v2/"},
		{"http://registry.test:80/", "", "http://registry.test/v2/"},
		{"https://registry.test:5000", "", "https://registry.test:5000/v2/"},
		{"  registry.test \n", " /x/ ", "https://registry.test/x/v2/"},
		{"registry.test/v2/", "", "https://registry.test/v2/"},
		{"registry.test/v2", "v2", "https://registry.test/v2/"},
		{"registry.test/a/v2", "/b/v2/", "https://registry.test/a/b/v2/"},
		{"registry.test/artifactory", "api/docker/key", "https://registry.test/artifactory/api/docker/key/v2/"},
		{"docker.io", "", "https://registry-1.docker.io/v2/"},
		{"index.docker.io/v2/", "", "https://registry-1.docker.io/v2/"},
		{"192.168.7.9:5000", "", "https://192.168.7.9:5000/v2/"},
		{"[2001:DB8::1]:5000", "", "https://[2001:db8::1]:5000/v2/"},
		{"[::1]", "", "https://[::1]/v2/"},
		{"my_registry:5000", "", "https://my_registry:5000/v2/"},
		{"https:5000", "", "https://https:5000/v2/"},
		{"bücher.test", "", "https://xn--bcher-kva.test/v2/"},
		{"faß.test", "", "https://xn--fa-hia.test/v2/"}, // non-transitional: not fass.test
		{"registry.test.", "", "https://registry.test./v2/"},
	} {
		var found problems
		got := readBase(row.endpoint, row.basePath, &found)
		if len(found) > 0 || got.String() != row.want {
			t.Errorf("%q + %q: %s %v, want %s", row.endpoint, row.basePath, got, found, row.want)
		}
	}
}

func TestEndpointProblems(t *testing.T) {
	for _, row := range []struct{ endpoint, says string }{
		{"", "required"},
		{"   ", "required"},
		{strings.Repeat("a", 2049), "2048"},
		{"ftp://registry.test", "scheme"},
		{"https//registry.test", "https://"},
		{"https:/registry.test", "https://"},
		{"http:registry.test", "http://"},
		{"user:pass@registry.test", "user information"},
		{"registry.test?x=1", "query"},
		{"registry.test#x", "query or fragment"},
		{"registry.test/a%2fb", "percent"},
		{"fe80::1%eth0", "percent"},
		{"2001:db8::1", "brackets"},
		{"[2001:db8::1", "bracket"},
		{"[::1]5000", "bracket"},
		{"[1.2.3.4]", "IPv6"},
		{"registry.test:0", "port"},
		{"registry.test:65536", "port"},
		{"registry.test:", "port"},
		{"registry.test:+80", "port"},
		{"2852039166", "numeric"},
		{"0xa9fea9fe", "numeric"},
		{"169.254.43518", "numeric"},
		{"010.0.0.1", "numeric"},
		{"registry..test", "host name"},
		{"-registry.test", "host name"},
		{strings.Repeat("a", 64) + ".test", "host name"},
		{"regi stry.test", "blank"},
		{"regi\x00stry.test", "control"},
		{"registry.test\\evil", "backslash"},
		{"registry.test/../x", ".."},
		{"https://", "no host"},
		{"/v2/", "no host"},
	} {
		var found problems
		readBase(row.endpoint, "", &found)
		if len(found) != 1 || found[0].Field != "endpoint" || !strings.Contains(found[0].Problem, row.says) {
			t.Errorf("%q: %v, want one problem that says %q", row.endpoint, found, row.says)
		}
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	d := Definition{
		Endpoint: "ftp://x", BasePath: "a?b", BaseContentPath: "a/../b", ProviderType: "deb",
		Auth: &Auth{Type: Basic, Username: "a:b", Token: "t\n", TLS: TLS{Enabled: true, CA: "no", Key: "no"}},
	}
	var fields []string
	for _, p := range d.Problems() {
		fields = append(fields, p.Field)
	}
	want := "endpoint basePath baseContentPath providerType auth.password auth.token auth.token auth.username auth.tls.ca auth.tls.key auth.tls.key"
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
	} {
		p, found := Definition{Endpoint: "registry.test", Auth: &row.auth}.read()
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
func TestProblemsHoldNoSecret(t *testing.T) {
	const marked = "marked-secret-4711"
	d := Definition{Endpoint: "user:" + marked + "@registry.test", Auth: &Auth{Type: NoAuth, Password: secret.String(marked + "\n"), Token: marked,
		TLS: TLS{Enabled: true, Key: marked}}}
	err := &DefinitionError{d.Problems()}
	if len(err.Problems) < 4 || strings.Contains(err.Error(), marked) {
		t.Errorf("%v", err)
	}
}

func TestSameTarget(t *testing.T) {
	stored := Definition{Endpoint: "https://registry.test/a", BasePath: "b", Auth: &Auth{TLS: TLS{Enabled: true, CA: "pem"}}}
	for _, row := range []struct {
		name   string
		change func(*Definition, *Auth)
		same   bool
	}{
		{"the same words", func(*Definition, *Auth) {}, true},
		{"spelled otherwise", func(d *Definition, _ *Auth) { d.Endpoint, d.BasePath = "Registry.Test:443", "/a/b/v2/" }, true},
		{"other user", func(_ *Definition, a *Auth) { a.Username = "other" }, true},
		{"other host", func(d *Definition, _ *Auth) { d.Endpoint = "https://registry.test.evil.test/a" }, false},
		{"other port", func(d *Definition, _ *Auth) { d.Endpoint = "https://registry.test:444/a" }, false},
		{"plain http", func(d *Definition, _ *Auth) { d.Endpoint = "http://registry.test:443/a" }, false},
		{"other path", func(d *Definition, _ *Auth) { d.BasePath = "c" }, false},
		{"other CA", func(_ *Definition, a *Auth) { a.TLS.CA = "other" }, false},
		{"certificate is CA", func(_ *Definition, a *Auth) { a.TLS.CA, a.TLS.Certificate = "", "pem" }, false},
		{"no verification", func(_ *Definition, a *Auth) { a.TLS.InsecureSkipVerify = true }, false},
		{"not enabled", func(_ *Definition, a *Auth) { a.TLS.Enabled = false }, false},
		{"unusable", func(d *Definition, _ *Auth) { d.Endpoint = "" }, false},
	} {
		auth := *stored.Auth
		other := stored
		other.Auth = &auth
		row.change(&other, &auth)
		if got := stored.SameTarget(other); got != row.same {
			t.Errorf("%s: %v", row.name, got)
		}
	}
}
