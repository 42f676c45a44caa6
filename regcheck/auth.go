package regcheck

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/codes"
	"github.com/regwarden/regwarden/regcheck/internal/content"
	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/product"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// authCheck is the auth stage.
type authCheck struct {
	exchange
	control bool  // send control requests
	known   Known // of an earlier check
}

// grant is what the credentials give access to.
type grant struct {
	access     *content.Access // authorizes requests for content
	unverified bool            // the registry did not check the credentials
}

// auth checks the credentials, or whether anonymous access works.
func (s authCheck) auth(ctx context.Context) (grant, outcome) {
	s.warnOfCredentials()
	var v authResult
	switch s.plan.login.Type {
	case Basic:
		v = s.checkBasic(ctx, s.plan.login.Username, s.plan.login.Password)
	case Token:
		v = s.checkToken(ctx)
	default:
		v = s.checkAnonymous(ctx)
	}
	if v.failure != nil {
		return grant{}, codes.Failed(v.failure)
	}
	if v.unverified {
		s.checkByContent(ctx, &v)
		if v.failure != nil {
			return grant{}, codes.Failed(v.failure)
		}
	}
	if v.unverified {
		s.warn(WarnCredentialsNotChecked, "%s", v.why)
	}
	return grant{v.access, v.unverified}, codes.Passed("%s", strings.Join(v.tried, "; "))
}

// authResult is the outcome of one authentication attempt.
type authResult struct {
	failure    *failure
	access     *content.Access
	unverified bool   // accepted, but so are any other credentials
	why        string // of unverified
	tried      []string
}

func (v authResult) withDetail(words string) authResult {
	v.tried = append(v.tried, words)
	return v
}

// notVerified is the result of credentials that the registry accepted as it accepts any others.
func (v authResult) notVerified(why string) authResult {
	v.unverified, v.why = true, why
	return v
}

// accepted reports whether a response shows that the caller was authorized. A registry returns 404 and 405 to authorized callers
// only: the caller was authorized, but the resource is missing.
func accepted(a *wire.Response) bool {
	return a.Status/100 == 2 || a.Status == 404 || a.Status == 405
}

// bareIsOpen reports whether /v2/ authorizes anonymous callers.
func (s exchange) bareIsOpen() bool { return accepted(s.opened.bare) }

// bearerService returns the token service of the bare request's challenge, both nil if there is none.
func (s exchange) bearerService() (*challenge.Service, *failure) {
	o := s.opened
	if o.offers.Bearer == nil {
		return nil, nil
	}
	t, err := challenge.ReadService(o.offers.Bearer, o.bare, s.Home.Scheme == "https")
	if err == nil {
		return t, nil
	}
	f := s.diagnoseGrant(nil, err)
	if o.offers.Basic && f.Entry.Reason == ReasonRealmInvalid {
		return nil, nil // Basic is offered as well
	}
	return nil, f
}

// checkBasic tries a username with a password, or with a token in its place.
func (s authCheck) checkBasic(ctx context.Context, user, password string) authResult {
	service, f := s.bearerService()
	if f != nil {
		return authResult{failure: f}
	}
	if service != nil {
		return s.checkByService(ctx, service, challenge.Login{User: user, Password: password})
	}
	control := challenge.Basic(s.randomName(), random())
	return s.checkDirect(ctx, challenge.Basic(user, password), control, "Basic")
}

// getWith is GET /v2/ with credentials; those of the definition were perhaps sent already.
func (s exchange) getWith(ctx context.Context, authorization string) (*wire.Response, error) {
	if authorization == s.plan.login.Direct() {
		return s.withCredentials(ctx)
	}
	return s.get(ctx, "", authorization)
}

