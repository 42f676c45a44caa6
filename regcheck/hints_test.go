package regcheck_test

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
	"github.com/regwarden/regwarden/secret"
)

// Each hint is followed literally; the definition must then be valid.
func TestHintsFollowed(t *testing.T) {
	good := func() regcheck.Definition {
		return regcheck.Definition{Auth: &regcheck.Auth{Username: regchecktest.User, Password: regchecktest.Password}}
	}
	for _, row := range []struct {
		server string
		change func(d *regcheck.Definition)
		code   regcheck.Code
	}{
		{"https-on-http-port-go", nil, regcheck.CodeNotOCI},
		{"htpasswd-http", func(d *regcheck.Definition) { d.Endpoint = "https://registry.test:80" }, regcheck.CodeTLSFailed},
		{"redirect-http-to-https", nil, regcheck.CodeRedirected},
		{"redirect-cross-port", nil, regcheck.CodeRedirected},
		{"tls-private-ca", nil, regcheck.CodeTLSFailed},
		{"tls-chain", nil, regcheck.CodeTLSFailed},
		{"tls-chain-with-root", nil, regcheck.CodeTLSFailed},
		{"tls-self-signed", nil, regcheck.CodeTLSFailed},
		{"tls-missing-intermediate", nil, regcheck.CodeTLSFailed},
		{"tls-client-required", nil, regcheck.CodeTLSFailed},
		{"artifactory", func(d *regcheck.Definition) { d.BasePath, d.BaseContentPath = "", "charts-local/charts/nginx" },
			regcheck.CodeNotOCI},
		{"artifactory", func(d *regcheck.Definition) {
			d.Endpoint, d.BasePath, d.BaseContentPath = "https://registry.test/artifactory", "", "charts-local/charts/nginx"
		}, regcheck.CodeNotOCI},
		{"htpasswd", func(d *regcheck.Definition) { d.BasePath = "registry" }, regcheck.CodeNotOCI},
		{"htpasswd", func(d *regcheck.Definition) { d.BaseContentPath = "charts/ngimx" }, regcheck.CodeContentNotFound},
		{"htpasswd", func(d *regcheck.Definition) { d.BaseContentPath = "chart" }, regcheck.CodeContentNotFound},
		{"htpasswd", func(d *regcheck.Definition) { d.BaseContentPath = "Charts/Nginx" }, regcheck.CodeContentNotFound},
		{"docker-auth", func(d *regcheck.Definition) { d.BaseContentPath = "charts/Nginx:1.2.3" }, regcheck.CodeContentNotFound},
		{"harbor", func(d *regcheck.Definition) { d.BaseContentPath = "registry.test/charts/nginx" }, regcheck.CodeContentNotFound},
		{"harbor", func(d *regcheck.Definition) { d.BaseContentPath = "https://registry.test/Charts" }, regcheck.CodeContentNotFound},
		{"htpasswd", func(d *regcheck.Definition) { d.BaseContentPath = "charts/Nginx:1.2.3" }, regcheck.CodeContentNotFound},
		{"htpasswd", func(d *regcheck.Definition) { d.BaseContentPath = "charts/ngimx:1.2.3" }, regcheck.CodeContentNotFound},
		{"bearer", func(d *regcheck.Definition) { d.BaseContentPath = "charts/nginx:v1.2.3" }, regcheck.CodeContentNotFound},
		{"htpasswd", func(d *regcheck.Definition) { d.BaseContentPath = "charts/nginx:1.3.0+build.7" }, regcheck.CodeContentNotFound},
		{"htpasswd", func(d *regcheck.Definition) { d.Endpoint = "https://registry.test/charts/nginx:1.2.3" }, regcheck.CodeNotOCI},
		{"htpasswd", func(d *regcheck.Definition) {
			d.Endpoint, d.BaseContentPath = "https://registry.test/charts", "nginx:1.2.3"
		}, regcheck.CodeNotOCI},
		{"open-checks-credentials", func(d *regcheck.Definition) { d.Auth.Password = "wrong" }, regcheck.CodeAuthFailed},
		{"htpasswd", func(d *regcheck.Definition) { d.Endpoint = "https://registry.test/charts/nginx" }, regcheck.CodeNotOCI},
		{"htpasswd", func(d *regcheck.Definition) { d.Endpoint, d.BaseContentPath = "https://registry.test/charts", "nginx" },
			regcheck.CodeNotOCI},
		{"htpasswd", func(d *regcheck.Definition) { d.BasePath = "charts/nginx" }, regcheck.CodeNotOCI},
		{"bearer", func(d *regcheck.Definition) { d.Endpoint = "oci://registry.test/charts/nginx" }, regcheck.CodeNotOCI},
		{"bearer-http", func(d *regcheck.Definition) { d.Endpoint = "http://registry.test/charts" }, regcheck.CodeNotOCI},
		{"basic-everywhere", func(d *regcheck.Definition) { d.Endpoint = "https://registry.test/charts/nginx" }, regcheck.CodeNotOCI},
		{"htpasswd-http2", func(d *regcheck.Definition) { d.Endpoint = "https://registry.test/charts/nginx" }, regcheck.CodeNotOCI},
		{"harbor", func(d *regcheck.Definition) { d.Endpoint = "oci://registry.test/charts" }, regcheck.CodeNotOCI},
		{"harbor", func(d *regcheck.Definition) {
			d.Endpoint = "oci://registry.test/charts"
			d.Auth.Username, d.Auth.Password = regchecktest.RobotUser, regchecktest.RobotPassword
		}, regcheck.CodeNotOCI},
		{"harbor", func(d *regcheck.Definition) { d.Auth = &regcheck.Auth{Type: regcheck.NoAuth} }, regcheck.CodeAuthRequired},
		{"harbor", func(d *regcheck.Definition) { d.Auth = &regcheck.Auth{Token: regchecktest.Token} }, regcheck.CodeAuthFailed},
		{"gitea", func(d *regcheck.Definition) { d.Auth = &regcheck.Auth{Token: regchecktest.Token} }, regcheck.CodeAuthFailed},
		{"gitea", func(d *regcheck.Definition) {
			d.BaseContentPath, d.Auth = "public/hello", &regcheck.Auth{Token: regchecktest.Token}
		}, regcheck.CodeAuthFailed},
		{"zot-mixed", func(d *regcheck.Definition) { d.BaseContentPath, d.Auth.Password = "public/hello", "wrong" },
			regcheck.CodeAuthFailed},
	} {
		t.Run(row.server, func(t *testing.T) {
			g := regchecktest.Start(t, row.server)
			words, err := g.Words()
			if err != nil {
				t.Fatal(err)
			}
			d := good()
			d.Endpoint, d.BasePath = g.Endpoint, g.BasePath
			if row.change != nil {
				row.change(&d)
			}
			c := checker(g, egress.Policy{}, matrixRow{})
			for step := range 3 {
				report, err := c.Check(t.Context(), regcheck.MustParse(t, d), nil)
				if err != nil {
					t.Fatal(err)
				}
				if report.Valid {
					if step == 0 {
						t.Fatal("valid without following any hint")
					}
					return
				}
				if step == 0 && report.Code != row.code {
					t.Fatalf("%s, want %s", report.Code, row.code)
				}
				t.Logf("%s: %s", report.Message, report.Hint)
				if proposesSame(report.Hint, d) {
					t.Errorf("the hint proposes what the definition has: %s", report.Hint)
				}
				if !follow(report.Hint, &d, words) {
					t.Fatalf("the hint has no action: %s", report.Hint)
				}
			}
			t.Error("not valid after three hints")
		})
	}
}

