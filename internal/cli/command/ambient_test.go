package command

import (
	"strings"
	"testing"

	"github.com/regwarden/regwarden/regcheck"
)

// The cloud is that of the registry's host. A role to assume remains; other credentials exclude --ambient.
func TestUseAmbient(t *testing.T) {
	const private = "123456789012.dkr.ecr.eu-west-1.amazonaws.com"
	role := regcheck.AWSKey{RoleARN: "arn:aws:iam::123456789012:role/pull"}
	for _, row := range []struct {
		endpoint string
		given    regcheck.Auth
		kind     regcheck.AuthType
		problem  string
	}{
		{private, regcheck.Auth{}, regcheck.ECR, ""},
		{"https://public.ecr.aws", regcheck.Auth{}, regcheck.ECR, ""},
		{private, regcheck.Auth{Type: regcheck.ECR, AWS: &role}, regcheck.ECR, ""},
		{"europe-west1-docker.pkg.dev", regcheck.Auth{}, regcheck.GCP, ""},
		{"corp.azurecr.io", regcheck.Auth{}, regcheck.Azure, ""},
		{"corp.azurecr.io", regcheck.Auth{Type: regcheck.ECR, AWS: &role}, "", "other credentials"},
		{private, regcheck.Auth{Username: "u", Password: "p"}, "", "other credentials"},
		{"harbor.example.com", regcheck.Auth{}, "", "harbor.example.com"},
		{"ghcr.io", regcheck.Auth{}, "", "ghcr.io"},
		{"evil.test/" + private, regcheck.Auth{}, "", "evil.test"}, // the host decides
	} {
		d := regcheck.Definition{Endpoint: row.endpoint, Auth: row.given.Clone()}
		err := UseAmbient(&d)
		if row.problem != "" {
			if err == nil || !strings.Contains(err.Error(), row.problem) {
				t.Errorf("%s: %v", row.endpoint, err)
			}
			continue
		}
		if _, problems := regcheck.Parse(d); err != nil || d.Auth.Kind() != row.kind || len(problems) > 0 {
			t.Errorf("%s: %v, %+v, %v", row.endpoint, err, d.Auth, problems)
		}
		if row.given.AWS != nil && (!d.Auth.AWS.Ambient || d.Auth.AWS.RoleARN != role.RoleARN) {
			t.Errorf("%s: the role: %+v", row.endpoint, d.Auth.AWS)
		}
	}
}
