package scanner

import (
	"time"

	"github.com/regwarden/regwarden/definitions/internal/inspect"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/expiry"
)

// noteCredentials adds notices about credentials of every format that can be given without using them.
func noteCredentials(r *model.Registry, now time.Time) {
	auth := r.Definition.Auth
	for _, field := range []struct{ name, value string }{{"username", auth.Username}, {"password", auth.Password.Reveal()}, {"token", auth.Token.Reveal()}} {
		if where := inspect.WhiteSpace(field.value); where != "" {
			noticeOnce(r, model.NoticeWhitespaceInSecret, "The "+field.name+" "+where+". The consumer sends it as a part of the "+field.name+".")
		}
		if inspect.IsPlaceholder(field.value) {
			noticeOnce(r, model.NoticePlaceholderValue, "The "+field.name+" looks like a placeholder. Replace it by the real value.")
		} else if inspect.IsTemplate(field.value) {
			noticeOnce(r, model.NoticePlaceholderValue, "The "+field.name+" looks like an expression that was not replaced. The consumer sends it as it is.")
		}
	}
	for _, value := range []string{auth.Password.Reveal(), auth.Token.Reveal()} {
		if value == "" {
			continue
		}
		if text := expiry.ShortLived(auth.Username, value, now); text != "" {
			noticeOnce(r, model.NoticeShortLivedCredentials, text)
		}
	}
}

// noticeOnce adds a notice unless the reader has given one with the same code.
func noticeOnce(r *model.Registry, code model.NoticeCode, message string) {
	for _, n := range r.Notices {
		if n.Code == code {
			return
		}
	}
	r.Notices = append(r.Notices, model.Notice{Code: code, Message: message})
}
