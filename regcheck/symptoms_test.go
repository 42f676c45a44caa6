package regcheck_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
)

// symptom is a problem that users have searched the web for. The report must name its cause and its fix.
type symptom struct {
	name, server string
	definition   string // JSON; without an endpoint it gets the server's own
	want         string // code, reason, field; or warnings, if valid
	cause, fix   string
}

// basicAuth returns the member auth of a definition.
func basicAuth(user, password string) string {
	return fmt.Sprintf(`"auth":{"type":"basic","username":%q,"password":%q}`, user, password)
}

const (
	noAuth   = `"auth":{"type":"noAuth"}`
	userAuth = `"auth":{"type":"basic","username":"${user}","password":"${password}"}`
)

func symptoms() []symptom {
	expired := "eyJhbGciOiJub25lIn0." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"iat":%d,"exp":%d}`,
		time.Now().Add(-5*time.Hour).Unix(), time.Now().Add(-2*time.Hour).Unix())) + ".c2ln"
	return []symptom{
		{"robot$x lost in a shell", "harbor", basicAuth("robot", "${robotPassword}"), "RegistryAuthFailed refused auth.username",
			"a shell replaces $name", "Set auth.username to the whole name of the robot account"},
		{"chartrepo/ in the content path", "harbor", `"baseContentPath":"chartrepo/charts",` + userAuth,
			"RegistryAccessDenied  baseContentPath",
			"Harbor 2.8 removed ChartMuseum", "Set baseContentPath to charts and push the charts there with oci://"},
		{"chartrepo/ in the endpoint", "harbor", `"endpoint":"https://registry.test/chartrepo/charts",` + userAuth,
			"RegistryNotOCI html endpoint",
			"returned a web page", "set baseContentPath to charts"},
		{"a page with Basic on each path", "page-behind-basic", `"endpoint":"https://registry.test/charts",` + userAuth,
			"RegistryNotOCI html endpoint", "returned a web page", "Set endpoint to the address of the registry"},
		{"x509: certificate signed by unknown authority", "tls-private-ca", userAuth, "RegistryTLSFailed unknownAuthority auth.tls.ca",
			"an authority that is not trusted", "Set auth.tls.ca to the PEM CA certificate"},
		{"expired token at GHCR, public chart", "ghcr", `"baseContentPath":"public/hello",` + basicAuth("${user}", "${wrongPassword}"),
			"RegistryAuthFailed anonymousWorks auth.password", "anonymous access works", "Renew the credentials, or remove them"},
		{"GHCR without login", "ghcr", `"baseContentPath":"charts/nginx",` + noAuth, "RegistryAuthRequired  auth.type",
			"cannot be read without credentials", "Set auth.username and auth.password"},
		{"expired password at ECR", "ecr", basicAuth("AWS", "${expiredPassword}"), "RegistryAuthFailed expired auth.password",
			"The credentials have expired", "aws ecr get-login-password"},
		{"no basic auth credentials at ECR", "ecr", noAuth, "RegistryAuthRequired  auth.type",
			"requires credentials, and the definition has none",
			"Set auth.username to AWS and auth.password to the output of `aws ecr get-login-password`"},
		{"another user at ECR", "ecr", basicAuth("${user}", "${wrongPassword}"), "RegistryAuthFailed refused auth.username",
			"rejected the credentials", "Set auth.username to AWS"},
		{"not authorized to perform ecr:BatchGetImage", "ecr", `"baseContentPath":"vault/secret",` + basicAuth("AWS", "${password}"),
			"RegistryAccessDenied  baseContentPath", "User is not authorized to perform",
			"Allow the user or role the action ecr:ListImages on this repository"},
		{"stale login at ECR Public", "ecr-public", basicAuth("AWS", "${expiredPassword}"), "RegistryAuthFailed expired auth.password",
			"authorization token has expired",
			"aws ecr-public get-login-password --region us-east-1`, or remove the credentials and set auth.type to noAuth"},
		{"toomanyrequests, anonymous", "toomanyrequests", noAuth, "RegistryUnavailable  ",
			"unauthenticated pull rate limit", "Set auth.username and auth.password to log in"},
		{"toomanyrequests, with a time", "limited-seconds", userAuth, "RegistryUnavailable  ",
			"429", "Retry-After: 17), or use an account with a higher limit"},
		{"toomanyrequests at a pull", "keppel", `"baseContentPath":"charts/nginx",` + userAuth, "contentNotReadable",
			"429 (TOOMANYREQUESTS", "wait, log in, or use an account with a higher limit"},
		{"server gave HTTP response to HTTPS client", "htpasswd-http", `"endpoint":"https://registry.test:80",` + userAuth,
			"RegistryTLSFailed notTLS endpoint",
			"it may be a plain HTTP server", "Set endpoint to http://registry.test:80"},
		{"realm is http", "realm-http", userAuth, "RegistryTokenServiceFailed realmInsecure ",
			"its token service uses http",
			"Correct the external URL in the configuration of the registry: the realm must begin with https://"},
		{"realm lost its port", "realm-lost-port", userAuth, "RegistryTokenServiceFailed realmUnreachable ",
			"has lost the port 8443", "pass the Host header with the port"},
		{"certificate relies on legacy Common Name field", "tls-no-san", userAuth, "RegistryTLSFailed hostnameMismatch endpoint",
			"clients ignore the common name", "Install a certificate on the server that has the subject alternative name"},
		{"doesn't contain any IP SANs", "tls-ip-without-san", userAuth, "RegistryTLSFailed hostnameMismatch endpoint",
			"served a certificate for registry.test, auth.test, not for \"10.20.30.40\"", "Set endpoint to a name of the certificate"},
		{"uppercase repository", "htpasswd", `"baseContentPath":"Charts/Nginx",` + userAuth,
			"RegistryContentNotFound nameInvalid baseContentPath",
			"uppercase letters are not allowed", "Set baseContentPath to charts/nginx"},
		{"Permission artifactregistry.repositories.downloadArtifacts denied", "google", `"baseContentPath":"vault/secret",` + userAuth,
			"RegistryAccessDenied  baseContentPath", "(or it may not exist)", "Google: artifactregistry.repositories.downloadArtifacts"},
		{"Nexus accepts any password", "nexus-anonymous", basicAuth("${user}", "${wrongPassword}"), "credentialsNotChecked",
			"nothing shows whether they are correct", "Set auth.type to noAuth if the registry is public"},
		{"GitLab 403 after login", "gitlab", `"baseContentPath":"images/alpine",` + basicAuth("${robot}", "${robotPassword}"),
			"RegistryAccessDenied  baseContentPath",
			"The credentials are valid, but", "GitLab: read_registry"},
		{"GitLab token without its scope", "gitlab", basicAuth("${user}", "${wrongPassword}"), "RegistryAuthFailed refused auth.password",
			"403 (DENIED: access forbidden)", "a token without the scope read_registry in the same way"},
		{"GHCR token without its scope", "ghcr", basicAuth("${user}", "${wrongPassword}"), "RegistryAuthFailed refused auth.password",
			"403 (DENIED: denied)", "a token without the scope read:packages in the same way"},
		{"group at GitLab, without its list", "gitlab-group", `"baseContentPath":"charts",` + basicAuth("${robot}", "${robotPassword}"),
			"RegistryAccessDenied  baseContentPath", "only per repository",
			"set baseContentPath to one of these repositories. Otherwise grant"},
		{"public repositories of Quay", "quay-per-repository", `"baseContentPath":"public",` + noAuth, "RegistryAuthRequired  auth.type",
			"makes only single repositories public", "set baseContentPath to one of these repositories"},
		{"public repository below a refused path", "public-per-repository", `"baseContentPath":"public",` + noAuth,
			"RegistryAuthRequired  auth.type",
			"public cannot be read without credentials", "Set baseContentPath to a public repository, such as public/hello"},
		{"organization at Quay, from its catalog", "quay-per-repository",
			`"baseContentPath":"charts",` + basicAuth("${robot}", "${robotPassword}"), "",
			"charts/nginx can be read, but charts is refused", "set baseContentPath to one of them"},
		{"Harbor project not found", "harbor", `"baseContentPath":"missing/nginx",` + userAuth, "RegistryAccessDenied  baseContentPath",
			"the registry has no project missing", "Correct the project in baseContentPath, or create it"},
		{"classic Helm repository", "classic-helm", userAuth, "RegistryNotOCI classicHelm endpoint",
			"the index of a classic Helm repository", "Set endpoint to the address of an OCI registry"},
		{"Artifactory without the repository key", "artifactory", `"basePath":"","baseContentPath":"charts-local/charts/nginx",` + userAuth,
			"RegistryNotOCI notFound basePath", "There is no OCI registry API at this path",
			"Set basePath to artifactory/api/docker/charts-local"},
		{"chart's name missing at the end", "ghcr", `"baseContentPath":"charts",` + userAuth, "",
			"charts is not a repository", "If the chart's name is missing at the end of baseContentPath, append it"},
		{"expired token of ACR", "acr", basicAuth("00000000-0000-0000-0000-000000000000", expired),
			"RegistryAuthFailed refused auth.password",
			"An Azure Container Registry token expired 2 hours ago", "az acr login --expose-token"},
		{"intermediate certificate not sent", "tls-missing-intermediate", userAuth, "RegistryTLSFailed missingIntermediate ",
			"without the certificate of its issuer", "the server must send its whole certificate chain"},
		{"client certificate missing", "tls-client-required", userAuth, "RegistryTLSFailed clientCertificateRequired auth.tls.certificate",
			"requires a client certificate", "Set auth.tls.certificate to a PEM client certificate issued by"},
		{"client certificate requested, 401", "tls-client-requested", noAuth, "RegistryAuthRequired  auth.type",
			"The server also requests a client certificate, and none was sent", "set auth.tls.certificate"},
		{"client certificate requested, wrong password", "tls-client-requested", basicAuth("${user}", "${wrongPassword}"),
			"RegistryAuthFailed refused auth.password",
			"The server also requests a client certificate, and none was sent", "set auth.tls.certificate"},
		{"client certificate requested, 403", "tls-client-forbidden", noAuth, "RegistryAccessDenied  auth.tls.certificate",
			"The server requests one", "Set auth.tls.certificate to a PEM client certificate, auth.tls.key to its key"},
		{"cold pull-through cache", "cold-cache", `"baseContentPath":"charts",` + noAuth, "",
			"like that of a pull-through cache before the first pull", "pull the content once"},
	}
}

