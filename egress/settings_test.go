package egress

import (
	"errors"
	"strconv"
	"testing"
)

func TestParsePolicyReportsAllProblems(t *testing.T) {
	_, err := ParsePolicy(Settings{
		Profile:   "open",
		Allow:     []string{"10.0.0.0/8", "nonsense", "64:ff9b::a00:1", "64:ff9b::/96", "64:ff9b::/95", "[::1"},
		Deny:      []string{"10.0.0.1/8", "64:ff9b::/96"},
		AllowOnly: []string{"1.2.3.4:0", "fe80::1%eth0"},
	})
	problems, ok := errors.AsType[*SettingsError](err)
	if !ok {
		t.Fatalf("%v is not a SettingsError", err)
	}
	want := []string{"Profile open", "Allow nonsense", "Allow 64:ff9b::a00:1", "Allow 64:ff9b::/96", "Allow [::1",
		"Deny 10.0.0.1/8", "AllowOnly 1.2.3.4:0", "AllowOnly fe80::1%eth0"}
	if len(problems.Problems) != len(want) {
		t.Fatalf("%d problems, want %d: %v", len(problems.Problems), len(want), err)
	}
	for i, p := range problems.Problems {
		if got := p.Field + " " + p.Entry; got != want[i] || p.Problem == "" {
			t.Errorf("problem %d is %q, want %q", i, got, want[i])
		}
	}
}

func TestEntries(t *testing.T) {
	good := map[string]string{
		"10.0.0.0/8": "10.0.0.0/8 0", "10.0.0.0/8:443": "10.0.0.0/8 443", "1.2.3.4": "1.2.3.4/32 0",
		"1.2.3.4:5000": "1.2.3.4/32 5000", "::1": "::1/128 0", "[::1]:5000": "::1/128 5000", "[::1]": "::1/128 0",
		"fd00::/8": "fd00::/8 0", "[fd00::/8]:443": "fd00::/8 443", "[10.0.0.0/8]:443": "10.0.0.0/8 443",
		"::ffff:1.2.3.4": "1.2.3.4/32 0", "::/0": "::/0 0", "0.0.0.0/0": "0.0.0.0/0 0", "::/96": "::/96 0", "::/95": "::/95 0",
		"64:ff9b::/96": "64:ff9b::/96 0",
	}
	for text, want := range good {
		e, err := parseEntry(text)
		if got := e.prefix.String() + " " + strconv.Itoa(int(e.port)); err != nil || got != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "host.example", "10.0.0.0/33", "10.0.0.0/-1", "10.1.2.3/8", "10.0.0.0/8:", "10.0.0.0/8:65536", "10.0.0.0/8:x",
		"10.0.0.0/8:+80", "[::1]:", "[::1]80", "[::1", "::1]:80", "[]:80", ":80", "fe80::1%eth0", "fe80::%eth0/10",
		"::ffff:10.0.0.0/104", "::ffff:0:0/96", "010.0.0.1", "0x7f.1", "2130706433", "10.0.0.0/8:80:90",
	} {
		if e, err := parseEntry(text); err == nil {
			t.Errorf("%q was read as %v", text, e)
		}
	}
}
