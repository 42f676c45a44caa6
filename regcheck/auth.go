package regcheck

import (
	"context"
	"strings"
	"sync"

	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// auth finds out whether the credentials are good, or whether anonymous use works.
func (s *session) auth(ctx context.Context) outcome {
	if s.plan.base.Scheme == "http" && s.plan.auth != NoAuth {
		s.warn(WarnPlainHTTPCredentials, "")
	}
	var v verdict
	switch s.plan.auth {
	case Basic:
		v = s.proveLogin(ctx, s.plan.username, s.plan.password)
	case Token:
		v = s.proveToken(ctx)
	default:
		v = s.proveNobody(ctx)
	}
	if v.failure != nil {
		return failed(v.failure)
	}
	s.access = v.access
	if v.unproven {
		s.settleByContent(ctx, &v)
		if v.failure != nil {
			return failed(v.failure)
		}
	}
	if v.unproven {
		s.unproven = true
		s.warn(WarnCredentialsNotChecked, "%s", v.why)
	}
	return passed("%s", strings.Join(v.tried, "; "))
}

// verdict is what one way to sign in came to.
type verdict struct {
	failure  *failure
	access   *access
	unproven bool   // accepted, but so is everybody
	why      string // of unproven
	tried    []string
}

func (v verdict) saying(words string) verdict {
	v.tried = append(v.tried, words)
	return v
}

// access is how content is asked for.
type access struct {
	header   string             // Basic or Bearer as it is; empty with a service
	service  *challenge.Service // asks for a token per scope
	who      challenge.Login
	mu       sync.Mutex
	tokens   map[string]string
	readings map[string]reading // by repository
}

func (a *access) reading(repository string) (r reading, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r, known = a.readings[repository]
	return r, known
}

func (a *access) keepReading(r reading) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.readings == nil {
		a.readings = map[string]reading{}
	}
	a.readings[r.repository] = r
}

// authorization gives the header for a scope. An empty scope asks for what the service gives
// without one.
func (s *session) authorization(ctx context.Context, a *access, scope string) (string, granting) {
	if a.service == nil {
		return a.header, granting{}
	}
	a.mu.Lock()
	token, known := a.tokens[scope]
	a.mu.Unlock()
	if known {
		return "Bearer " + token, granting{}
	}
	var scopes []string
	if scope != "" {
		scopes = []string{scope}
	}
	g := s.ask(ctx, a.service, a.who, scopes)
	s.rounds += g.rounds
	if g.token == "" {
		return "", g
	}
	a.remember(scope, g.token)
	return "Bearer " + g.token, g
}

func (a *access) remember(scope, token string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tokens == nil {
		a.tokens = map[string]string{}
	}
	a.tokens[scope] = token
}

// forget drops the token for a scope, which has expired.
func (a *access) forget(scope string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.tokens, scope)
}

// forgetAll frees what a long inventory does not need any more.
func (a *access) forgetAll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.tokens)
	clear(a.readings)
}

// good reports whether an answer shows that the caller was let in. What follows a refusal in order is
// 404 and 405: the door was open, the room was empty.
func good(a *wire.Response) bool {
	return a.Status/100 == 2 || a.Status == 404 || a.Status == 405
}

func denied(a *wire.Response) bool { return a.Status == 401 || a.Status == 403 }

// bareIsOpen reports whether /v2/ lets anybody in.
func (s *session) bareIsOpen() bool { return good(s.opened.bare) }

// bearerService is the token service of the bare request's challenge; both nil when there is none.
func (s *session) bearerService() (*challenge.Service, *failure) {
	o := s.opened
	if o.offers.Bearer == nil {
		return nil, nil
	}
	t, f := s.readService(o.offers.Bearer, o.bare)
	if f != nil && o.offers.Basic && f.entry.Reason == ReasonRealmInvalid {
		return nil, nil // Basic is offered beside it
	}
	return t, f
}

// proveLogin tries a user name with a password, or with a token in its place.
func (s *session) proveLogin(ctx context.Context, user, password string) verdict {
	service, f := s.bearerService()
	if f != nil {
		return verdict{failure: f}
	}
	if service != nil {
		return s.proveByService(ctx, service, challenge.Login{User: user, Password: password})
	}
	control := challenge.Basic(s.invented(), random())
	return s.proveDirect(ctx, challenge.Basic(user, password), control, "Basic")
}

// getWith is GET /v2/ with credentials; those of the definition were perhaps sent already.
func (s *session) getWith(ctx context.Context, authorization string) (*wire.Response, error) {
	if authorization == s.credentials() {
		return s.withCredentials(ctx)
	}
	a, err := s.get(ctx, "", authorization)
	if a != nil {
		s.rounds += a.Rounds
	}
	return a, err
}

// proveDirect compares the bare request with the authenticated one (registry-quirks, "Credentials
// proof"); where both succeed, one request with credentials that nobody has settles it.
func (s *session) proveDirect(ctx context.Context, header, control, scheme string) verdict {
	a, err := s.getWith(ctx, header)
	if err != nil {
		return verdict{failure: s.diagnoseRequest(err)}
	}
	if f := s.unusable(ctx, a); f != nil {
		return verdict{failure: f}
	}
	if !good(a) {
		return verdict{failure: s.refusal(ctx, a, s.base.String(), scheme)}.saying(scheme + ": " + itoa(a.Status))
	}
	v := verdict{access: &access{header: header}}.saying(scheme + " accepted")
	if !s.bareIsOpen() {
		if a.Status/100 != 2 && s.treatedAlike(ctx, control, a) {
			return verdict{failure: s.refusal(ctx, a, s.base.String(), scheme)}.saying(scheme + ": " + itoa(a.Status) + ", as for random credentials")
		}
		return v.saying("checked: without credentials the answer is " + itoa(s.opened.bare.Status))
	}
	return s.controlDirect(ctx, v, control)
}

