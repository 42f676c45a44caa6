package icalendar

import (
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/api"
)

// hostile are names that would add lines or properties to a calendar that does not escape them.
var hostile = []string{"a\r\nBEGIN:VALARM,;" + strings.Repeat("ä", 60), "\n BEGIN:VALARM", "\r\nBEGIN:VALARM", "x\u2028BEGIN:VALARM",
	"x\u0085BEGIN:VALARM", `a\nb\;c`, "\xff\xfe;", strings.Repeat(",", 200), "\x00\t\x7f"}

// A name cannot add lines to a calendar, no line is longer than 75 bytes, and the name is in the event as it is, without characters of
// control.
func TestHostileNames(t *testing.T) {
	now := time.Date(2027, 1, 31, 12, 0, 0, 0, time.UTC)
	for _, name := range hostile {
		events := parse(t, Write([]api.Expiry{{Kind: "apiKey", UID: "u", Name: name, Owner: name, NotAfter: now.Add(36 * time.Hour)}}, now))
		if len(events) != 1 {
			t.Fatalf("%q: %d events", name, len(events))
		}
		clean := strings.Map(func(r rune) rune {
			if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' {
				return ' '
			}
			return r
		}, strings.ToValidUTF8(name, "\ufffd\ufffd")) // two bytes
		if got := events[0]["SUMMARY"]; got != "API key "+clean+" expires" {
			t.Errorf("%q: the summary is %q", name, got)
		}
	}
}

// The uid of an event stays when the date moves, so that calendars move the event.
func TestEvents(t *testing.T) {
	now := time.Date(2027, 1, 31, 12, 0, 0, 0, time.FixedZone("", 3600))
	list := []api.Expiry{{Kind: "certificate", UID: "u", Name: "registry", NotAfter: now.Add(36 * time.Hour)},
		{Kind: "credentials", UID: "u", Name: "registry", NotAfter: now}}
	first := parse(t, Write(list, now))
	list[0].NotAfter = now.Add(60 * 24 * time.Hour)
	second := parse(t, Write(list, now.Add(time.Hour)))
	if first[0]["UID"] != "certificate-u@regwarden" || second[0]["UID"] != first[0]["UID"] || first[1]["UID"] == first[0]["UID"] {
		t.Errorf("uids %s, %s, %s", first[0]["UID"], second[0]["UID"], first[1]["UID"])
	}
	if got := first[0]["DTSTART;VALUE=DATE"]; got != "20270201" {
		t.Errorf("the day is %s", got)
	}
	if first[0]["DTSTAMP"] != "20270131T110000Z" {
		t.Errorf("the time of the calendar is %s", first[0]["DTSTAMP"])
	}
	if events := parse(t, Write(nil, now)); len(events) != 0 {
		t.Errorf("%d events of nothing", len(events))
	}
}

// The certificates of one registry are events of their own, and a certificate of a CA is the same event whichever registry it is listed
// with.
func TestCertificates(t *testing.T) {
	one := func(role, uid string, registries int) api.Expiry {
		return api.Expiry{Kind: "certificate", UID: uid, Name: "harbor", NotAfter: time.Now(),
			Certificate: &api.ExpiryCertificate{Role: role, Subject: "CN", Fingerprint: "AB:CD", Registries: registries}}
	}
	events := parse(t, Write([]api.Expiry{one("server", "u", 1), one("client", "u", 1), one("ca", "u", 3), one("ca", "v", 2)}, time.Now()))
	for i, want := range [][2]string{{"certificate-u", "Server certificate CN of harbor expires"},
		{"certificate-client-u", "Client certificate CN of harbor expires"},
		{"certificate-ca-ABCD", "CA certificate CN of harbor and 2 more expires"},
		{"certificate-ca-ABCD", "CA certificate CN of harbor and 1 more expires"}} {
		if got := [2]string{events[i]["UID"], events[i]["SUMMARY"]}; got != [2]string{want[0] + "@regwarden", want[1]} {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// parse reads a calendar by the rules of RFC 5545, and returns the properties of its events.
func parse(t *testing.T, calendar []byte) (events []map[string]string) {
	t.Helper()
	text, ok := strings.CutSuffix(string(calendar), "\r\n")
	if !ok || strings.ContainsAny(strings.ReplaceAll(text, "\r\n", ""), "\r\n") {
		t.Fatalf("lines do not end in CR LF: %q", calendar)
	}
	for line := range strings.SplitSeq(text, "\r\n") {
		if len(line) > 75 {
			t.Errorf("a line has %d bytes: %q", len(line), line)
		}
	}
	unescape := strings.NewReplacer(`\\`, `\`, `\;`, ";", `\,`, ",", `\n`, "\n", `\N`, "\n")
	escapes := strings.NewReplacer(`\\`, "", `\;`, "", `\,`, "", `\n`, "")
	open := []string{}
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n ", ""), "\r\n") {
		name, value, found := strings.Cut(line, ":")
		switch {
		case !found:
			t.Fatalf("no property: %q", line)
		case name == "BEGIN":
			if open = append(open, value); value == "VEVENT" {
				events = append(events, map[string]string{})
			}
		case name == "END":
			if len(open) == 0 || open[len(open)-1] != value {
				t.Fatalf("%q ends in %q", open, value)
			}
			open = open[:len(open)-1]
		case open[len(open)-1] == "VEVENT":
			if events[len(events)-1][name] != "" {
				t.Errorf("%s is repeated", name)
			}
			if left := escapes.Replace(value); strings.ContainsAny(left, `\;,`) {
				t.Errorf("%s is not escaped: %q", name, value)
			}
			events[len(events)-1][name] = unescape.Replace(value)
		}
	}
	return events
}