func TestSymptoms(t *testing.T) {
	for _, row := range symptoms() {
		t.Run(row.name, func(t *testing.T) {
			g := regchecktest.Start(t, row.server)
			one := matrixRow{Name: row.name, Definition: []byte("{" + row.definition + "}")}
			if !strings.Contains(row.definition, `"basePath"`) && g.BasePath != "" {
				one.Definition = []byte(`{"basePath":"` + g.BasePath + `",` + row.definition + "}")
			}
			report, err := checker(g, egress.Policy{}, one).Check(t.Context(), regcheck.MustParse(t, mustDefinition(t, g, one)), nil)
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprintf("%s %s %s", report.Code, report.Reason, report.Field)
			if report.Valid {
				got = strings.Join(warningCodes(report), " ")
			}
			if got != row.want {
				t.Errorf("%q, want %q", got, row.want)
			}
			text, err := json.Marshal(report)
			if err != nil {
				t.Fatal(err)
			}
			var shown strings.Builder
			fmt.Fprintln(&shown, report.Message, report.Hint)
			for _, w := range report.Warnings {
				fmt.Fprintln(&shown, w.Message)
			}
			for _, s := range report.Stages {
				fmt.Fprintln(&shown, s.Detail)
			}
			if !strings.Contains(shown.String(), row.cause) || !strings.Contains(shown.String(), row.fix) {
				t.Errorf("want %q and %q in: %s", row.cause, row.fix, text)
			}
		})
	}
}
