package regcheck_test

import (
	"context"
	"net/netip"
	"testing"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck"
)

// mappedResolver returns an IPv4 address as the system's resolver may.
type mappedResolver struct{}

func (mappedResolver) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("::ffff:127.0.0.1")}, nil
}

func TestMappedAddressesAreShownPlainly(t *testing.T) {
	plan, problems := regcheck.Parse(regcheck.Definition{Endpoint: "http://localhost:1", Auth: &regcheck.Auth{}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	report, err := (&regcheck.Checker{Resolver: mappedResolver{}, Egress: egress.ForCommandLine()}).Check(t.Context(), plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := report.Stages[1].Detail; got != "127.0.0.1, host" {
		t.Errorf("the stage egress shows %q", got)
	}
}
