package clouds

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/definitions"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/scan"
	"github.com/regwarden/regwarden/regcheck"
)

// files have registries for which their programs use an identity at a cloud.
const files = `apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: aws}
spec: {url: "oci://` + private + `/team/app", provider: aws}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: gcp}
spec: {url: "oci://` + artifact + `/team/app", provider: gcp}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: azure}
spec: {type: oci, url: "oci://` + acr + `/team/app", provider: azure}
---
apiVersion: v1
kind: Secret
metadata: {name: ca}
stringData: {ca.crt: "-----BEGIN CERTIFICATE-----"}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: other-ca}
spec: {url: "oci://` + private + `/team/other", provider: aws, certSecretRef: {name: ca}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: foreign}
spec: {url: "oci://registry.example.com/team/app", provider: aws}
`

func read(t *testing.T) model.Result {
	t.Helper()
	s := definitions.NewScanner(model.Options{})
	if err := s.AddReader("flux.yaml", bytes.NewReader([]byte(files))); err != nil {
		t.Fatal(err)
	}
	return s.Result()
}

// A scan uses the environment's credentials for the registries of their cloud only, and only if it is asked to.
func TestScanWithAmbientCredentials(t *testing.T) {
	w := newWorld(t)
	key := filepath.Join(t.TempDir(), "key.json")
	account := gcp("pull@p.iam.gserviceaccount.com", "k1")
	if err := os.WriteFile(key, []byte(account.GCP.ServiceAccount.Reveal()), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIAREADER")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "reader-secret-of-aws")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", key)
	t.Setenv("AZURE_TENANT_ID", "contoso")
	t.Setenv("AZURE_CLIENT_ID", "puller")
	t.Setenv("AZURE_CLIENT_SECRET", "")

	result := read(t)
	scan.Ambient(&result, nil)
	if s := result.Summary; s.Unresolved != 5 {
		t.Fatalf("not asked: %+v", s)
	}
	for _, r := range result.Registries {
		hinted := strings.Contains(string(r.Detail), "--ambient checks")
		if want := !strings.Contains(r.Definition.Endpoint+r.Definition.BaseContentPath, "other") &&
			!strings.Contains(r.Definition.Endpoint, "example.com"); hinted != want {
			t.Errorf("%s/%s: %s", r.Definition.Endpoint, r.Definition.BaseContentPath, r.Detail)
		}
	}

	result = read(t)
	w.Machine.AzureTenant, w.Machine.AzureIDs = "contoso", []string{"puller"}
	w.checker.Ambient = command.ProcessIdentity(true)
	scan.Ambient(&result, command.UseAmbient)
	scan.Checks{Check: func(ctx context.Context, plan *regcheck.Plan) (*regcheck.Report, error) {
		return w.checker.Check(ctx, plan, nil)
	}}.Run(t.Context(), &result)
	want := map[string]string{private + "/team/app": "valid", artifact + "/team/app": "valid",
		acr + "/team/app":       "valid", // by the managed identity of the machine
		private + "/team/other": "identity of its pod", "registry.example.com/team/app": "identity of its pod"}
	for _, r := range result.Registries {
		got := string(r.Detail)
		if r.Report != nil && r.Report.Valid && r.Notices[0].Code == model.NoticeAmbientCredentials {
			got = "valid"
		}
		if address := model.Address(r.Definition); !strings.Contains(got, want[address]) || want[address] == "" {
			t.Errorf("%s: %q, want %q; %+v", address, got, want[address], r.Report)
		}
	}
}
