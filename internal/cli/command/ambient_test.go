package command

import (
	"strings"
	"testing"

	"github.com/regwarden/regwarden/regcheck"
)

func TestAmbient(t *testing.T) {
	environment := map[string]string{"AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "secret of aws", "AWS_ROLE_ARN": "arn"}
	for _, row := range []struct {
		endpoint string
		kind     regcheck.AuthType
		secrets  string
		without  string // the variable that is missing
		problem  string
	}{
		{"123456789012.dkr.ecr.eu-west-1.amazonaws.com", regcheck.ECR, "secret of aws", "", ""},
		{"https://public.ecr.aws", regcheck.ECR, "secret of aws", "", ""},
		{"europe-west1-docker.pkg.dev", regcheck.GCP, "ambient", "", ""},
		{"corp.azurecr.io", regcheck.Azure, "ambient", "", ""},
		{"public.ecr.aws", regcheck.ECR, "ambient", "AWS_ACCESS_KEY_ID", ""}, // a role of the pod, or that of the machine
		{"public.ecr.aws", "", "", "AWS_SECRET_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY"},
		{"harbor.example.com", "", "", "", "harbor.example.com"},
		{"evil.test/123456789012.dkr.ecr.eu-west-1.amazonaws.com", "", "", "", "evil.test"}, // the host decides
	} {
		a, err := ambient(row.endpoint, func(name string) string {
			if name == row.without {
				return ""
			}
			return environment[name]
		})
		if row.problem != "" {
			if err == nil || !strings.Contains(err.Error(), row.problem) || strings.Contains(err.Error(), "secret of") {
				t.Errorf("%s without %q: %v", row.endpoint, row.without, err)
			}
			continue
		}
		if err != nil || a.Type != row.kind {
			t.Errorf("%s: %v, %v", row.endpoint, a, err)
			continue
		}
		if a.AWS != nil && a.AWS.RoleARN != "" { // AWS_ROLE_ARN is for web identities
			t.Errorf("%s: assumes the role %s", row.endpoint, a.AWS.RoleARN)
		}
		secrets := secretOf(a)
		if secrets != row.secrets {
			t.Errorf("%s: secrets %q", row.endpoint, secrets)
		}
	}
}

func secretOf(a *regcheck.Auth) string {
	if a.AWS != nil && a.AWS.Ambient || a.GCP != nil && a.GCP.Ambient || a.Azure != nil && a.Azure.Ambient {
		return "ambient"
	}
	return a.AWS.SecretKey.Reveal()
}
