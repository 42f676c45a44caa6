package registries

import (
	"testing"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
	"github.com/regwarden/regwarden/regcheck"
)

// Only the operator may open a registry, and its secrets are used only with the target that they are stored with.
func TestOpen(t *testing.T) {
	k := mustNew(t)
	k.mustCreate(t, input("harbor"))
	asIs := func(*regcheck.Definition) error { return nil }
	for _, p := range []auth.Principal{k.Admin, k.Member, k.OtherAdmin} {
		if _, err := k.Open(t.Context(), p, "harbor", asIs); fault.KindOf(err) != fault.Forbidden {
			t.Errorf("%s opens: %v", p.Email, err)
		}
	}
	opened, err := k.Open(t.Context(), k.Operator(), "harbor", func(d *regcheck.Definition) error {
		if d.Auth.Password != mask {
			t.Error("change gets the secret")
		}
		d.BaseContentPath = "charts"
		return nil
	})
	if err != nil || opened.Definition.Auth.Password != registriestest.Password || opened.Definition.BaseContentPath != "charts" ||
		opened.Registry.Definition.Auth.Password != mask {
		t.Errorf("opened %+v: %v", opened, err)
	}
	_, err = k.Open(t.Context(), k.Operator(), "harbor", func(d *regcheck.Definition) error {
		d.Endpoint = "https://other.example.com"
		return nil
	})
	if fault.KindOf(err) != fault.Invalid {
		t.Errorf("the stored secret for another endpoint: %v", err)
	}
	other := auth.Operator()
	other.OrgUID = k.OtherAdmin.OrgUID
	if _, err := k.Open(t.Context(), other, "harbor", asIs); fault.KindOf(err) != fault.NotFound {
		t.Errorf("another organization's: %v", err)
	}
}
