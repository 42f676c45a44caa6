package product

import (
	"net/http"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

func TestOf(t *testing.T) {
	for line, want := range map[string]Product{
		`Basic realm="https://123456789012.dkr.ecr.eu-west-1.amazonaws.com/",service="ecr.amazonaws.com"`: ECR,
		`Bearer realm="https://public.ecr.aws/token/",service="public.ecr.aws",scope="aws"`:               ECRPublic,
		`Bearer realm="https://ghcr.io/token",service="ghcr.io",scope="repository:user/image:pull"`:       GHCR,
		`Bearer realm="https://gitlab.example.com/jwt/auth",service="container_registry"`:                 GitLab,
		`Bearer realm="https://gitea.example.com/v2/token",service="container_registry",scope="*"`:        Unknown,
		`Bearer realm="https://auth.docker.io/token",service="registry.docker.io"`:                        Unknown,
		`Basic realm="Registry Realm"`: Unknown,
		"":                             Unknown,
	} {
		if got := Of(challenge.Offered(&wire.Response{Header: http.Header{"Www-Authenticate": {line}}})); got != want {
			t.Errorf("%s: %d, want %d", line, got, want)
		}
	}
}

// The 12 hours of ECR are for its user only.
func TestRenewNamesECROnlyForItsUser(t *testing.T) {
	for _, user := range []string{"ada", "robot$ci", "00000000-0000-0000-0000-000000000000"} {
		if hint := Unknown.Renew(user); strings.Contains(string(hint), "aws") {
			t.Errorf("%s: %s", user, hint)
		}
	}
	if !strings.Contains(string(Unknown.Renew("AWS")), "aws ecr get-login-password") {
		t.Error("AWS has no hint")
	}
}

// GitHub says what a token lacks, also where it refuses a repository.
func TestDeniedByGitHub(t *testing.T) {
	for body, want := range map[string]string{
		`{"errors":[{"code":"DENIED","message":"permission_denied: The token provided does not match expected ` +
			`scopes."}]}`: "read:packages:",
		`{"errors":[{"code":"DENIED","message":"Resource protected by organization SAML enforcement. You must grant your ` +
			`Personal Access token access to this organization."}]}`: "Configure SSO",
		`{"errors":[{"code":"DENIED","message":"denied"}]}`: "",
	} {
		a := &wire.Response{Body: []byte(body)}
		if got := string(GitHubToken(a)); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q", body, got)
		}
		if got := string(Denied("acme/app", a, true)); !strings.Contains(got, want) {
			t.Errorf("denied, %s: %q", body, got)
		}
	}
}