// checkDirect compares the bare request with the authenticated one. If both succeed, one control request with random
// credentials decides.
func (s authCheck) checkDirect(ctx context.Context, header, control, scheme string) authResult {
	a, f := s.usable(ctx, header)
	if f != nil {
		return authResult{failure: f}
	}
	if !accepted(a) {
		return s.rejectedAs(ctx, a, scheme, scheme+": "+strconv.Itoa(a.Status))
	}
	v := authResult{access: &content.Access{Header: header}}.withDetail(scheme + " accepted")
	if !s.bareIsOpen() {
		if a.Status/100 != 2 && s.treatedAlike(ctx, control, a) {
			return s.rejectedAs(ctx, a, scheme, scheme+": "+strconv.Itoa(a.Status)+", as for random credentials")
		}
		return v.withDetail("checked: without credentials the status is " + strconv.Itoa(s.opened.bare.Status))
	}
	return s.controlDirect(ctx, v, control)
}

// rejectedAs is the result of credentials that the registry rejected.
func (s authCheck) rejectedAs(ctx context.Context, a *wire.Response, scheme, detail string) authResult {
	return authResult{failure: s.credentialsRejected(ctx, a, s.Base.String(), scheme)}.withDetail(detail)
}

// treatedAlike reports whether random credentials get the same response as these: a closed registry may return 404 for a
// wrong password.
func (s authCheck) treatedAlike(ctx context.Context, control string, a *wire.Response) bool {
	if !s.control {
		return false
	}
	c, err := s.getWith(ctx, control)
	return err == nil && c.Status == a.Status
}

func (s authCheck) controlDirect(ctx context.Context, v authResult, control string) authResult {
	if !s.control {
		return v.notVerified(controlDisabled)
	}
	open := "Without credentials and with random ones the status is " + strconv.Itoa(s.opened.bare.Status) + " as well."
	if isOpen, known := s.knownControl(); known {
		return s.cachedResult(v, isOpen, open)
	}
	c, err := s.getWith(ctx, control)
	switch {
	case err != nil || c.Unavailable():
		v = v.notVerified(controlUnusable)
	case accepted(c) && c.Status == s.opened.bare.Status:
		s.recordControl(true)
		v = v.notVerified(open)
	case accepted(c):
		v = v.notVerified("With random credentials the status is " + strconv.Itoa(c.Status) + ".")
	default:
		s.recordControl(false)
		return v.withDetail("checked: random credentials return " + strconv.Itoa(c.Status))
	}
	return v.withDetail("not checked by the registry")
}

// cachedResult applies the result of an earlier control request.
func (s authCheck) cachedResult(v authResult, open bool, why string) authResult {
	s.newControl = s.known
	if !open {
		return v.withDetail("checked before: random credentials were rejected")
	}
	return v.notVerified(why).withDetail("not checked by the registry")
}

// Why credentials are not verified, without a result of the control request.
const (
	controlDisabled = "The control request with random credentials is disabled."
	controlUnusable = "The control request with random credentials had no usable response."
)

// usable is getWith for a response that must be conclusive.
func (s exchange) usable(ctx context.Context, authorization string) (*wire.Response, *failure) {
	a, err := s.getWith(ctx, authorization)
	if err != nil {
		return nil, s.diagnoseRequest(err)
	}
	return a, s.unusable(ctx, a)
}

// unusable is the failure of a request with a token or credentials whose response is not conclusive.
func (s exchange) unusable(ctx context.Context, a *wire.Response) *failure {
	what := "GET " + a.ShowURL() + " with the credentials"
	if s.plan.login.Type == NoAuth {
		what = "GET " + a.ShowURL() + " with an anonymous token"
	}
	switch {
	case a.Unavailable():
		return s.unavailable(what, a)
	case a.Status/100 == 2 && wire.IsHTML(a) && a.Header.Get(oci.VersionHeader) == "":
		return s.orRoot(ctx, fail(CodeNotOCI, ReasonHTML, "%s returned %s.", what, a.Summary()))
	case a.Status/100 == 3 || a.Over:
		return fail(CodeNotOCI, "", "%s returned %d in a form that is not valid.", what, a.Status)
	case a.Status == 404 && !wire.IsOCIError(a.Body) && !s.bareIsOpen():
		return s.orRoot(ctx, fail(CodeNotOCI, ReasonNotFound, "%s returned %s.", what, a.Summary()))
	}
	return nil
}

