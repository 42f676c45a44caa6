package regcheck

import (
	"context"
	"fmt"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// resolve looks up the host of the endpoint.
func (s *session) resolve(ctx context.Context) outcome {
	o := s.Home
	addresses, err := s.Wire.Lookup(ctx, o)
	if err != nil {
		return failed(s.diagnoseLookup(o, err))
	}
	s.found = addresses
	if len(addresses) == 0 {
		return unknown("%s does not resolve here; the proxy resolves it", o.Host)
	}
	if _, ok := o.Address(); ok {
		return passed("%s is an address", o.Host)
	}
	var shown []string
	for _, a := range addresses[:min(len(addresses), 3)] {
		shown = append(shown, a.String())
	}
	if more := len(addresses) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("%d more", more))
	}
	s.resolved = strings.Join(shown, ", ")
	// The addresses are named by the next stage, once they are allowed.
	return passed("%s has %s", o.Host, wire.Counted(len(addresses), "address", "addresses"))
}
