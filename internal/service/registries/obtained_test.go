package registries

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// obtainedTypes has an example of each type whose credentials are obtained.
func obtainedTypes() []*regcheck.Auth {
	return []*regcheck.Auth{
		{Type: regcheck.ECR, AWS: &regcheck.AWSKey{AccessKey: "AKIA", SecretKey: "s1", SessionToken: "s2", RoleARN: "arn",
			ExternalID: "x"}},
		{Type: regcheck.GCP, GCP: &regcheck.GCPKey{ServiceAccount: "s1"}},
		{Type: regcheck.Azure, Azure: &regcheck.AzureClient{TenantID: "t", ClientID: "c", ClientSecret: "s1"}},
		{Type: regcheck.GitHub, GitHub: &regcheck.GitHubApp{AppID: "7", InstallationID: "70", PrivateKey: "s1"}},
	}
}

const ecrHost = "https://123456789012.dkr.ecr.eu-west-1.amazonaws.com"

func storedWith(a *regcheck.Auth) storedRegistry {
	r := RegistryInput{Definition: regcheck.Definition{Endpoint: ecrHost, Auth: a}}.row()
	r.HasPassword, r.HasToken = r.Secrets.Password != "", r.Secrets.Token != ""
	return storedRegistry{Registry: r}
}

// What is stored of a definition is the definition again, and what is shown of it has no secret.
func TestObtainedCredentialsAreStoredWhole(t *testing.T) {
	for _, a := range obtainedTypes() {
		stored := storedWith(a)
		if diff := cmp.Diff(a, definitionOf(stored.Registry).Auth); diff != "" {
			t.Errorf("%s: %s", a.Type, diff)
		}
		for _, s := range masked(stored.Registry).Auth.Secrets() {
			if *s.Value != "" && *s.Value != mask {
				t.Errorf("%s: %s is shown", a.Type, s.Field)
			}
		}
		for name, value := range stored.AuthSettings {
			if value == "s1" || value == "s2" {
				t.Errorf("%s: the secret is a setting, %s, which is not encrypted", a.Type, name)
			}
		}
	}
}

// A stored secret fills a gap only for the same identity: no other provider and no registry gets it.
func TestFillObtainedCredentials(t *testing.T) {
	ecr := obtainedTypes()[0]
	key := func(id, role string, value secret.String) *regcheck.Auth {
		return &regcheck.Auth{Type: regcheck.ECR, AWS: &regcheck.AWSKey{AccessKey: id, RoleARN: role, ExternalID: "x", SecretKey: value,
			SessionToken: value}}
	}
	password := storedWith(&regcheck.Auth{Type: regcheck.Basic, Username: "AWS", Password: "stored password"})
	for _, row := range []struct {
		name     string
		stored   storedRegistry
		sent     *regcheck.Auth
		secrets  []secret.String // of the filled definition, in the order of secretsOf
		unfilled int
	}{
		{"masks", storedWith(ecr), key("AKIA", "arn", mask), []secret.String{"", "", "", "s1", "s2"}, 0},
		{"empty: the session token is optional", storedWith(ecr), key("AKIA", "arn", ""), []secret.String{"", "", "", "s1", ""}, 0},
		{"another key", storedWith(ecr), key("AKIAOTHER", "arn", mask), []secret.String{"", "", "", mask, mask}, 2},
		{"another role", storedWith(ecr), key("AKIA", "another", mask), []secret.String{"", "", "", mask, mask}, 2},
		{"a stored password is not a key", password, key("AKIA", "", mask), []secret.String{"", "", "", mask, mask}, 2},
		{"a stored key is not a password", storedWith(ecr), &regcheck.Auth{Type: regcheck.Basic, Username: "AWS", Password: mask},
			[]secret.String{mask, "", ""}, 1},
		{"a stored key is not a token", storedWith(ecr), &regcheck.Auth{Type: regcheck.Token, Token: mask}, []secret.String{"", mask, ""},
			1},
		{"of another provider", storedWith(ecr), &regcheck.Auth{Type: regcheck.GCP, GCP: &regcheck.GCPKey{ServiceAccount: mask}},
			[]secret.String{"", "", "", mask}, 1},
	} {
		filled, unfilled, err := row.stored.fill(regcheck.Definition{Endpoint: ecrHost, Auth: row.sent})
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		var got []secret.String
		for _, s := range filled.Auth.Secrets() {
			got = append(got, *s.Value)
		}
		if diff := cmp.Diff(row.secrets, got); diff != "" || len(unfilled) != row.unfilled {
			t.Errorf("%s: %d unfilled, %s", row.name, len(unfilled), diff)
		}
	}
}

// Definitions that differ in what credentials are obtained with are different ones.
func TestObtainedCredentialsIdentify(t *testing.T) {
	seen := map[store.RegistryIdentity]string{}
	for _, a := range append(obtainedTypes(), &regcheck.Auth{Type: regcheck.ECR,
		AWS: &regcheck.AWSKey{AccessKey: "AKIA", SecretKey: "other"}},
		&regcheck.Auth{Type: regcheck.ECR, AWS: &regcheck.AWSKey{AccessKey: "AKIB", SecretKey: "other"}}) {
		id := identityOf(regcheck.Definition{Endpoint: ecrHost, Auth: a})
		if other, known := seen[id]; known {
			t.Errorf("%v has the identity of %s", a, other)
		}
		seen[id] = string(a.Type)
	}
}

// The record of an update has the names of the fields that it changed, also of what credentials are obtained with.
func TestChangedFieldsOfCredentials(t *testing.T) {
	types := obtainedTypes()
	password := &regcheck.Auth{Type: regcheck.Basic, Username: "u", Password: "p"}
	changed := func(a *regcheck.Auth, change func(*regcheck.Auth)) *regcheck.Auth {
		a = a.Clone()
		change(a)
		return a
	}
	for _, row := range []struct {
		name     string
		old, now *regcheck.Auth
		want     []string
	}{
		{"nothing", types[0], types[0], nil},
		{"key of AWS", types[0], changed(types[0], func(a *regcheck.Auth) { a.AWS.AccessKey, a.AWS.SecretKey = "other", "other" }),
			[]string{"auth.aws.accessKey", "auth.aws.secretKey"}},
		{"role of AWS removed", types[0], changed(types[0], func(a *regcheck.Auth) { a.AWS.RoleARN = "" }), []string{"auth.aws.roleArn"}},
		{"key of an app", types[len(types)-1], changed(types[len(types)-1], func(a *regcheck.Auth) { a.GitHub.PrivateKey = "other" }),
			[]string{"auth.github.privateKey"}},
		{"password", password, changed(password, func(a *regcheck.Auth) { a.Password = "other" }), []string{"auth.password"}},
		{"who gets the password", password, changed(password, func(a *regcheck.Auth) { a.PassCredentials = true }),
			[]string{"auth.passCredentials"}},
		{"type", password, &regcheck.Auth{Type: regcheck.Token, Token: "t"},
			[]string{"auth.type", "auth.username", "auth.password", "auth.token"}},
	} {
		if got := changedFields(storedWith(row.old).Registry, storedWith(row.now).Registry); !slices.Equal(got, row.want) {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
	untyped := password.Clone()
	untyped.Type = ""
	old, now := storedWith(untyped).Registry, storedWith(password).Registry
	now.ProviderType, now.Scope = string(regcheck.Helm), "tenant"
	if got := changedFields(old, now); got != nil {
		t.Errorf("defaults that are written: %q", got)
	}
}
