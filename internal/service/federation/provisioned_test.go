package federation

import (
	"testing"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/storage/identities"
	"github.com/regwarden/regwarden/secret"
)

// provisioning returns a caller who provisions with a key of an administrator.
func (p *identityProvider) provisioning(t *testing.T) (directory.Provisioning, auth.Principal) {
	t.Helper()
	user, err := p.CreateUser(t.Context(), p.operator(), origin, directory.NewUser{Email: "root@example.com",
		Role: access.Admin, Password: "nine purple ducks on ice"})
	if err != nil {
		t.Fatal(err)
	}
	return directory.Provisioning{Directory: p.Directory}, auth.Principal{UserUID: user.UID, OrgUID: p.org.UID, OrgName: org,
		Email: user.Email, Role: access.Admin, Method: audit.MethodAPIKey, APIKeyUID: "key",
		Limit: access.Limit{Scope: access.ScopeProvision}}
}

// A person is the user that was provisioned with the external id of the login, and stays it.
func TestLoginOfAProvisionedUser(t *testing.T) {
	for name, claim := range map[string]string{"the subject": "", "another claim": "oid"} {
		p := mustProvider(t, func(of *directory.Provider) {
			if claim != "" {
				of.Claims = map[string]string{identities.ClaimExternalID: claim}
			}
		})
		id := "ada-7"
		if claim != "" {
			id = "object-1"
			p.set(func() { p.change = map[string]any{"oid": id} })
		}
		provisioning, key := p.provisioning(t)
		user, err := provisioning.CreateUser(t.Context(), key, origin,
			directory.ProvisionedUser{Email: "countess@example.com", ExternalID: id, Active: true})
		if err != nil {
			t.Fatal(err)
		}
		p.newRecords(t)
		for range 2 {
			done, err := p.login(t, nil)
			if err != nil {
				t.Fatalf("by %s: %v", name, err)
			}
			if who, err := p.principal(t, done); err != nil || who.UserUID != user.UID || who.Email != "countess@example.com" {
				t.Errorf("by %s: %+v, %v", name, who, err)
			}
		}
		linked := 0
		for _, record := range p.newRecords(t) {
			if record.Action == audit.UserLink && record.Object == user.UID && record.Target == "ada-7" {
				linked++
			}
		}
		if linked != 1 {
			t.Errorf("by %s: linked %d times", name, linked)
		}
		if _, err := provisioning.ChangeUser(t.Context(), key, origin, user.UID, func(u directory.ProvisionedUser) (
			directory.ProvisionedUser, error) {
			u.Active = false
			return u, nil
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.login(t, nil); reasonOf(err) != reasonUserDisabled {
			t.Errorf("by %s, deactivated: %v", name, err)
		}
	}
}

// An external id leads to no user that has a password, was not created by SCIM, or is someone else at the provider; an equal email leads
// to none in any case.
func TestExternalIDTakesOverNoAccount(t *testing.T) {
	p := mustProvider(t, nil)
	provisioning, key := p.provisioning(t)
	setID := func(uid, id string) {
		t.Helper()
		if _, err := provisioning.ChangeUser(t.Context(), key, origin, uid, func(u directory.ProvisionedUser) (
			directory.ProvisionedUser, error) {
			u.ExternalID = id
			return u, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	local, err := p.CreateUser(t.Context(), p.operator(), origin, directory.NewUser{Email: "ada@example.com",
		WithoutPassword: true})
	if err != nil {
		t.Fatal(err)
	}
	refused := func(why string) {
		t.Helper()
		if _, err := p.login(t, nil); reasonOf(err) != reasonEmailTaken {
			t.Errorf("%s: %v", why, err)
		}
	}
	setID(local.UID, "ada-7")
	refused("a local user without a password")
	setID(local.UID, "")

	other, err := provisioning.CreateUser(t.Context(), key, origin, directory.ProvisionedUser{Email: "b@example.com", ExternalID: "ada-7",
		Active: true})
	if err != nil {
		t.Fatal(err)
	}
	ref := other.UID
	if err := p.SetPassword(t.Context(), p.operator(), origin, ref, secret.String("nine purple ducks on ice")); err != nil {
		t.Fatal(err)
	}
	refused("a provisioned user with a password")

	third, err := provisioning.CreateUser(t.Context(), key, origin, directory.ProvisionedUser{Email: "c@example.com", ExternalID: "c",
		Active: true})
	if err != nil {
		t.Fatal(err)
	}
	providers := directory.Providers{Directory: p.Directory}
	if err := providers.Link(t.Context(), p.operator(), origin, third.UID, "eve-1"); err != nil {
		t.Fatal(err)
	}
	setID(other.UID, "")
	setID(third.UID, "ada-7")
	refused("a provisioned user with another subject")
}
