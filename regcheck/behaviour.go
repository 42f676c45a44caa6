package regcheck

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ControlAgain is how old a lesson may be before Recheck sends the control request anew, though nothing
// seems to have changed: what a registry does with wrong credentials can't be seen without some.
const ControlAgain = 24 * time.Hour

// maxLessons bounds what is read back: a check has three ways to sign in at most.
const maxLessons = 8

// A Behaviour (Report.Behaviour, Recheck) is what a later check need not ask again, as text: what control requests
// taught, and the kind of the artifact that was looked at.
//
//	{look " " checked|open " " unix seconds ";"} [digest " kind " helm|zarf|image|other]
//
// Versions that know nothing of kinds read no further than to the first part that is new to them, so a kind is the last.
// Its digest is a SHA-256 over the digest that the registry gave, which may be any text.
//
// The look is a SHA-256 over the definition without its secrets and over what the registry answered to
// everybody and to the definition's credentials. No secret and nothing made from one is in it, so that who
// reads it can guess at nothing; therefore it can't know a changed secret either, and holds for one secret
// only: who keeps it drops it when the definition changes.

// lesson is what one control request taught: whether credentials that nobody has are refused.
type lesson struct {
	look    string
	checked bool
	at      time.Time
}

// Recheck is Check of a definition that was checked before, sparing the control request with random
// credentials while the registry behaves as it did, and reading the manifest of an artifact only when its digest has
// changed: a GET of a manifest is a pull at Docker Hub, a HEAD is not. known is the Behaviour of the report before; it
// must come from the very same definition, secrets included. An unreadable or empty one makes this Check.
//
// What is spared can never make a wrong password pass: the credentials themselves are presented as always. The
// lesson that the registry checks credentials is taken over only where its opposite would be valid too, with a
// warning; and after ControlAgain it is learned anew.
func (c *Checker) Recheck(ctx context.Context, d Definition, known string, o Observer) (*Report, error) {
	lessons, kind := readBehaviour(known)
	return c.check(ctx, d, lessons, kind, o)
}

// look describes a way of signing in by all that was seen before the control request.
func (s *session) look(parts ...string) string {
	p, o := s.plan, s.opened
	seen := []string{p.base.String(), s.base.String(), string(p.auth), p.username, p.contentPath, strconv.FormatBool(p.skipVerify),
		itoa(o.bare.status), o.bare.header.Get(versionHeader), o.bare.header.Get("Server"), strconv.FormatBool(o.offers.basic)}
	if b := o.offers.bearer; b != nil {
		seen = append(seen, b.params["realm"], b.params["service"], b.params["scope"])
	}
	seen = append(append(seen, o.offers.unsupported...), parts...)
	sum := sha256.Sum256([]byte(strings.Join(seen, "\x00")))
	return hex.EncodeToString(sum[:])
}

// recall tells what a control request taught when everything looked the same. With a token, "checked" keeps
// its other uses from being tried, so that a verdict may hang on it: that is asked each time.
func (s *session) recall(look string) (l lesson, known bool) {
	i := slices.IndexFunc(s.known, func(l lesson) bool { return l.look == look })
	if i < 0 {
		return lesson{}, false
	}
	l = s.known[i]
	age := s.now().Sub(l.at)
	if age < -time.Minute || age >= ControlAgain || l.checked && s.plan.auth != Basic {
		return lesson{}, false
	}
	return l, true
}

// learn keeps a lesson for the report: a new one, or one recalled with its own time.
func (s *session) learn(l lesson) { s.learned = append(s.learned, l) }

// behaviour writes the lessons, and the kind. A check that was not valid teaches nothing, but what was known of
// an artifact stays true.
func (s *session) behaviour(valid bool) string {
	lessons := s.learned
	if !valid {
		lessons = nil
	}
	var parts []string
	for _, l := range lessons {
		outcome := "open"
		if l.checked {
			outcome = "checked"
		}
		parts = append(parts, l.look+" "+outcome+" "+strconv.FormatInt(l.at.Unix(), 10))
	}
	if s.artifact.digest != "" {
		parts = append(parts, s.artifact.digest+" kind "+kindWords[s.artifact.kind])
	}
	return strings.Join(parts, ";")
}

// readBehaviour reads what behaviour wrote; what it can't read teaches nothing.
func readBehaviour(text string) (known []lesson, artifact artifactKind) {
	for part := range strings.SplitSeq(text, ";") {
		words := strings.Split(part, " ")
		if len(words) != 3 || len(known) == maxLessons {
			break
		}
		if words[1] == "kind" {
			return known, readArtifactKind(words[0], words[2])
		}
		at, err := strconv.ParseInt(words[2], 10, 64)
		if err != nil || words[1] != "open" && words[1] != "checked" {
			break
		}
		known = append(known, lesson{look: words[0], checked: words[1] == "checked", at: time.Unix(at, 0)})
	}
	return known, artifactKind{}
}
