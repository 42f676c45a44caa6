package scanreport

import (
	"cmp"
	"encoding/base64"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/lazyregexp"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

const (
	maxText   = 2000 // characters of a text
	maxName   = 300  // characters of a name
	minMasked = 6    // bytes; shorter secrets may be words of any message
)

// cleaner makes texts of others fit for a report.
type cleaner struct {
	secrets *strings.Replacer // nil: no text is needed
	user    string            // empty if it may be shown
}

// newCleaner returns a cleaner that masks the secrets of a result. No text should have them; a registry could repeat one of another
// definition.
func newCleaner(r model.Result) *cleaner {
	known := map[string]bool{}
	for _, found := range r.Registries {
		if a := found.Definition.Auth; a != nil {
			for _, s := range append(model.Secrets(a), a.Username+":"+a.Password.Reveal()) {
				for _, form := range secretForms(s) {
					known[form] = true
				}
			}
		}
	}
	// A form may be the beginning of another one: the longest is replaced.
	forms := slices.SortedFunc(maps.Keys(known), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs []string
	for _, form := range forms {
		pairs = append(pairs, form, secret.Mask)
	}
	return &cleaner{secrets: strings.NewReplacer(pairs...)}
}

// secretForms returns the spellings of a secret that a text may have.
func secretForms(s string) []string {
	var forms []string
	quoted := strconv.Quote(s)
	for _, form := range []string{s, printable(s), quoted[1 : len(quoted)-1], url.QueryEscape(s), url.PathEscape(s),
		strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(s)), "="),
		strings.TrimRight(base64.URLEncoding.EncodeToString([]byte(s)), "=")} {
		if len(form) >= minMasked && !strings.HasPrefix(form, ":") && !strings.HasSuffix(form, ":") {
			forms = append(forms, form)
		}
	}
	return forms
}

// forUser returns a cleaner that also masks the username of a definition.
func (c *cleaner) forUser(r model.Registry, show bool) *cleaner {
	if show {
		return c
	}
	return &cleaner{secrets: c.secrets, user: userOf(r)}
}

// userOf returns the username of a definition, which texts must not show. It is empty if there is none, or one that is a word of our own
// texts.
func userOf(r model.Registry) string {
	if r.Definition.Auth == nil || len(r.Definition.Auth.Username) < 3 || ownWords()[r.Definition.Auth.Username] {
		return ""
	}
	return printable(r.Definition.Auth.Username)
}

// MaskUser returns a function that masks the username of a definition in a text, which a registry may repeat.
func MaskUser(r model.Registry) func(string) string { return (&cleaner{user: userOf(r)}).maskUser }

// maskUser masks the username where it is not a part of another word.
func (c *cleaner) maskUser(s string) string {
	if c.user == "" {
		return s
	}
	var out strings.Builder
	for from := 0; ; {
		i := strings.Index(s[from:], c.user)
		if i < 0 {
			out.WriteString(s[from:])
			return out.String()
		}
		begin, end := from+i, from+i+len(c.user)
		before, _ := utf8.DecodeLastRuneInString(s[:begin])
		after, size := utf8.DecodeRuneInString(s[end:])
		if begin > 0 && isWord(before) || size > 0 && isWord(after) {
			_, end = utf8.DecodeRuneInString(s[begin:])
			end += begin
			out.WriteString(s[from:end])
		} else {
			out.WriteString(s[from:begin] + secret.Mask)
		}
		from = end
	}
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// text returns a text in one line without control characters, secrets and user information in URLs.
func (c *cleaner) text(s string) string {
	if c.secrets == nil {
		return ""
	}
	s = c.secrets.Replace(printable(s))
	return cut(c.maskUser(withoutUserInfo(s)), maxText)
}

// name returns a part of a definition as a text. It is not masked, since the user has chosen it.
func name(s string) string { return short(withoutUserInfo(printable(s))) }

func short(s string) string { return cut(s, maxName) }

func cut(s string, characters int) string {
	n := 0
	for i := range s {
		if n++; n == characters {
			return s[:i] + "…"
		}
	}
	return s
}

// printable removes what is not printable, such as control characters and marks that change the direction of text, and makes white space
// single spaces.
func printable(s string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == unicode.ReplacementChar || !unicode.IsPrint(r):
			return -1
		}
		return r
	}, s)), " ")
}

// userInfo is user:password@, also without a scheme. The @ of a digest follows a name with a tag, which looks like it.
var userInfo = lazyregexp.New(`(://[^/?#\s"']*|(?:^|[\s"'])[^\s"'/@:]+:[^\s"'/@]+)@(sha(?:256|512):)?`)

func withoutUserInfo(s string) string {
	return userInfo.Get().ReplaceAllStringFunc(s, func(found string) string {
		switch {
		case strings.HasSuffix(found, ":"):
			return found
		case strings.HasPrefix(found, "://"):
			return "://"
		}
		before, _, _ := strings.Cut(found, strings.TrimLeft(found, "\"' \t\r\n"))
		return before
	})
}

// NoAddress stands for the address of a registry that is not in the files.
const NoAddress = "(no address)"

// address returns where a definition's registry is, without user information.
func address(d regcheck.Definition) string {
	if base := strings.TrimSuffix(d.Registry(), "/"); base != "" {
		if d.Kind != regcheck.KindChartRepository {
			base = strings.TrimSuffix(base, "/v2")
		}
		return name(base)
	}
	text := printable(d.Endpoint) // which cannot be used
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		return cmp.Or(short(text[strings.LastIndex(text, "@")+1:]), NoAddress)
	}
	return short(scheme + "://" + rest[strings.LastIndex(rest, "@")+1:])
}