// Each hint must have one text and must not have another.
func TestHintsHaveCause(t *testing.T) {
	for _, row := range []struct {
		server, password string
		proxy            bool
		change           func(d *regcheck.Definition)
		contains, omits  string
	}{
		{server: "realm-closed", contains: "Start the token service at https://closed.test"},
		{server: "realm-unknown-host", contains: "unknown.test, does not exist", omits: "Start the token service"},
		{server: "realm-dns-unreachable", contains: "the DNS server must be reachable", omits: "external URL"},
		{server: "zot-mixed", password: "wrong", change: func(d *regcheck.Definition) { d.BaseContentPath = "charts/nginx" },
			contains: "Correct the username and password", omits: "noAuth"},
		{server: "bearer-direct", change: func(d *regcheck.Definition) { d.Auth = &regcheck.Auth{Token: "wrong"} },
			contains: "Correct", omits: "auth.username"},
		{server: "nexus", change: func(d *regcheck.Definition) { d.Auth = &regcheck.Auth{Type: regcheck.NoAuth} },
			contains: "auth.username", omits: "baseContentPath"},
		{server: "htpasswd", change: func(d *regcheck.Definition) { d.Endpoint = "https://registry.test/charts/unknown" },
			contains: "If charts/unknown is the path of the content", omits: "can be read"},
		{server: "open", change: func(d *regcheck.Definition) {
			d.Endpoint, d.Auth = "https://registry.test/charts/unknown", &regcheck.Auth{Type: regcheck.NoAuth}
		}, contains: "If charts/unknown is the path of the content", omits: "can be read"},
		{server: "harbor", change: func(d *regcheck.Definition) { d.Endpoint = "oci://registry.test/charts" },
			contains: "set baseContentPath to charts", omits: "web console"},
		{server: "htpasswd", change: func(d *regcheck.Definition) { d.BaseContentPath = "charts/ngimx" },
			contains: "If this is a pull-through cache, pull the content once"},
		{server: "redirect-cross-origin", contains: "set endpoint to https://other.test"},
		{server: "redirect-closed", change: func(d *regcheck.Definition) { d.Auth = &regcheck.Auth{Type: regcheck.NoAuth} },
			contains: "https://closed.test", omits: "redential"},
		{server: "redirect-to-private-ca", change: func(d *regcheck.Definition) { d.Auth = &regcheck.Auth{Type: regcheck.NoAuth} },
			contains: "other.test:443", omits: "redential"},
		{server: "redirect-downgrade", change: func(d *regcheck.Definition) { d.Auth = &regcheck.Auth{Type: regcheck.NoAuth} },
			contains: "http://", omits: "redential"},
		{server: "none", change: func(d *regcheck.Definition) { d.Endpoint = "https://dns-unreachable.test" },
			contains: "no DNS server can be reached", omits: "spelling"},
		{server: "none", change: func(d *regcheck.Definition) { d.Endpoint = "https://dns-servfail.test" },
			contains: "the DNS server reported a failure", omits: "spelling"},
		{server: "none", change: func(d *regcheck.Definition) { d.Endpoint = "https://dns-timeout.test" },
			contains: "no DNS server responded in time", omits: "spelling"},
		{server: "none", change: func(d *regcheck.Definition) { d.Endpoint = "https://unknown.test" }, contains: "spelling"},
		{server: "charts-archives-misnamed", change: func(d *regcheck.Definition) { d.Kind = regcheck.KindChartRepository },
			contains: "TLS at other.test must be corrected", omits: "Set endpoint"},
		{server: "proxy-names-only", proxy: true, contains: "ConnectName"},
		{server: "proxy-407", proxy: true, contains: "the proxy requires credentials", omits: "ConnectName"},
		{server: "proxy-no-realm", proxy: true, contains: "Correct the outbound proxy: it must allow auth.test:443",
			omits: "Start the token service"},
	} {
		t.Run(row.server, func(t *testing.T) {
			g := regchecktest.Start(t, row.server)
			d := regcheck.Definition{Endpoint: g.Endpoint,
				Auth: &regcheck.Auth{Username: regchecktest.User, Password: regchecktest.Password}}
			if row.password != "" {
				d.Auth.Password = secret.String(row.password)
			}
			if row.change != nil {
				row.change(&d)
			}
			report, err := checker(g, egress.Policy{}, matrixRow{Proxy: row.proxy}).Check(t.Context(), regcheck.MustParse(t, d), nil)
			if err != nil {
				t.Fatal(err)
			}
			text := report.Message + " " + report.Hint
			if !strings.Contains(text, row.contains) || row.omits != "" && strings.Contains(text, row.omits) {
				t.Errorf("want %q and not %q in: %s", row.contains, row.omits, text)
			}
			if leaks := g.Leaks(); len(leaks) > 0 {
				t.Errorf("leaked: %v", leaks)
			}
		})
	}
}

