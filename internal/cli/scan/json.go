package scan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

// WriteJSON writes a result as JSON. Secrets are masked unless secrets is true.
func WriteJSON(w io.Writer, result model.Result, secrets bool) error {
	var shown any = result
	if secrets {
		shown = reveal(result)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(shown); err != nil {
		return err
	}
	_, err := w.Write(escapeUnprintable(out.Bytes()))
	return err
}

// escapeUnprintable escapes what encoding/json leaves: characters of names in files that control a terminal or the direction of text.
func escapeUnprintable(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r < utf8.RuneSelf && r != 0x7f || unicode.IsPrint(r):
			out = append(out, text[:size]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[size:]
	}
	return out
}

// revealed is a Result with its secrets.
type revealed struct {
	model.Result
	Registries []revealedRegistry `json:"registries"`
}

type revealedRegistry struct {
	model.Registry
	Definition revealedDefinition `json:"definition"`
}

type revealedDefinition struct {
	regcheck.Definition
	Auth revealedAuth `json:"auth"`
}

type revealedAuth struct {
	regcheck.Auth
	Password string      `json:"password,omitempty"`
	Token    string      `json:"token,omitempty"`
	TLS      revealedTLS `json:"tls,omitzero"`
}

type revealedTLS struct {
	regcheck.TLS
	Key string `json:"key,omitempty"`
}

func reveal(result model.Result) revealed {
	shown := revealed{Result: result, Registries: make([]revealedRegistry, len(result.Registries))}
	for i, r := range result.Registries {
		a := *r.Definition.Auth
		shown.Registries[i] = revealedRegistry{r, revealedDefinition{r.Definition,
			revealedAuth{a, a.Password.Reveal(), a.Token.Reveal(), revealedTLS{a.TLS, a.TLS.Key.Reveal()}}}}
	}
	return shown
}
