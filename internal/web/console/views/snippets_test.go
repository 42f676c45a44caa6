package views

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

const hostile = "a'b\"c\\d\\\\e$(exit 9)f`exit 9`g${HOME}h%{if}i<j>&k\\$l"

// runInShell runs a snippet in a shell in which programs print their arguments and input.
func runInShell(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{caFile, certificateFile, keyFile, accountFile, appFile} {
		if err := os.WriteFile(dir+"/"+name, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `curl() { cat; }
regwarden() { if [ "$2" = - ]; then cat; else printf '%s\n' "$@"; fi; }
jq() { printf '"'; cat; printf '"'; }
`+text)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "REGISTRY_PASSWORD=the password", "REGISTRY_TOKEN=the token",
		"AWS_SECRET_ACCESS_KEY=the secret key", "AWS_SESSION_TOKEN=the session token", "AZURE_CLIENT_SECRET=the client secret",
		"REGWARDEN_SERVER=https://regwarden.test", "REGWARDEN_API_KEY=key")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, out, text)
	}
	return string(out)
}

// A shell gives the programs the definition, with secrets and certificates from variables and files.
func TestSnippetsForShells(t *testing.T) {
	files := regcheck.TLS{Enabled: true, CA: "PEM", Certificate: "PEM", Key: "hunter2", InsecureSkipVerify: true}
	for _, auth := range []regcheck.Auth{
		{Type: regcheck.NoAuth}, {Type: regcheck.Basic, Username: hostile, Password: "hunter2", TLS: files},
		{Type: regcheck.Token, Username: hostile, Token: "hunter2"},
	} {
		d := regcheck.Definition{Endpoint: "https://a.test:1/" + hostile, BasePath: hostile, BaseContentPath: "-x",
			References: []string{"a/b:1", hostile}, ProviderType: regcheck.Pack, Auth: &auth}
		var got regcheck.Definition
		if err := json.Unmarshal([]byte(runInShell(t, curlOf(d))), &got); err != nil {
			t.Fatal(err)
		}
		want, wantAuth := d, auth
		want.Auth = &wantAuth
		if auth.Type == regcheck.Basic {
			wantAuth.Password, wantAuth.TLS.CA, wantAuth.TLS.Certificate, wantAuth.TLS.Key = "the password", caFile, certificateFile,
				keyFile
		}
		if auth.Type == regcheck.Token {
			wantAuth.Token = "the token"
		}
		reveal := cmp.Transformer("reveal", func(s secret.String) string { return s.Reveal() })
		if diff := cmp.Diff(want, got, reveal); diff != "" {
			t.Errorf("curl with %s: %s", auth.Type, diff)
		}
		words := []string{"check", "--endpoint", d.Endpoint, "--base-path", d.BasePath, "--content", "-x", "--provider-type", "pack",
			"--auth-type", string(auth.Type)}
		if auth.Username != "" {
			words = append(words, "--username", auth.Username)
		}
		words = append(words, "--reference", "a/b:1", "--reference", hostile)
		if auth.TLS.Enabled {
			words = append(words, "--ca", caFile, "--cert", certificateFile, "--key", keyFile, "--insecure-skip-verify")
		}
		if diff := cmp.Diff(strings.Join(words, "\n")+"\n", runInShell(t, cliOf(d))); diff != "" {
			t.Errorf("command line with %s: %s", auth.Type, diff)
		}
		for _, s := range Snippets(d) {
			if strings.Contains(s.Text+s.Needs, "hunter2") {
				t.Errorf("%s has a secret", s.ID)
			}
		}
	}
}

