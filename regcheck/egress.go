package regcheck

import (
	"context"
	"strconv"
)

// egress evaluates every address of the endpoint's host. A denied address is not contacted and not named: the report would
// reveal what our DNS returns.
func (s *session) egress(context.Context) outcome {
	o := s.Home
	if len(s.found) == 0 {
		_, _ = s.Wire.Admit(o, nil)
		return unknown("no address to evaluate; the proxy resolves the name")
	}
	p, err := s.Wire.Admit(o, s.found)
	if err != nil {
		return failed(s.forbidden(err, "The endpoint "+o.Host+" has an address that must not be contacted on port "+strconv.Itoa(int(o.Port))))
	}
	if s.resolved == "" {
		s.resolved = o.Host
	}
	return passed("%s, %s", s.resolved, p.Narrowest)
}
