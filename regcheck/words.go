package regcheck

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/regwarden/regwarden/egress"
)

// Words adapt the texts of a report to the program that checks. Zero fields mean general words.
type Words struct {
	Program string // its name in texts and requests; "regcheck" when empty
	// Forbidden says why an address is forbidden, as the end of a sentence, and what to do.
	Forbidden func(*egress.Forbidden) (reason, hint string)
	DNS       string // what to do when no DNS server can be reached
	// Proxy says what to do when the proxy does not connect to a target. byAddress means that it refused an address.
	Proxy func(target string, byAddress bool) (hint string)
}

// program stands in texts of ours for Words.Program. It is a private character, which cleanText removes from all texts of
// others.
const program = "\ue000"

func (w Words) name() string { return cmp.Or(w.Program, "regcheck") }

func (w Words) complete(text string) string { return strings.ReplaceAll(text, program, w.name()) }

func (w Words) forbidden(f *egress.Forbidden) (reason, hint string) {
	if w.Forbidden != nil {
		return w.Forbidden(f)
	}
	return fmt.Sprintf("the address policy forbids it (%s)", f.Class), "Use another address, or ask the operator of " + program + " to allow this one."
}

func (w Words) dns() string {
	return cmp.Or(w.DNS, "Contact the operator of "+program+": check that the DNS server runs and can be reached.")
}

func (w Words) proxy(target string, byAddress bool) string {
	if w.Proxy != nil {
		return w.Proxy(target, byAddress)
	}
	hint := "The definition is not at fault: check the outbound proxy, and whether it allows " + target + "."
	if byAddress {
		hint += " If it allows names only, set Checker.ProxyConnect to ConnectName."
	}
	return hint
}