// What credentials are obtained with comes from variables and files too.
func TestSnippetsOfClouds(t *testing.T) {
	for _, auth := range []struct{ given, want regcheck.Auth }{
		{regcheck.Auth{AWS: &regcheck.AWSKey{AccessKey: hostile, SecretKey: "hunter2", SessionToken: "hunter2", RoleARN: "r"}},
			regcheck.Auth{AWS: &regcheck.AWSKey{AccessKey: hostile, SecretKey: "the secret key", SessionToken: "the session token",
				RoleARN: "r"}}},
		{regcheck.Auth{AWS: &regcheck.AWSKey{SecretKey: "hunter2"}}, regcheck.Auth{AWS: &regcheck.AWSKey{SecretKey: "the secret key"}}},
		{regcheck.Auth{GCP: &regcheck.GCPKey{ServiceAccount: "hunter2"}},
			regcheck.Auth{GCP: &regcheck.GCPKey{ServiceAccount: accountFile}}},
		{regcheck.Auth{Azure: &regcheck.AzureClient{TenantID: hostile, ClientSecret: "hunter2"}},
			regcheck.Auth{Azure: &regcheck.AzureClient{TenantID: hostile, ClientSecret: "the client secret"}}},
		{regcheck.Auth{GitHub: &regcheck.GitHubApp{AppID: "7", PrivateKey: "hunter2"}},
			regcheck.Auth{GitHub: &regcheck.GitHubApp{AppID: "7", PrivateKey: appFile}}},
	} {
		auth.given.Type = regcheck.ECR // of those whose credentials are obtained
		auth.want.Type = auth.given.Type
		for name, snippet := range map[string]func(regcheck.Definition) string{"curl": curlOf, "command line": cliOf} {
			d := regcheck.Definition{Endpoint: hostile, Auth: &auth.given}
			var got regcheck.Definition
			if err := json.Unmarshal([]byte(runInShell(t, snippet(d))), &got); err != nil {
				t.Fatal(err)
			}
			reveal := cmp.Transformer("reveal", func(s secret.String) string { return s.Reveal() })
			if diff := cmp.Diff(regcheck.Definition{Endpoint: hostile, Auth: &auth.want}, got, reveal); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			for _, s := range Snippets(d) {
				if strings.Contains(s.Text+s.Needs, "hunter2") || s.Text == "" && s.ID != "terraform" {
					t.Errorf("%+v", s)
				}
			}
		}
	}
}

func TestTerraformSnippet(t *testing.T) {
	d := regcheck.Definition{Endpoint: "https://a.test", BasePath: `${x}%{y}"\<`,
		Auth: &regcheck.Auth{Type: regcheck.Basic, Username: "u", TLS: regcheck.TLS{Enabled: true, CA: "PEM", InsecureSkipVerify: true}}}
	const want = `resource "spectrocloud_registry_oci" "registry" {
  name = "registry"
  type = "basic"
  endpoint = "https://a.test"
  endpoint_suffix = "$${x}%%{y}\"\\<"
  is_private = true
  is_synchronization = true
  credentials {
    credential_type = "basic"
    username = "u"
    password = var.registry_password
    tls_config {
      certificate = file("ca.pem")
      insecure_skip_verify = true
    }
  }
}`
	if diff := cmp.Diff(want, terraformOf(d).Text); diff != "" {
		t.Error(diff)
	}
	for _, auth := range []regcheck.Auth{{Type: regcheck.Token}, {Type: regcheck.NoAuth, TLS: regcheck.TLS{Key: "k"}}} {
		d.Auth = &auth
		if s := terraformOf(d); s.Text != "" || s.Needs == "" {
			t.Errorf("%s: %+v", auth.Type, s)
		}
	}
}

// A chart repository is one in each program.
func TestSnippetsOfChartRepository(t *testing.T) {
	d := regcheck.Definition{Kind: regcheck.KindChartRepository, Endpoint: "https://charts.test",
		Auth: &regcheck.Auth{Type: regcheck.Token, Username: "u", Token: "hunter2"}}
	const want = `resource "spectrocloud_registry_helm" "registry" {
  name = "registry"
  endpoint = "https://charts.test"
  is_private = true
  credentials {
    credential_type = "token"
    username = "u"
    token = var.registry_token
  }
}`
	if diff := cmp.Diff(Snippet{"terraform", "Terraform", want, "Uses var.registry_token."}, terraformOf(d)); diff != "" {
		t.Error(diff)
	}
	if curl := curlOf(d); !strings.Contains(curl, `"kind": "chartRepository"`) {
		t.Error(curl)
	}
	d.Auth.PassCredentials = true
	words := []string{"check", "--endpoint", d.Endpoint, "--kind", "chartRepository", "--auth-type", "token", "--username", "u",
		"--pass-credentials"}
	if diff := cmp.Diff(strings.Join(words, "\n")+"\n", runInShell(t, cliOf(d))); diff != "" {
		t.Error(diff)
	}
	if s := terraformOf(d); s.Text != "" || s.Needs == "" {
		t.Errorf("%+v", s)
	}
}
