package regcheck

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/codes"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// addresses are those of the endpoint's host, none if a proxy resolves it.
type addresses struct {
	all   []netip.Addr
	words string // for the next stage, once they are allowed
}

// resolve looks up the host of the endpoint.
func (s subject) resolve(ctx context.Context) (found addresses, out outcome) {
	o := s.Home
	all, err := s.Wire.Lookup(ctx, o)
	if err != nil {
		return found, codes.Failed(s.diagnoseLookup(o, err))
	}
	found = addresses{all, o.Host}
	if len(all) == 0 {
		return found, codes.Unknown("%s does not resolve here; the proxy resolves it", o.Host)
	}
	if _, ok := o.Address(); ok {
		return found, codes.Passed("%s is an address", o.Host)
	}
	var shown []string
	for _, a := range all[:min(len(all), 3)] {
		shown = append(shown, a.Unmap().String()) // the system's resolver may return IPv4 addresses as IPv6
	}
	if more := len(all) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("%d more", more))
	}
	found.words = strings.Join(shown, ", ")
	return found, codes.Passed("%s has %s", o.Host, wire.Counted(len(all), "address", "addresses"))
}
