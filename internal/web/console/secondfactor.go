package console

import (
	"net/url"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/secondfactor"
	"github.com/regwarden/regwarden/internal/web/console/factorform"
	"github.com/regwarden/regwarden/secret"
)

const pathCode = pathLogin + "/code"

// factorHandlers has the second step of a login.
type factorHandlers struct {
	factors *secondfactor.Service
	logins  loginHandlers
}

// ask leads a login whose password was right to its second step.
func (h loginHandlers) ask(c *call, pending *auth.CodeRequired) error {
	c.setCookie(pendingCookie, pending.Token.Reveal(), pending.Until)
	return c.redirect(pathCode+"?"+url.Values{"next": {c.next()}}.Encode(), "")
}

func pendingToken(c *call) secret.String { return secret.String(c.cookie(pendingCookie)) }

// unlessEnded leads a login that does not wait any more to its beginning, and returns other errors.
func (h factorHandlers) unlessEnded(c *call, err error) error {
	if fault.CodeOf(err) != fault.CodeUnauthorizedAccess {
		return err
	}
	c.setCookie(pendingCookie, "", time.Time{})
	return c.redirect(pathLogin+"?"+url.Values{"next": {c.next()}}.Encode(), "codeTooLate")
}

// showCode is GET /console/login/code.
func (h factorHandlers) showCode(c *call) error {
	add, err := h.factors.Waiting(c.Context(), pendingToken(c))
	if err != nil {
		return h.unlessEnded(c, err)
	}
	return c.show("logincode.html", "Log in", factorform.NewLogin(pathCode, c.next(), add, nil))
}

// enrollAtLogin is POST /console/login/key.
func (h factorHandlers) enrollAtLogin(c *call) error {
	begun, err := h.factors.EnrollPending(c.Context(), c.origin, pendingToken(c))
	if err != nil {
		return h.unlessEnded(c, err)
	}
	key, err := factorform.NewKey(begun)
	return c.showRead(err, "logincode.html", "Log in", factorform.NewLogin(pathCode, c.next(), true, key))
}

// completeLogin is POST /console/login/code.
func (h factorHandlers) completeLogin(c *call) error {
	_, code := factorform.Sent(c)
	done, err := h.factors.CompleteConsole(c.Context(), c.origin, pendingToken(c), code)
	if fault.KindOf(err) != fault.Invalid {
		h.logins.count(err)
	}
	if err != nil {
		add, waitErr := h.factors.Waiting(c.Context(), pendingToken(c))
		if waitErr != nil {
			return h.unlessEnded(c, waitErr)
		}
		page := factorform.NewLogin(pathCode, c.next(), add, nil)
		page.Form.Refuse(c, err)
		return c.showAgain(err, "logincode.html", "Log in", page)
	}
	c.setCookie(pendingCookie, "", time.Time{})
	h.logins.begin(c, done.Reference, done.Ends)
	if done.Codes != nil {
		return c.show("recoverycodes.html", "Recovery codes", factorform.Recovery{Codes: done.Codes, Next: c.next()})
	}
	return c.redirect(c.next(), "")
}
