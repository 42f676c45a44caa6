// Package challenge reads what a registry requires in WWW-Authenticate, and requests tokens from the token service that a
// registry names. It returns errors and responses; the engine turns them into failures.
package challenge

import (
	"slices"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

const (
	MaxChallenges = 8
	maxChallenge  = 8 << 10
)

// Challenge is one authentication scheme that a server offers (RFC 9110 11.2, 11.3). Its names are in lowercase.
type Challenge struct {
	scheme  string
	token68 string
	Params  map[string]string
}

// ParseChallenges reads all WWW-Authenticate lines. It accepts deviations of registries: unquoted URLs
// (zot), blanks instead of commas, empty elements. It skips challenges that exceed the limits.
func ParseChallenges(lines []string) []Challenge {
	var all []Challenge
	for _, line := range lines {
		if len(line) > MaxChallenges*maxChallenge {
			continue
		}
		all = append(all, (&challengeReader{text: line}).read()...)
		if len(all) >= MaxChallenges {
			return all[:MaxChallenges]
		}
	}
	return all
}

type challengeReader struct {
	text  string
	pos   int
	all   []Challenge
	start int  // where the current challenge began
	loose bool // the last value was an unquoted scope, which may continue after a comma
}

func (r *challengeReader) read() []Challenge {
	for len(r.all) <= MaxChallenges {
		r.skip(" \t,")
		if r.pos >= len(r.text) {
			break
		}
		word := r.word()
		if word == "" {
			r.pos++ // skip what is not a token
			continue
		}
		if r.isParam() {
			r.param(word)
			continue
		}
		if r.loose && isAction(word) {
			last := r.all[len(r.all)-1]
			last.Params["scope"] += "," + word
			continue
		}
		r.begin(word)
	}
	r.end()
	return r.all
}

// isAction reports whether a word can follow the comma of an unquoted scope such as repository:a:pull,push.
func isAction(word string) bool {
	return word == "pull" || word == "push" || word == "delete" || word == "*"
}

// begin starts a challenge, with its token68 if it has one.
func (r *challengeReader) begin(scheme string) {
	r.end()
	r.start, r.loose = r.pos, false
	c := Challenge{scheme: strings.ToLower(scheme), Params: map[string]string{}}
	if r.pos < len(r.text) && r.text[r.pos] != ',' {
		r.skip(" \t")
		c.token68 = r.token68()
	}
	r.all = append(r.all, c)
}

// end removes the current challenge if it is too long.
func (r *challengeReader) end() {
	if len(r.all) > 0 && r.pos-r.start > maxChallenge {
		r.all = r.all[:len(r.all)-1]
		r.start = r.pos
	}
}

// isParam reports whether "=" follows, as after the name of a parameter, and consumes it.
func (r *challengeReader) isParam() bool {
	at := r.pos
	r.skip(" \t")
	if r.pos < len(r.text) && r.text[r.pos] == '=' {
		r.pos++
		return true
	}
	r.pos = at
	return false
}

// param reads a value. The first one of a name counts.
func (r *challengeReader) param(name string) {
	r.skip(" \t")
	value, quoted := r.value()
	if len(r.all) == 0 {
		return // a parameter without a scheme
	}
	name = strings.ToLower(name)
	params := r.all[len(r.all)-1].Params
	if _, known := params[name]; !known {
		params[name] = value
	}
	r.loose = !quoted && name == "scope"
}

func (r *challengeReader) value() (text string, quoted bool) {
	if r.pos >= len(r.text) || r.text[r.pos] != '"' {
		start := r.pos
		for r.pos < len(r.text) && !strings.ContainsRune(" \t,", rune(r.text[r.pos])) {
			r.pos++
		}
		return r.text[start:r.pos], false
	}
	var out strings.Builder
	for r.pos++; r.pos < len(r.text); r.pos++ {
		switch b := r.text[r.pos]; {
		case b == '"':
			r.pos++
			return out.String(), true
		case b == '\\' && r.pos+1 < len(r.text):
			r.pos++
			out.WriteByte(r.text[r.pos])
		default:
			out.WriteByte(b)
		}
	}
	return out.String(), true // a missing closing quote is accepted
}

// token68 reads a token68 after the scheme ("Negotiate YII=").
func (r *challengeReader) token68() string {
	at := r.pos
	for r.pos < len(r.text) && (IsTokenByte(r.text[r.pos]) || r.text[r.pos] == '/') {
		r.pos++
	}
	body := r.pos
	for r.pos < len(r.text) && r.text[r.pos] == '=' {
		r.pos++
	}
	text, padding := r.text[at:r.pos], r.pos-body
	after := strings.TrimLeft(r.text[r.pos:], " \t")
	alone := after == "" || after[0] == ','
	// One "=" after the name of a Bearer or Basic parameter is an empty parameter.
	if !alone || body == at || padding == 1 && isKnownParam(r.text[at:body]) {
		r.pos = at
		return ""
	}
	return text
}

func isKnownParam(name string) bool {
	switch strings.ToLower(name) {
	case "realm", "service", "scope", "charset", "error":
		return true
	}
	return false
}

func (r *challengeReader) skip(set string) {
	for r.pos < len(r.text) && strings.IndexByte(set, r.text[r.pos]) >= 0 {
		r.pos++
	}
}

func (r *challengeReader) word() string {
	start := r.pos
	for r.pos < len(r.text) && IsTokenByte(r.text[r.pos]) {
		r.pos++
	}
	return r.text[start:r.pos]
}

// IsTokenByte reports whether b is a tchar of RFC 9110 5.6.2.
func IsTokenByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' ||
		strings.IndexByte("!#$%&'*+-.^_`|~", b) >= 0
}

// Offers has the schemes that the challenges of a response offer.
type Offers struct {
	Bearer      *Challenge // the first Bearer challenge with a realm, else the first without
	Basic       bool
	Service     string   // of the Basic challenge: Amazon ECR names itself there
	Unsupported []string // the other schemes
}

// Offered returns what a response offers.
func Offered(a *wire.Response) Offers {
	var o Offers
	for _, c := range ParseChallenges(a.Header.Values("WWW-Authenticate")) {
		switch {
		case c.scheme == "bearer":
			if o.Bearer == nil || o.Bearer.Params["realm"] == "" && c.Params["realm"] != "" {
				o.Bearer = &c
			}
		case c.scheme == "basic":
			o.Basic, o.Service = true, c.Params["service"]
		case !slices.Contains(o.Unsupported, wire.CleanText(c.scheme)):
			o.Unsupported = append(o.Unsupported, wire.CleanText(c.scheme))
		}
	}
	return o
}

// NamesService reports whether a Bearer challenge has a realm.
func (o Offers) NamesService() bool { return o.Bearer != nil && o.Bearer.Params["realm"] != "" }

// Usable reports whether one of the schemes is known.
func (o Offers) Usable() bool { return o.Bearer != nil || o.Basic }

// None reports whether there is no challenge.
func (o Offers) None() bool { return !o.Usable() && len(o.Unsupported) == 0 }

// Describe returns the status and the offers of a response, with the URL of the token service.
func (o Offers) Describe(status int) string {
	text := strconv.Itoa(status)
	switch {
	case o.NamesService():
		text += ", Bearer, token service " + withoutQuery(o.Bearer.Params["realm"])
	case o.Bearer != nil:
		text += ", Bearer"
	case o.Basic:
		text += ", Basic"
	case len(o.Unsupported) > 0:
		text += ", " + strings.Join(o.Unsupported, ", ")
	}
	return text
}
