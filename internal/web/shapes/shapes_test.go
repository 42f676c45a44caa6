package shapes_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/strictjson"
	"github.com/regwarden/regwarden/internal/web/shapes"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// What a shape does not have stays in a definition that is replaced, and so does what Terraform's provider does not send of a chart
// repository. A new definition has only what was sent.
func TestDefinitionOverStoredOne(t *testing.T) {
	stored := regcheck.Definition{Kind: regcheck.KindChartRepository, Endpoint: "https://old.example.com", BaseContentPath: "app",
		References: []string{"app:1.0.0"}, Auth: &regcheck.Auth{Type: regcheck.Basic, Username: "old", Password: secret.Mask,
			TLS: regcheck.TLS{Enabled: true, CA: "the CA"}, PassCredentials: true}}
	for body, want := range map[string]regcheck.Auth{
		`{"type":"basic","username":"u","password":"p"}`: {Type: regcheck.Basic, Username: "u", Password: "p", TLS: stored.Auth.TLS,
			PassCredentials: true},
		`{"type":"noAuth","tls":{"enabled":true,"insecureSkipVerify":true}}`: {Type: regcheck.NoAuth, PassCredentials: true,
			TLS: regcheck.TLS{Enabled: true, InsecureSkipVerify: true}},
		`{"type":"noAuth","tls":{},"passCredentials":false}`: {Type: regcheck.NoAuth},
	} {
		data := []byte(`{"metadata":{"name":"n"},"spec":{"endpoint":"https://new.example.com","auth":` + body + `}}`)
		var sent shapes.HelmRequest
		if wrong, err := strictjson.Decode(data, &sent); err != nil || len(wrong) > 0 {
			t.Fatalf("%s: %v %v", body, wrong, err)
		}
		if unknown, _ := strictjson.Unknown(data, &sent); len(unknown) > 0 {
			t.Errorf("%s: unknown are %v", body, unknown)
		}
		input, over := shapes.HelmInput(&sent), stored
		over.Endpoint, over.Auth = "https://new.example.com", &want
		if diff := cmp.Diff(over, input.Over(stored)); diff != "" || input.Name != "n" {
			t.Errorf("%s: %s", body, diff)
		}
		if d := input.Definition; d.BaseContentPath != "" || d.References != nil || d.Auth.TLS.CA != "" || d.Kind != stored.Kind {
			t.Errorf("%s: new: %+v", body, d)
		}
	}
}

// The role with which an access key of ECR is used stays with the key, and its session token with this key only.
func TestECRDefinitionOverStoredOne(t *testing.T) {
	sent := func(credentials api.ECRCredentials) regcheck.Definition {
		private := true
		return shapes.ECRInput(&api.ECRRegistryRequest{Spec: api.ECRRegistrySpec{IsPrivate: &private, Credentials: &credentials,
			Endpoint: "123456789012.dkr.ecr.eu-west-1.amazonaws.com"}}).Over(regcheck.Definition{BasePath: "/x",
			References: []string{"app:1"}, Auth: &regcheck.Auth{Type: regcheck.ECR, AWS: &regcheck.AWSKey{AccessKey: "A",
				SecretKey: secret.Mask, SessionToken: secret.Mask, RoleARN: "role", ExternalID: "org"}}})
	}
	for want, d := range map[regcheck.AWSKey]regcheck.Definition{
		{AccessKey: "A", SecretKey: "s", SessionToken: secret.Mask, RoleARN: "role", ExternalID: "org"}: sent(
			api.ECRCredentials{AccessKey: "A", SecretKey: "s"}),
		{AccessKey: "B", SecretKey: "s", RoleARN: "role", ExternalID: "org"}: sent(api.ECRCredentials{AccessKey: "B", SecretKey: "s"}),
		{Ambient: true, RoleARN: "other"}: sent(api.ECRCredentials{CredentialType: api.CredentialTypeSTS,
			STS: &api.ECRRole{ARN: "other"}}),
	} {
		if got := *d.Auth.AWS; got != want || d.BasePath != "/x" || len(d.References) != 1 {
			t.Errorf("%+v %q %v, want %+v", got, d.BasePath, d.References, want)
		}
	}
}