// treatedAlike reports whether credentials which nobody has are answered as these are: a closed registry may
// hide what it has from a wrong password behind 404.
func (s *session) treatedAlike(ctx context.Context, control string, a *wire.Response) bool {
	if !s.control {
		return false
	}
	c, err := s.getWith(ctx, control)
	return err == nil && c.Status == a.Status
}

func (s *session) controlDirect(ctx context.Context, v verdict, control string) verdict {
	if !s.control {
		v.unproven, v.why = true, "The control request with random credentials is switched off."
		return v
	}
	open := "Without credentials and with random ones the answer is " + itoa(s.opened.bare.Status) + " as well."
	if accepted, known := s.knownControl(); known {
		return s.recalled(v, accepted, open)
	}
	c, err := s.getWith(ctx, control)
	switch {
	case err != nil || c.Status == 429 || c.Status >= 500:
		v.unproven, v.why = true, "The control request with random credentials got no usable answer."
	case good(c) && c.Status == s.opened.bare.Status:
		s.controlled(true)
		v.unproven, v.why = true, open
	case good(c):
		v.unproven, v.why = true, "With random credentials the answer is "+itoa(c.Status)+"."
	default:
		s.controlled(false)
		return v.saying("checked: random credentials are answered " + itoa(c.Status))
	}
	return v.saying("not checked by the registry")
}

// recalled is a verdict by the control request of an earlier check.
func (s *session) recalled(v verdict, open bool, why string) verdict {
	s.learned = s.known
	if !open {
		return v.saying("checked before: random credentials were refused")
	}
	v.unproven, v.why = true, why
	return v.saying("not checked by the registry")
}

// unusable is an answer to a request with a token or credentials that says nothing about them.
func (s *session) unusable(ctx context.Context, a *wire.Response) *failure {
	what := "GET " + wire.ShowURL(a.URL) + " with the credentials"
	if s.plan.auth == NoAuth {
		what = "GET " + wire.ShowURL(a.URL) + " with an anonymous token"
	}
	switch {
	case a.Status == 429 || a.Status >= 500:
		return unavailable(what, a)
	case a.Status/100 == 2 && wire.IsHTML(a) && a.Header.Get(oci.VersionHeader) == "":
		return s.orRoot(ctx, fail(CodeNotOCI, ReasonHTML, "%s was answered %s.", what, a.Said()))
	case a.Status/100 == 3 || a.Over:
		return fail(CodeNotOCI, "", "%s was answered %d in a form that cannot be used.", what, a.Status)
	case a.Status == 404 && !wire.IsOCIError(a.Body) && !s.bareIsOpen():
		return s.orRoot(ctx, fail(CodeNotOCI, ReasonNotFound, "%s was answered %s.", what, a.Said()))
	}
	return nil
}

// refusal finds the reason of a no: by whom, to which way of signing in.
func (s *session) refusal(ctx context.Context, a *wire.Response, by, scheme string) *failure {
	field := s.plan.secretField()
	o := s.opened.offers
	said := "%s refused the credentials (" + scheme + "): %s."
	switch {
	case a.Status != 401 && wire.SaysExpired(a):
		return fail(CodeAuthFailed, ReasonExpired, said, by, a.Said()).at(field)
	case a.Status == 403 && !s.bareIsOpen() && by == s.base.String() && !saysUnauthorized(a):
		return s.deniedWhole(a)
	case !o.Usable() && len(o.Unsupported) > 0 && denied(s.opened.bare):
		return fail(CodeAuthFailed, ReasonSchemeUnsupported, "%s offers %s only; "+program+" tried %s and got %s.", by, strings.Join(o.Unsupported, ", "), scheme, a.Said())
	case s.anonymousWorks(ctx):
		return fail(CodeAuthFailed, ReasonAnonymousWorks, said, by, a.Said()).at(field)
	case s.opened.bare.Status == 401 && o.None():
		return fail(CodeAuthFailed, ReasonNoChallenge, "%s answered 401 without a WWW-Authenticate header, and %s was answered %s.", by, scheme, a.Said()).at(field)
	}
	return s.hintRefused(fail(CodeAuthFailed, ReasonRefused, said, by, a.Said()).at(field))
}

// deniedWhole is a 403 of the whole API with credentials.
func (s *session) deniedWhole(a *wire.Response) *failure {
	return fail(CodeAccessDenied, "", "GET %s with the credentials was answered %s.", s.base.String(), a.Said()).at(s.plan.userField()).
		hinting("Give this user the right to use the registry at all, or use one that has it; some servers also allow listed source addresses only.")
}

func saysUnauthorized(a *wire.Response) bool { return wire.HasCode(a.Body, "UNAUTHORIZED") }

// hintRefused knows the usual causes by the spelling of user names; never by the host's name alone.
func (s *session) hintRefused(f *failure) *failure {
	user := s.plan.username
	switch {
	case user == "robot":
		return f.at("auth.username").hinting("Write the whole name of the robot account into auth.username, such as robot$name or robot$project+name: a shell may have eaten what follows the dollar sign.")
	case user == "AWS":
		return f.hinting("Get a new password with `aws ecr get-login-password`: it lives for 12 hours.")
	case user == "00000000-0000-0000-0000-000000000000":
		return f.hinting("Get a new token with `az acr login --expose-token`: it lives for 3 hours.")
	case strings.HasPrefix(user, "robot$"):
		return f.hinting("Check the robot account in Harbor: it may have expired or been disabled; make a new secret if so.")
	}
	return f
}
