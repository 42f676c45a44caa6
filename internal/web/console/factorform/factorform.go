// Package factorform has the forms of second factors.
package factorform

import (
	"path"

	"github.com/regwarden/regwarden/internal/qrcode"
	"github.com/regwarden/regwarden/internal/service/secondfactor"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/secret"
)

// Key is a second factor that an app has to get, as a page shows it: this one time.
type Key struct {
	Secret string
	Path   string // of the QR code, as an SVG image of Size times Size
	Size   int
}

// NewKey returns what a page shows of a second factor.
func NewKey(e secondfactor.Enrollment) (*Key, error) {
	drawn, err := qrcode.New(e.URI.Reveal())
	if err != nil {
		return nil, err
	}
	return &Key{Secret: e.Secret.Reveal(), Path: drawn.Path(), Size: drawn.Size()}, nil
}

// Code is the field of a code.
func Code(hint string) forms.Field {
	return forms.Field{Name: "code", Label: "Code", Autocomplete: "one-time-code", Hint: hint, Required: true}
}

// CodeOrRecovery is the hint of a code that may be a recovery code.
const CodeOrRecovery = "Six digits of your app, or a recovery code."

// Login is the second step of a login.
type Login struct {
	Add  bool // a second factor must be added
	Key  *Key // of one that was just begun
	Form *forms.Form
	Next string // page after the login
}

// NewLogin returns the second step of a login, whose form leads to action.
func NewLogin(action, next string, add bool, key *Key) Login {
	hint := CodeOrRecovery
	if add {
		hint = "Six digits of your app."
	}
	return Login{add, key, forms.New("Log in", action, Code(hint)), next}
}

// Recovery shows recovery codes, this one time.
type Recovery struct {
	Codes []secret.String
	Next  string // page after them
}

// Password is the field of the current password.
func Password() forms.Field {
	return forms.Field{Name: "currentPassword", Label: "Current password", Type: "password", Autocomplete: "current-password",
		Required: true}
}

// Proof returns a form of what requires the password and a code.
func Proof(button, action string) *forms.Form {
	form := forms.New(button, action, Password(), Code(CodeOrRecovery))
	for i := range form.Fields {
		form.Fields[i].Key = path.Base(action) + "-" + form.Fields[i].Name // a page has several such forms
	}
	return form
}

// Sent returns the secrets that were entered.
func Sent(values forms.Values) (password, code secret.String) {
	return secret.String(values.PostFormValue("currentPassword")), secret.String(values.PostFormValue("code"))
}
