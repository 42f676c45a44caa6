package regcheck

import (
	"context"
	"strconv"
)

// egress judges every address of the endpoint's host. A denied address is neither contacted nor
// named: the answer would tell a stranger what our DNS says.
func (s *session) egress(context.Context) outcome {
	o := s.plan.base.origin
	if len(s.found) == 0 {
		_, _ = s.wire.judge(o, nil)
		return unknown("no address to judge; the proxy decides")
	}
	p, err := s.wire.judge(o, s.found)
	if err != nil {
		return failed(forbidden(err, "The endpoint "+o.host+" leads to an address that may not be contacted on port "+strconv.Itoa(int(o.port))))
	}
	if s.shown == "" {
		s.shown = o.host
	}
	return passed("%s, %s", s.shown, p.zone)
}
