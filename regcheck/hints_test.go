package regcheck_test

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
	"github.com/regwarden/regwarden/secret"
)

// Each hint is followed to the letter, as a new user would; the definition must then be valid.
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
		{"artifactory", func(d *regcheck.Definition) { d.BasePath, d.BaseContentPath = "", "charts-local/charts/nginx" }, regcheck.CodeNotOCI},
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
		{"open-checks-credentials", func(d *regcheck.Definition) { d.Auth.Password = "wrong" }, regcheck.CodeAuthFailed},
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
				report, err := c.Check(t.Context(), d, nil)
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
				if !follow(report.Hint, &d, words) {
					t.Fatalf("the hint says nothing that can be done: %s", report.Hint)
				}
			}
			t.Error("not valid after three hints")
		})
	}
}

var (
	writeEndpoint = regexp.MustCompile(`[Ww]rite (https?://\S+) into endpoint`)
	writeBase     = regexp.MustCompile(`(?:Write|and) (\S+) into basePath`)
	writeContent  = regexp.MustCompile(`write (\S+) into baseContentPath`)
	setContent    = regexp.MustCompile(`Set baseContentPath to (\S+):`)
	comesNear     = regexp.MustCompile(`comes near: ([^,.]+)`)
	comesNearAll  = regexp.MustCompile(`comes near: ([^.]+)\.`)
	fingerprint   = regexp.MustCompile(`fingerprint ([0-9A-F:]+) into auth\.tls\.ca`)
	caNamed       = regexp.MustCompile(`certificate of "([^"]+)".* into auth\.tls\.ca`)
)

// follow does what a hint says, and nothing else.
func follow(hint string, d *regcheck.Definition, words map[string]string) bool {
	before := fmt.Sprintf("%+v %+v", *d, *d.Auth)
	if m := writeEndpoint.FindStringSubmatch(hint); m != nil {
		d.Endpoint = m[1]
	}
	if strings.Contains(hint, "eave basePath empty") {
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
	if strings.Contains(hint, `issued by "Example Corp Client CA" into auth.tls.certificate`) {
		d.Auth.TLS = regcheck.TLS{Enabled: true, Certificate: words["clientCertificate"], Key: secret.String(words["clientKey"])}
	}
	if strings.Contains(hint, "remove them and write the type noAuth") {
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
