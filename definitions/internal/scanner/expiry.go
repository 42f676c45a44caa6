package scanner

import (
	"time"

	"github.com/regwarden/regwarden/definitions/internal/inspect"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/expiry"
)

// longCredentials is the size in bytes from which credentials are inspected once, however many definitions have them.
const longCredentials = 1 << 10

// credentials are those of a definition.
type credentials struct{ username, password, token string }

// noteCredentials adds notices about credentials of every format that can be given without using them. Many definitions may have the same.
func (s *Scanner) noteCredentials(r *model.Registry) {
	auth := r.Definition.Auth
	c := credentials{auth.Username, auth.Password.Reveal(), auth.Token.Reveal()}
	notices, known := s.noticed[c]
	if !known {
		notices = c.notices(s.Options.Now)
	}
	if len(c.username)+len(c.password)+len(c.token) > longCredentials {
		s.noticed[c] = notices
	}
	for _, notice := range notices {
		noticeOnce(r, notice.Code, notice.Message)
	}
}

func (c credentials) notices(now time.Time) (notices []model.Notice) {
	add := func(code model.NoticeCode, message string) {
		notices = append(notices, model.Notice{Code: code, Message: message})
	}
	for _, field := range []struct{ name, value string }{{"username", c.username}, {"password", c.password}, {"token", c.token}} {
		if where := inspect.WhiteSpace(field.value); where != "" {
			add(model.NoticeWhitespaceInSecret, "The "+field.name+" "+where+". The consumer sends it as a part of the "+field.name+".")
		}
		if inspect.IsPlaceholder(field.value) {
			add(model.NoticePlaceholderValue, "The "+field.name+" looks like a placeholder. Replace it by the real value.")
		} else if inspect.IsTemplate(field.value) {
			add(model.NoticePlaceholderValue,
				"The "+field.name+" looks like an expression that was not replaced. The consumer sends it as it is.")
		}
	}
	for _, value := range []string{c.password, c.token} {
		if text := expiry.ShortLived(c.username, value, now); value != "" && text != "" {
			add(model.NoticeShortLivedCredentials, text)
		}
	}
	return notices
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
