package regcheck

import (
	"slices"
	"strings"
)

const (
	maxChallenges = 8
	maxChallenge  = 8 << 10
)

// challenge is one way to sign in that a server offers (RFC 9110 11.2, 11.3). Names are lower case.
type challenge struct {
	scheme  string
	token68 string
	params  map[string]string
}

// parseChallenges reads all WWW-Authenticate lines. It is lenient where registries are: unquoted
// URLs (zot), blanks instead of commas, empty elements. What is longer than the bounds is left out.
func parseChallenges(lines []string) []challenge {
	var all []challenge
	for _, line := range lines {
		if len(line) > maxChallenges*maxChallenge {
			continue
		}
		all = append(all, (&challengeReader{text: line}).read()...)
		if len(all) >= maxChallenges {
			return all[:maxChallenges]
		}
	}
	return all
}

type challengeReader struct {
	text  string
	pos   int
	all   []challenge
	start int  // where the current challenge began
	loose bool // the last value was an unquoted scope, which may go on after a comma
}

func (r *challengeReader) read() []challenge {
	for len(r.all) <= maxChallenges {
		r.skip(" \t,")
		if r.pos >= len(r.text) {
			break
		}
		word := r.word()
		if word == "" {
			r.pos++ // no token where one belongs: go on behind it
			continue
		}
		if r.isParam() {
			r.param(word)
			continue
		}
		if r.loose && isAction(word) {
			last := r.all[len(r.all)-1]
			last.params["scope"] += "," + word
			continue
		}
		r.begin(word)
	}
	r.end()
	return r.all
}

// isAction knows what follows the comma of an unquoted scope such as repository:a:pull,push.
func isAction(word string) bool {
	return word == "pull" || word == "push" || word == "delete" || word == "*"
}

// begin starts a challenge, with its token68 if it has one.
func (r *challengeReader) begin(scheme string) {
	r.end()
	r.start, r.loose = r.pos, false
	c := challenge{scheme: strings.ToLower(scheme), params: map[string]string{}}
	if r.pos < len(r.text) && r.text[r.pos] != ',' {
		r.skip(" \t")
		c.token68 = r.token68()
	}
	r.all = append(r.all, c)
}

// end drops the current challenge when it was too long.
func (r *challengeReader) end() {
	if len(r.all) > 0 && r.pos-r.start > maxChallenge {
		r.all = r.all[:len(r.all)-1]
		r.start = r.pos
	}
}

// isParam tells whether "=" follows, as after a parameter's name, and steps behind it.
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

// param reads a value. The first of several with one name counts.
func (r *challengeReader) param(name string) {
	r.skip(" \t")
	value, quoted := r.value()
	if len(r.all) == 0 {
		return // a parameter of no scheme
	}
	name = strings.ToLower(name)
	params := r.all[len(r.all)-1].params
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
	return out.String(), true // never closed: what is there counts
}

// token68 reads credentials-like text that stands alone behind the scheme ("Negotiate YII=").
func (r *challengeReader) token68() string {
	at := r.pos
	for r.pos < len(r.text) && (isTokenByte(r.text[r.pos]) || r.text[r.pos] == '/') {
		r.pos++
	}
	body := r.pos
	for r.pos < len(r.text) && r.text[r.pos] == '=' {
		r.pos++
	}
	text, padding := r.text[at:r.pos], r.pos-body
	after := strings.TrimLeft(r.text[r.pos:], " \t")
	alone := after == "" || after[0] == ','
	// One "=" behind a name that Bearer and Basic have is an empty parameter.
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
	for r.pos < len(r.text) && isTokenByte(r.text[r.pos]) {
		r.pos++
	}
	return r.text[start:r.pos]
}

// isTokenByte is tchar of RFC 9110 5.6.2.
func isTokenByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' ||
		strings.IndexByte("!#$%&'*+-.^_`|~", b) >= 0
}

// offers is what the challenges of an answer amount to.
type offers struct {
	bearer      *challenge // the first Bearer challenge with a realm, else the first without
	basic       bool
	unsupported []string // the other schemes
}

func readOffers(lines []string) offers {
	var o offers
	for _, c := range parseChallenges(lines) {
		switch {
		case c.scheme == "bearer":
			if o.bearer == nil || o.bearer.params["realm"] == "" && c.params["realm"] != "" {
				o.bearer = &c
			}
		case c.scheme == "basic":
			o.basic = true
		case !slices.Contains(o.unsupported, cleanText(c.scheme)):
			o.unsupported = append(o.unsupported, cleanText(c.scheme))
		}
	}
	return o
}

func (o offers) usable() bool { return o.bearer != nil || o.basic }

func (o offers) none() bool { return !o.usable() && len(o.unsupported) == 0 }
