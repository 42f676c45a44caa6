package regcheck

import (
	"strconv"

	"github.com/regwarden/regwarden/regcheck/internal/codes"
)

// admit evaluates every address of the endpoint's host. A denied address is not contacted and not named: the report would
// reveal what our DNS returns.
func (s subject) admit(found addresses) outcome {
	o := s.Home
	if len(found.all) == 0 {
		_, _ = s.Wire.Admit(o, nil)
		return codes.Unknown("no address to evaluate; the proxy resolves the name")
	}
	p, err := s.Wire.Admit(o, found.all)
	if err != nil {
		port := strconv.Itoa(int(o.Port))
		return codes.Failed(s.forbidden(err, "The endpoint "+o.Host+" has an address that must not be contacted on port "+port))
	}
	return codes.Passed("%s, %s", found.words, p.Narrowest)
}