// credentialsRejected returns the failure of rejected credentials, with its reason.
func (s exchange) credentialsRejected(ctx context.Context, a *wire.Response, by, scheme string) *failure {
	field := s.plan.login.SecretField()
	o := s.opened.offers
	seen := "%s rejected the credentials (" + scheme + "): %s."
	switch {
	case wire.IsExpired(a):
		return s.expired(ctx, seen, by, a.Summary())
	case a.Status == 403 && !s.bareIsOpen() && by == s.Base.String() && !wire.HasCode(a.Body, "UNAUTHORIZED"):
		return s.deniedWhole(a)
	case !o.Usable() && len(o.Unsupported) > 0 && s.opened.bare.Denied():
		return fail(CodeAuthFailed, ReasonSchemeUnsupported, "%s offers %s only; {program} tried %s and got %s.", by,
			s.Wire.Text(strings.Join(o.Unsupported, ", ")), scheme, a.Summary())
	case s.anonymousWorks(ctx):
		return fail(CodeAuthFailed, ReasonAnonymousWorks, seen, by, a.Summary()).At(field)
	case s.opened.bare.Status == 401 && o.None():
		return fail(CodeAuthFailed, ReasonNoChallenge, "%s returned 401 without a WWW-Authenticate header, and for %s %s.", by, scheme,
			a.Summary()).At(field)
	}
	return s.hintRejected(fail(CodeAuthFailed, ReasonRefused, seen, by, a.Summary()).At(field), a)
}

// expired returns the failure of credentials that have expired.
func (s exchange) expired(ctx context.Context, format string, args ...any) *failure {
	f := fail(CodeAuthFailed, ReasonExpired, format, args...).At(s.plan.login.SecretField())
	f.Hint = cmp.Or(s.product().Renew(s.plan.login.Username), f.Hint)
	if s.product() != product.ECRPublic && s.anonymousWorks(ctx) {
		f.Hint += " Or remove them and set {auth.type} to noAuth: anonymous access works."
	}
	return f
}

// deniedWhole is a 403 of the whole API with credentials.
func (s exchange) deniedWhole(a *wire.Response) *failure {
	f := fail(CodeAccessDenied, "", "GET %s with the credentials returned %s.", s.Base.String(), a.Summary()).At(s.plan.login.UserField()).
		Hinting("Grant this user access to the registry, or use another user. Some servers also restrict source addresses.")
	return s.hintCertificate(f)
}

// product returns the product by the challenges of the registry.
func (s exchange) product() product.Product { return product.Of(s.opened.offers) }

// hintRejected adds the usual causes by the spelling of usernames and by the challenges, never by the host's name alone.
func (s exchange) hintRejected(f *failure, a *wire.Response) *failure {
	if s.plan.login.Username == "robot" {
		return f.At("auth.username").Hinting("Set {auth.username} to the whole name of the robot account, such as robot$name or " +
			"robot$project+name: a shell replaces $name in double quotes.")
	}
	if hint := product.GitHubToken(a); hint != "" {
		return f.Hinting("%s", hint)
	}
	p := s.product()
	f.Hint = cmp.Or(p.Renew(s.plan.login.Username), f.Hint)
	if p == product.ECR && s.plan.login.Username != "AWS" {
		f.At(s.plan.login.UserField())
	}
	if scope := p.Scope(); scope != "" {
		f.Hint += message.Of(" The registry rejects a token without the scope %s in the same way: create one that has it.", scope)
	} else if a.Status == 403 {
		f.Hint += " The user or token may also lack the permission to pull (GitLab: the scope read_registry; GitHub: read:packages)."
	}
	return s.hintCertificate(f)
}

// certificateUnmet reports whether the endpoint requested a client certificate and got none.
func (s exchange) certificateUnmet() bool { return s.opened.first.Seen().Unmet() }

// hintCertificate adds that the server requests a client certificate, if it got none: it may require one.
func (s exchange) hintCertificate(f *failure) *failure {
	if s.certificateUnmet() {
		f.Hint += " The server also requests a client certificate, and none was sent: if it requires one, " +
			"set {auth.tls.certificate} to it, {auth.tls.key} to its key{enableTLS}."
	}
	return f
}
