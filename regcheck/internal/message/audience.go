package message

import (
	"cmp"

	"github.com/regwarden/regwarden/egress"
)

// Audience has what depends on who reads a text: the name of the program, how the reader sets a field, and what the program's operator can
// change. Zero fields mean general texts.
type Audience struct {
	Program string // its name in texts and requests; "regcheck" when empty
	// Forbidden returns why an address is forbidden, as the end of a sentence, and what to do.
	Forbidden func(*egress.Forbidden) (reason, hint string)
	DNS       string // what to do if no DNS server can be reached
	Ambient   string // what to do if a definition may not use the identity of the process
	// Field returns how the user sets the field with this JSON path; nil: the path. It returns "" for
	// auth.tls.enabled if setting another field of auth.tls implies it.
	Field func(path string) string
	// Proxy returns what to do if the proxy does not connect to a target. byAddress means that it rejected an address.
	Proxy func(target string, byAddress bool) (hint string)
}

// Show returns a text for the audience.
func (a Audience) Show(text Text) string { return text.Show(a.name) }

// name shows a name of a text: the program, what follows a hint that sets another field of auth.tls, or a field.
func (a Audience) name(name string) string {
	switch field := a.field("auth.tls.enabled"); {
	case name == "program":
		return a.ProgramName()
	case name != "enableTLS":
		return a.field(name)
	case field != "":
		return " and " + field + " to true"
	}
	return ""
}

// ProgramName returns the name of the program.
func (a Audience) ProgramName() string { return cmp.Or(a.Program, "regcheck") }

func (a Audience) field(path string) string {
	if a.Field == nil {
		return path
	}
	return a.Field(path)
}

// WhyForbidden returns why an address is forbidden, and what to do.
func (a Audience) WhyForbidden(f *egress.Forbidden) (reason, hint Text) {
	if a.Forbidden == nil {
		return Of("the address policy forbids it (%s)", f.Class),
			"Set {endpoint} to another address, or ask the operator of {program} to allow this one."
	}
	why, todo := a.Forbidden(f)
	return Of("%s", why), Of("%s", todo)
}

// FixDNS returns what to do if no DNS server can be reached.
func (a Audience) FixDNS() Text {
	if a.DNS == "" {
		return "Contact the operator of {program}: the DNS server must be reachable."
	}
	return Of("%s", a.DNS)
}

// FixProxy returns what to do if the proxy does not connect to a target.
func (a Audience) FixProxy(target string, byAddress bool) Text {
	if a.Proxy != nil {
		return Of("%s", a.Proxy(target, byAddress))
	}
	hint := Of("Correct the outbound proxy: it must allow %s. The definition is not the cause.", target)
	if byAddress {
		hint += " If it allows names only, set Checker.ProxyConnect to ConnectName."
	}
	return hint
}
