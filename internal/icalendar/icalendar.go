// Package icalendar writes what expires as a calendar (RFC 5545), for the command line and for calendars that subscribe to a URL.
package icalendar

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/regwarden/regwarden/api"
)

// Type is the media type.
const Type = "text/calendar; charset=utf-8"

// Write returns a calendar with an event on the day of each expiry.
func Write(list []api.Expiry, now time.Time) []byte {
	var b strings.Builder
	lines := func(all ...string) {
		for _, line := range all {
			b.WriteString(fold(line) + "\r\n")
		}
	}
	lines("BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//regwarden//expiry//EN", "METHOD:PUBLISH", "X-WR-CALNAME:regwarden",
		"REFRESH-INTERVAL;VALUE=DURATION:PT6H", "X-PUBLISHED-TTL:PT6H")
	for _, e := range list {
		lines("BEGIN:VEVENT", "UID:"+identity(e)+"@regwarden", "DTSTAMP:"+now.UTC().Format("20060102T150405Z"),
			"DTSTART;VALUE=DATE:"+e.NotAfter.UTC().Format("20060102"), "SUMMARY:"+escaped(title(e)+" expires"),
			"DESCRIPTION:"+escaped(e.Owner+", at "+e.NotAfter.UTC().Format(time.RFC1123)), "TRANSP:TRANSPARENT", "END:VEVENT")
	}
	lines("END:VCALENDAR")
	return []byte(b.String())
}

// identity stays when the date moves, so that calendars move the event. A registry may need several certificates of CAs.
func identity(e api.Expiry) string {
	switch c := e.Certificate; {
	case c != nil && c.Role == "ca":
		return e.Kind + "-ca-" + strings.ReplaceAll(c.Fingerprint, ":", "")
	case c != nil && c.Role == "client":
		return e.Kind + "-client-" + e.UID
	}
	return e.Kind + "-" + e.UID
}

func title(e api.Expiry) string {
	c := e.Certificate
	if c == nil {
		return map[string]string{"certificate": "Certificate of", "credentials": "Credentials of", "apiKey": "API key",
			"password": "Password of"}[e.Kind] + " " + e.Name
	}
	text := map[string]string{"server": "Server", "ca": "CA", "client": "Client"}[c.Role] + " certificate " + c.Subject + " of " + e.Name
	if c.Registries > 1 {
		text += fmt.Sprintf(" and %d more", c.Registries-1)
	}
	return text
}

// escaped returns a text for a property. Control characters and separators of lines would end it, in some programs.
func escaped(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, text)
	return strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`).Replace(text)
}

// fold breaks a line into parts of at most 75 bytes, between characters (RFC 5545 section 3.1).
func fold(text string) string {
	var b strings.Builder
	size := 0
	for _, r := range text {
		if n := len(string(r)); size+n > 75 {
			b.WriteString("\r\n ")
			size = 1
		}
		b.WriteRune(r)
		size += len(string(r))
	}
	return b.String()
}
