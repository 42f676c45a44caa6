package registries

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// target is the server of a definition and its trusted certificates. Targets with the same number are equal.
type target struct {
	number             int
	endpoint, basePath string
	tls                regcheck.TLS
}

var targets = []target{
	{1, "https://registry.example.com", "", regcheck.TLS{}},
	{1, " registry.example.com:443/ ", "/v2/", regcheck.TLS{CA: "not counted", InsecureSkipVerify: true}},
	{1, "oci://REGISTRY.example.com/v2", "", regcheck.TLS{Enabled: true}},
	{2, "http://registry.example.com", "", regcheck.TLS{}},
	{3, "https://registry.example.com:5000", "", regcheck.TLS{}},
	{4, "https://registry.example.org", "", regcheck.TLS{}},
	{5, "https://registry.example.com", "artifactory/api", regcheck.TLS{}},
	{5, "https://registry.example.com/artifactory", "/api/", regcheck.TLS{}},
	{6, "https://registry.example.com", "", regcheck.TLS{Enabled: true, InsecureSkipVerify: true}},
	{7, "https://registry.example.com", "", regcheck.TLS{Enabled: true, CA: "ca"}},
	{8, "https://registry.example.com", "", regcheck.TLS{Enabled: true, Certificate: "certificate"}},
	{9, "https://registry.example.com", "", regcheck.TLS{Enabled: true, Certificate: "another"}},
	{10, "https://attacker.example", "", regcheck.TLS{Enabled: true, Certificate: "certificate"}},
}

const (
	storedToken secret.String = "stored token"
	storedKey   secret.String = "stored key"
)

func drawStored(t *rapid.T) (storedRegistry, target) {
	at := rapid.SampledFrom(targets).Draw(t, "stored target")
	one := func(name string, value secret.String) secret.String {
		return rapid.SampledFrom([]secret.String{"", value}).Draw(t, name)
	}
	r := store.Registry{Endpoint: at.endpoint, BasePath: at.basePath, AuthType: string(drawType(t, "stored type")),
		TLSEnabled: at.tls.Enabled, TLSSkipVerify: at.tls.InsecureSkipVerify, CA: at.tls.CA, Certificate: at.tls.Certificate,
		Secrets: store.RegistrySecrets{Password: one("stored password", registriestest.Password), Token: one("stored token", storedToken),
			Key: one("stored key", storedKey)}}
	r.HasPassword, r.HasToken, r.HasKey = r.Secrets.Password != "", r.Secrets.Token != "", r.Secrets.Key != ""
	k := storedRegistry{Registry: r}
	if rapid.Bool().Draw(t, "damaged") && r.Secrets != (store.RegistrySecrets{}) {
		k.Secrets, k.damage = store.RegistrySecrets{}, seal.ErrDamaged
	}
	return k, at
}

func drawType(t *rapid.T, name string) regcheck.AuthType {
	return rapid.SampledFrom([]regcheck.AuthType{"", regcheck.NoAuth, regcheck.Basic, regcheck.Token}).Draw(t, name)
}

func drawSent(t *rapid.T) (regcheck.Definition, target) {
	at := rapid.SampledFrom(targets).Draw(t, "sent target")
	value := func(name string) secret.String {
		return rapid.SampledFrom([]secret.String{"", mask, "sent"}).Draw(t, name)
	}
	tls := at.tls
	tls.Key = value("sent key")
	return regcheck.Definition{Endpoint: at.endpoint, BasePath: at.basePath, BaseContentPath: "c", Auth: &regcheck.Auth{
		Type: drawType(t, "sent type"), Username: rapid.SampledFrom([]string{"", "ada"}).Draw(t, "user"),
		Password: value("sent password"), Token: value("sent token"), TLS: tls}}, at
}

