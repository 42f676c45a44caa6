package chartrepo

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/codes"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// Auth is the auth stage: the credentials, or anonymous access, open the index.
func (c *Check) Auth(ctx context.Context) codes.Outcome {
	if len(c.Login.Headers) == 0 {
		return c.anonymously()
	}
	if c.own.denied() {
		return codes.Failed(c.rejected())
	}
	if !open(c.anonymous) {
		return codes.Passed("%s accepted; checked: without credentials the status is %d", c.scheme(), c.anonymous.Status)
	}
	if c.Login.Control == "" {
		return c.unverified("The control request with random credentials is disabled")
	}
	if isOpen, known := c.KnownControl(); known {
		return c.controlled(isOpen, "checked before: random credentials were rejected")
	}
	a, err := c.Wire.Fetch(ctx, wire.Request{URL: c.indexURL(), Authorization: c.Login.Control, FirstByte: true}, true)
	if err != nil || a.Unavailable() {
		return c.unverified("The control request with random credentials had no usable response")
	}
	c.RecordControl(open(a))
	return c.controlled(open(a), "checked: random credentials return "+strconv.Itoa(a.Status))
}

// open reports whether a response is that of a readable index.
func open(a *wire.Response) bool {
	return a.Status/100 == 2 || a.Status == http.StatusRequestedRangeNotSatisfiable
}

func (c *Check) scheme() string {
	name, _, _ := strings.Cut(c.header, " ")
	return name
}

// controlled is the outcome of credentials of a repository that anonymous users can read.
func (c *Check) controlled(anyCredentials bool, why string) codes.Outcome {
	if anyCredentials {
		return c.unverified("Without credentials and with random ones, index.yaml can be read as well")
	}
	return codes.Passed("%s accepted; %s; without credentials, index.yaml can be read as well", c.scheme(), why)
}

// unverified warns that nothing shows whether the credentials are correct.
func (c *Check) unverified(why string) codes.Outcome {
	c.Warn(codes.WarnCredentialsNotChecked, "auth.type", "%s.", why)
	return codes.Passed("%s accepted; not checked by the repository", c.scheme())
}

func (c *Check) anonymously() codes.Outcome {
	a := c.own.response
	what := "GET " + a.ShowURL()
	switch {
	case a.Status == http.StatusUnauthorized:
		return codes.Failed(codes.Fail(codes.CodeAuthRequired, "", "%s without credentials returned %s%s.", what, a.Summary(), offer(a)))
	case a.Status == http.StatusForbidden:
		return codes.Failed(codes.Fail(codes.CodeAccessDenied, "", "%s returned %s.", what, a.Summary()).At("auth.type").
			Hinting("Set {auth.username} and {auth.password}. If this is a bucket of a cloud, correct the path in {endpoint}: some " +
				"return 403 for a file that does not exist."))
	}
	return codes.Passed("index.yaml can be read without credentials")
}

// offer returns which credentials a response requires.
func offer(a *wire.Response) string {
	offers := challenge.Offered(a)
	switch {
	case offers.Basic:
		return ", which requires Basic credentials"
	case offers.Bearer != nil:
		return ", which requires a Bearer token"
	case len(offers.Unsupported) > 0:
		return ", which offers " + a.Text(offers.Unsupported[0])
	}
	return ""
}

// rejected is the failure of credentials that do not open the index.
func (c *Check) rejected() *codes.Failure {
	a := c.own.response
	offers := challenge.Offered(a)
	seen := "GET %s with the credentials (%s) returned %s."
	args := []any{a.ShowURL(), c.scheme(), a.Summary()}
	switch {
	case wire.IsExpired(a):
		return codes.Fail(codes.CodeAuthFailed, codes.ReasonExpired, seen, args...).At(c.Login.Secret)
	case open(c.anonymous):
		return codes.Fail(codes.CodeAuthFailed, codes.ReasonAnonymousWorks, seen, args...).At(c.Login.Secret)
	case a.Status == http.StatusForbidden:
		return codes.Fail(codes.CodeAccessDenied, "", seen, args...).At(c.Login.User).
			Hinting("Grant this user permission to read the repository, or use another user. Some servers also restrict source addresses.")
	case !offers.Usable() && len(offers.Unsupported) > 0:
		return codes.Fail(codes.CodeAuthFailed, codes.ReasonSchemeUnsupported, "%s offers %s only; {program} tried %s and got %s.",
			a.ShowURL(), a.Text(strings.Join(offers.Unsupported, ", ")), c.scheme(), a.Summary())
	}
	f := codes.Fail(codes.CodeAuthFailed, codes.ReasonRefused, seen, args...).At(c.Login.Secret)
	if strings.HasPrefix(c.header, "Bearer ") {
		f.Hint += " Helm itself sends a username and a password only: for a token, set {auth.username} too."
	}
	return f
}
