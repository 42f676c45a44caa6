package registries

import (
	"testing"

	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/regcheck"
)

// forbidden is a definition that the standard policy refuses before any packet leaves.
func forbidden(name string) Wanted {
	w := wanted(name)
	w.Definition.Endpoint = "http://127.0.0.1:1"
	return w
}

// Secrets are opened for the operator alone, and for where they are kept for.
func TestOpen(t *testing.T) {
	k := mustKeep(t)
	k.mustCreate(t, wanted("harbor"))
	asIs := func(*regcheck.Definition) error { return nil }
	for _, p := range []auth.Principal{k.admin, k.member, k.stranger} {
		if _, err := k.Open(t.Context(), p, "", "harbor", asIs); fault.KindOf(err) != fault.Forbidden {
			t.Errorf("%s opens: %v", p.Email, err)
		}
	}
	opened, err := k.Open(t.Context(), auth.Operator(), "A", "harbor", func(d *regcheck.Definition) error {
		if d.Auth.Password != mask {
			t.Error("the change sees the secret")
		}
		d.BaseContentPath = "charts"
		return nil
	})
	if err != nil || opened.Definition.Auth.Password != storedPassword || opened.Definition.BaseContentPath != "charts" || opened.Registry.Definition.Auth.Password != mask {
		t.Errorf("opened %+v: %v", opened, err)
	}
	_, err = k.Open(t.Context(), auth.Operator(), "A", "harbor", func(d *regcheck.Definition) error {
		d.Endpoint = "https://elsewhere.example.com"
		return nil
	})
	if fault.KindOf(err) != fault.Invalid {
		t.Errorf("the stored secret for another endpoint: %v", err)
	}
	if _, err := k.Open(t.Context(), auth.Operator(), "B", "harbor", asIs); fault.KindOf(err) != fault.NotFound {
		t.Errorf("another organization's: %v", err)
	}
}