// For all stored and sent definitions: a stored secret is used only with its own target, and a mask is never used as a secret.
func TestStoredSecretsAreUsedOnlyWithTheirTarget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stored, storedAt := drawStored(t)
		sent, sentAt := drawSent(t)
		before := *sent.Auth
		filled, unfilled, err := stored.fill(sent)
		if *sent.Auth != before {
			t.Fatal("what was sent is changed")
		}
		if err != nil {
			if stored.damage == nil || storedAt.number != sentAt.number {
				t.Fatalf("unexpected error: %v", err)
			}
			return
		}
		unfilledFields := map[string]bool{}
		for _, p := range unfilled {
			unfilledFields[p.Field] = true
		}
		a := filled.Auth
		for _, f := range []struct {
			field               string
			got, sent, ofRecord secret.String
			belongs             bool
		}{
			{"auth.password", a.Password, before.Password, registriestest.Password, a.Kind() == regcheck.Basic},
			{"auth.token", a.Token, before.Token, storedToken, a.Kind() == regcheck.Token},
			{"auth.tls.key", a.TLS.Key, before.TLS.Key, storedKey, true},
		} {
			switch {
			case f.got == f.ofRecord && (storedAt.number != sentAt.number || !f.belongs || stored.damage != nil):
				t.Fatalf("the stored %s goes from target %d to %d, type %q", f.field, storedAt.number, sentAt.number, a.Kind())
			case f.got == mask && !unfilledFields[f.field]:
				t.Fatalf("the mask is accepted as %s", f.field)
			case f.sent == "sent" && f.got != "sent":
				t.Fatalf("%s was sent and is %q now", f.field, f.got.Reveal())
			case f.got != f.sent && f.got != f.ofRecord && f.got != "":
				t.Fatalf("%s became %q", f.field, f.got.Reveal())
			}
		}
		clear := func(d regcheck.Definition) regcheck.Definition {
			auth := *d.Auth
			auth.Password, auth.Token, auth.TLS.Key = "", "", ""
			d.Auth = &auth
			return d
		}
		if diff := cmp.Diff(clear(sent), clear(filled)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// The stored registry has a value for each field.
func TestFill(t *testing.T) {
	tls := regcheck.TLS{Enabled: true, Certificate: "certificate"}
	record := storedRegistry{Registry: store.Registry{Endpoint: "https://r.example.com", AuthType: "basic", Username: "ada",
		TLSEnabled: true, Certificate: "certificate",
		HasPassword: true, HasKey: true, Secrets: store.RegistrySecrets{Password: registriestest.Password, Key: storedKey}}}
	damaged := record
	damaged.Secrets, damaged.damage = store.RegistrySecrets{}, seal.ErrDamaged
	sent := func(endpoint string, a regcheck.Auth) regcheck.Definition {
		return regcheck.Definition{Endpoint: endpoint, Auth: &a}
	}
	const here, other = "r.example.com", "https://evil.example"
	with := func(key secret.String, certificate string) regcheck.TLS {
		return regcheck.TLS{Enabled: true, Certificate: certificate, Key: key}
	}
	for _, tt := range []struct {
		name     string
		stored   storedRegistry
		sent     regcheck.Definition
		password secret.String
		token    secret.String
		key      secret.String
		unfilled string // fields, or "unreadable"
	}{
		{"empty", record, sent(here, regcheck.Auth{Type: "basic", Username: "ada", TLS: tls}), registriestest.Password, "", storedKey, ""},
		{"masked", record, sent(here, regcheck.Auth{Type: "basic", Username: "ada", Password: mask, TLS: with(mask, "certificate")}),
			registriestest.Password, "", storedKey, ""},
		{"all sent", record, sent(here, regcheck.Auth{Type: "basic", Username: "ada", Password: "p", TLS: with("k", "certificate")}), "p",
			"", "k", ""},
		{"type derived from the user", record, sent(here, regcheck.Auth{Username: "ada", TLS: tls}),
			registriestest.Password, "", storedKey, ""},
		{"type derived from the mask", record, sent(here, regcheck.Auth{Password: mask, TLS: tls}),
			registriestest.Password, "", storedKey, ""},
		{"another target, empty", record, sent(other, regcheck.Auth{Type: "basic", Username: "ada", TLS: tls}), "", "", "",
			"auth.password auth.tls.key"},
		{"another target, masked", record,
			sent(other, regcheck.Auth{Type: "basic", Username: "ada", Password: mask, TLS: with(mask, "certificate")}), mask, "", mask,
			"auth.password auth.tls.key"},
		{"another target, all sent", record,
			sent(other, regcheck.Auth{Type: "basic", Username: "ada", Password: "p", TLS: with("k", "certificate")}), "p", "", "k", ""},
		{"another certificate alone", record,
			sent(here, regcheck.Auth{Type: "basic", Username: "ada", Password: "p", TLS: with("", "ca")}), "p", "", "", ""},
		{"another certificate, the mask of the key", record,
			sent(here, regcheck.Auth{Type: "basic", Username: "ada", Password: "p", TLS: with(mask, "another")}), "p",
			"", mask, "auth.tls.key"},
		{"TLS switched off", record, sent(here,
			regcheck.Auth{Type: "basic", Username: "ada", TLS: regcheck.TLS{Certificate: "certificate"}}), "", "", "", "auth.password"},
		{"no credentials any more", record,
			sent(here, regcheck.Auth{Type: "noAuth", Password: mask, Token: mask, TLS: tls}), "", "", storedKey, ""},
		{"a token instead", record, sent(here, regcheck.Auth{Type: "token", Token: "t", Password: mask, TLS: tls}), "", "t", storedKey, ""},
		{"a token that is not stored", record, sent(here, regcheck.Auth{Type: "token", Token: mask, TLS: tls}), "",
			mask, storedKey, "auth.token"},
		{"an empty token that is not stored", record, sent(here, regcheck.Auth{Type: "token", TLS: tls}), "", "", storedKey, ""},
		{"damaged, needed", damaged, sent(here, regcheck.Auth{Type: "basic", Username: "ada", TLS: tls}), "", "", "", "unreadable"},
		{"damaged, all sent", damaged,
			sent(here, regcheck.Auth{Type: "basic", Username: "ada", Password: "p", TLS: with("k", "certificate")}), "p", "", "k", ""},
		{"damaged, another target", damaged, sent(other, regcheck.Auth{Type: "basic", Username: "ada", TLS: with("k", "certificate")}), "",
			"", "k", "auth.password"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			filled, unfilled, err := tt.stored.fill(tt.sent)
			if tt.unfilled == "unreadable" {
				if codeOf(err) != CodeSecretUnreadable || fault.KindOf(err) != fault.Conflict {
					t.Errorf("got %v, want %s", err, CodeSecretUnreadable)
				}
				return
			}
			var fields []string
			for _, p := range unfilled {
				fields = append(fields, p.Field)
			}
			if got := strings.Join(slices.Sorted(slices.Values(fields)), " "); err != nil || got != tt.unfilled {
				t.Errorf("unfilled %q, %v; want %q", got, err, tt.unfilled)
			}
			if a := filled.Auth; a.Password != tt.password || a.Token != tt.token || a.TLS.Key != tt.key {
				t.Errorf("password %q, token %q, key %q", a.Password.Reveal(), a.Token.Reveal(), a.TLS.Key.Reveal())
			}
		})
	}
	if filled, unfilled, err := record.fill(regcheck.Definition{Endpoint: here}); filled.Auth != nil || unfilled != nil || err != nil {
		t.Error("a definition without auth was filled")
	}
}
