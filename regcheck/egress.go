package regcheck

import (
	"context"
	"strconv"
)

// egress evaluates every address of the endpoint's host. A denied address is neither contacted nor named: the report would
// reveal what our DNS returns.
func (s *session) egress(context.Context) outcome {
	o := s.Home
	if len(s.found) == 0 {
		_, _ = s.Wire.Admit(o, nil)
		return unknown("no address to judge; the proxy decides")
	}
	p, err := s.Wire.Admit(o, s.found)
	if err != nil {
		return failed(s.forbidden(err, "The endpoint "+o.Host+" leads to an address that may not be contacted on port "+strconv.Itoa(int(o.Port))))
	}
	if s.resolved == "" {
		s.resolved = o.Host
	}
	return passed("%s, %s", s.resolved, p.Narrowest)
}
