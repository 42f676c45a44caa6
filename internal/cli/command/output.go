package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// OutputFlag adds --output text|json to a
func OutputFlag(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", "text", "output format: text or json")
}

func WantsJSON(output string) (bool, error) {
	switch output {
	case "text":
		return false, nil
	case "json":
		return true, nil
	default:
		return false, UsageError{fmt.Errorf("--output must be text or json, not %q", output)}
	}
}

func PrintJSON(cmd *cobra.Command, v any) error {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return err
	}
	_, err := cmd.OutOrStdout().Write(EscapeUnprintable(out.Bytes(), escapeJSON))
	return err
}

// escapeJSON returns the escape sequence of a character in a string of JSON.
func escapeJSON(r rune) (escaped string) {
	for _, unit := range utf16.Encode([]rune{r}) {
		escaped += fmt.Sprintf(`\u%04x`, unit)
	}
	return escaped
}

// EscapeUnprintable returns a document that controls no terminal. JSON and quoted YAML have such characters in strings only, where
// an escape sequence is the same value.
func EscapeUnprintable(text []byte, escape func(rune) string) []byte {
	var out []byte
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\n' || unicode.IsPrint(r) && (r != utf8.RuneError || size > 1):
			out = append(out, text[:size]...)
		default:
			out = append(out, escape(r)...)
		}
		text = text[size:]
	}
	return out
}