// The environment may name a proxy for SOCKS, which is not the fault of the registry.
func TestProxyForSOCKS(t *testing.T) {
	g := regchecktest.Start(t, "open")
	c := checker(g, egress.Policy{}, matrixRow{})
	c.Proxy = func(*url.URL) (*url.URL, error) { return url.Parse("socks5://proxy.test:1080") }
	d := regcheck.Definition{Endpoint: g.Endpoint, Auth: &regcheck.Auth{Type: regcheck.NoAuth}}
	report, err := c.Check(t.Context(), regcheck.MustParse(t, d), nil)
	if err != nil || report.Code != regcheck.CodeUnreachable || report.Retryable || report.Field != "" ||
		!strings.Contains(report.Message, "only HTTP proxies are supported") || !strings.Contains(report.Hint, "outbound proxy") {
		t.Errorf("%+v, %v", report, err)
	}
}

var (
	writeEndpoint = regexp.MustCompile(`[Ss]et endpoint to (https?://\S*[^\s.,;])`)
	writeBase     = regexp.MustCompile(`(?:Set|and) basePath to (\S*[^\s.,;])`)
	writeContent  = regexp.MustCompile(`set baseContentPath to (\S*[^\s.,;:])`)
	setContent    = regexp.MustCompile(`Set baseContentPath to (\S+):`)
	comesNear     = regexp.MustCompile(`similar names: ([^, ]+?)[,.](?: |$)`)
	comesNearAll  = regexp.MustCompile(`similar names: ([^.]+)\.`)
	fingerprint   = regexp.MustCompile(`auth\.tls\.ca to .* fingerprint ([0-9A-F:]+)`)
	caNamed       = regexp.MustCompile(`auth\.tls\.ca to .* certificate of "([^"]+)"`)
)

