package regcheck

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/spelling"
	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/content"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
	"github.com/regwarden/regwarden/secret"
)

// mustBeClean fails if a shown text could disturb a terminal or a log.
func mustBeClean(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) || strings.ContainsFunc(text,
		func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) {
		t.Errorf("not clean: %q", text)
	}
}

func FuzzDefinition(f *testing.F) {
	for _, seed := range []string{"registry.test", "https://[::1]:5000/a/v2", "http:/x", "a@b", "0x7f.1", "xn--a", "faß.test", "127.1",
		"docker.io/library", "https://ⅰ.test:80"} {
		f.Add(seed, "v2", "a/b", "user", "pass", "")
	}
	f.Add("registry.test", "a/../b", "%2e%2e", "u:v", "p\n", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----")
	f.Fuzz(func(t *testing.T, endpoint, basePath, contentPath, user, password, pem string) {
		d := Definition{Endpoint: endpoint, BasePath: basePath, BaseContentPath: contentPath,
			Auth: &Auth{Username: user, Password: secret.String(password), TLS: TLS{Enabled: true, CA: pem}}}
		p, found := d.read(true)
		for _, one := range found {
			mustBeClean(t, one.Problem)
		}
		if len(found) > 0 {
			return
		}
		u, err := url.Parse(p.base.String())
		if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Host != p.base.Authority() ||
			!strings.HasSuffix(u.Path, "/v2/") {
			t.Fatalf("%q became %q: %v", endpoint, p.base, err)
		}
		o, err := egress.ReadOrigin(u)
		if err != nil || o != p.base.Origin {
			t.Errorf("%q: origin %v read back as %v: %v", endpoint, p.base.Origin, o, err)
		}
	})
}

func FuzzChallenge(f *testing.F) {
	for _, seed := range []string{
		`Bearer realm="https://a.test/token",service="a",scope="repository:x:pull,push"`, `Negotiate YII==, Basic realm="x"`,
		`bearer realm=https://a.test/,service=zot,scope=`, `Basic realm="\"`, `,,,=,="`, `Bearer realm`, `Bearer realm=/token?x=y#z`,
	} {
		f.Add(seed, "Basic")
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		all := challenge.ParseChallenges([]string{first, second})
		if len(all) > challenge.MaxChallenges {
			t.Errorf("%d challenges", len(all))
		}
		o := challenge.Offered(&wire.Response{Header: http.Header{"Www-Authenticate": {first, second}}})
		for _, scheme := range o.Unsupported {
			mustBeClean(t, scheme)
		}
		if o.Bearer == nil {
			return
		}
		from := &wire.Response{URL: &url.URL{Scheme: "https", Host: "registry.test", Path: "/v2/"},
			From: egress.Origin{Scheme: "https", Host: "registry.test", Port: 443}}
		service, err := challenge.ReadService(o.Bearer, from, true)
		if err != nil {
			mustBeClean(t, err.Error())
			return
		}
		if service.Realm.Scheme != "https" || service.Realm.User != nil || service.Origin.Host == "" {
			t.Errorf("took the realm %q", service.Realm)
		}
		if _, err := service.Call("regcheck", challenge.Login{User: "u", Password: "p"},
			[]string{"a b"}).Request(t.Context(), nil); err != nil {
			t.Errorf("no request can be made of the realm %q: %v", service.Realm, err)
		}
	})
}

func FuzzTokenResponse(f *testing.F) {
	for _, seed := range []string{`{"token":"a"}`, `{"access_token":"b","token":"a","expires_in":"60"}`, `{"token":"a\nb"}`, `{"token":7}`,
		`[]`, `{"token":null}`, `<html>`, `{"token":"é"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		token, err := challenge.ReadToken(body)
		if (token == "") == (err == nil) {
			t.Fatalf("%q and %v", token, err)
		}
		if err != nil {
			mustBeClean(t, err.Error())
			return
		}
		if len(token) > challenge.MaxToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
			t.Errorf("took the token %q", token)
		}
	})
}

func FuzzErrorBody(f *testing.F) {
	for _, seed := range []string{
		`{"errors":[{"code":"DENIED","message":"no\u001b[2J"}]}`, `{"errors":[{"status":404,"message":"x"}]}`, `{"errors":{}}`, `true`,
		`<html><title>a&#27;b</title>`, "<TITLE\xff>", `{"errors":[null,1,"x",{"code":7}]}`, "<title", "İ<title>x</title>",
	} {
		f.Add([]byte(seed), "text/html")
	}
	f.Fuzz(func(t *testing.T, body []byte, kind string) {
		a := &wire.Response{Status: 403, Body: body, Header: http.Header{"Content-Type": {kind}}}
		text := a.Summary()
		mustBeClean(t, text)
		mustBeClean(t, a.Title())
		if utf8.RuneCountInString(text) > 4*wire.MaxShown {
			t.Errorf("%d characters", utf8.RuneCountInString(text))
		}
		wire.IsExpired(a)
		wire.IsHTML(a)
		for _, e := range wire.ReadErrors(body) {
			mustBeClean(t, e.Code+e.Message)
		}
		var c content.Catalog
		c.Add(&wire.Response{Status: 200, Body: body})
		spelling.Prefixes("a/b", c.Names)
	})
}
