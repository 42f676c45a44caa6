package ambient

import (
	"testing"

	"github.com/regwarden/regwarden/regcheck"
)

func TestPolicy(t *testing.T) {
	for _, wrong := range []string{"", "aws", "aws:", "github:a", "a:aws"} {
		if p, err := Parse([]string{wrong}); err == nil {
			t.Errorf("%q: %v", wrong, p)
		}
	}
	p, err := Parse([]string{"aws:a", "gcp:a", "azure:b"})
	if err != nil {
		t.Fatal(err)
	}
	shared := &regcheck.Checker{}
	for org, want := range map[string]int{"a": 2, "b": 1, "c": 0, "": 0} {
		own := p.For(shared, org)
		switch {
		case want == 0 && own != shared:
			t.Errorf("%q got a checker of its own", org)
		case want > 0 && (len(own.Ambient.Clouds) != want || own.Ambient.ExternalID != ExternalID(org)):
			t.Errorf("%q: %+v", org, own.Ambient)
		}
	}
	if shared.Ambient != nil || ExternalID("a") == ExternalID("b") {
		t.Error("organizations share something")
	}
}