// follow applies a hint to a definition, and nothing else.
func follow(hint string, d *regcheck.Definition, words map[string]string) bool {
	before := fmt.Sprintf("%+v %+v", *d, *d.Auth)
	if m := writeEndpoint.FindStringSubmatch(hint); m != nil {
		d.Endpoint = m[1]
	}
	if strings.Contains(strings.ToLower(hint), "clear basepath") {
		d.BasePath = ""
	}
	if m := writeBase.FindStringSubmatch(hint); m != nil {
		d.BasePath = strings.TrimSuffix(m[1], ":")
	}
	if m := writeContent.FindStringSubmatch(hint); m != nil {
		d.BaseContentPath = m[1]
	}
	if m := setContent.FindStringSubmatch(hint); m != nil {
		d.BaseContentPath = m[1]
	}
	if m := comesNear.FindStringSubmatch(hint); m != nil {
		d.BaseContentPath = m[1]
	}
	for _, text := range words {
		block, _ := pem.Decode([]byte(text))
		if block == nil || block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue
		}
		byPrint, byName := fingerprint.FindStringSubmatch(hint), caNamed.FindStringSubmatch(hint)
		if byPrint != nil && byPrint[1] == printOf(block.Bytes) || byPrint == nil && byName != nil && byName[1] == c.Subject.CommonName {
			d.Auth.TLS.CA, d.Auth.TLS.Enabled = text, true
		}
	}
	if strings.Contains(hint, `auth.tls.certificate to a PEM client certificate issued by "Example Corp Client CA"`) {
		d.Auth.TLS = regcheck.TLS{Enabled: true, Certificate: words["clientCertificate"], Key: secret.String(words["clientKey"])}
	}
	if strings.Contains(hint, "set auth.username to the name of that user or robot account") {
		d.Auth.Username = regchecktest.User
	} else if strings.Contains(hint, "For public content, such as a public project of Harbor, set baseContentPath to its path") {
		d.BaseContentPath = "public/hello"
	} else if strings.Contains(hint, "remove them and set auth.type to noAuth") {
		d.Auth = &regcheck.Auth{Type: regcheck.NoAuth}
	}
	return before != fmt.Sprintf("%+v %+v", *d, *d.Auth)
}

// proposesSame reports whether a hint proposes a value that the definition has already.
func proposesSame(hint string, d regcheck.Definition) bool {
	for _, m := range comesNearAll.FindAllStringSubmatch(hint, -1) {
		if slices.Contains(strings.Split(m[1], ", "), strings.Trim(d.BaseContentPath, "/")) {
			return true
		}
	}
	for value, pattern := range map[string]*regexp.Regexp{d.Endpoint: writeEndpoint, d.BasePath: writeBase, d.BaseContentPath: setContent} {
		if m := pattern.FindStringSubmatch(hint); m != nil && strings.Trim(m[1], "/") == strings.Trim(value, "/") {
			return true
		}
	}
	return false
}

func printOf(der []byte) string {
	sum := sha256.Sum256(der)
	return strings.ReplaceAll(fmt.Sprintf("% X", sum[:]), " ", ":")
}
