package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/regwarden/regwarden/internal/cli/flagvalue"
)

// OutputFlag adds --output text|json|yaml to a command that prints no list.
func OutputFlag(cmd *cobra.Command, output *string) {
	flagvalue.OneOfP(cmd.Flags(), output, "output", "o", "text", []string{"text", "json", "yaml"}, "output format: text, json or yaml")
}

// IsStructured reports whether a format of OutputFlag is one that PrintStructured prints.
func IsStructured(output string) bool { return output == "json" || output == "yaml" }

// PrintStructured prints a value as JSON or YAML, with the same keys in the same order.
func PrintStructured(cmd *cobra.Command, format string, v any) error {
	if format != "yaml" {
		return printJSON(cmd, v)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var tree yaml.Node // JSON is YAML: a tree keeps the order of keys
	if err := yaml.Unmarshal(EscapeUnprintable(data, escapeYAML), &tree); err != nil {
		return err
	}
	blockStyle(&tree)
	return WriteYAML(cmd.OutOrStdout(), &tree)
}

// WriteYAML writes a document of YAML that controls no terminal.
func WriteYAML(w io.Writer, v any) error {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	var tree yaml.Node
	err := tree.Encode(v)
	quoteUnprintable(&tree)
	if err := errors.Join(err, encoder.Encode(&tree), encoder.Close()); err != nil {
		return err
	}
	_, err = w.Write(EscapeUnprintable(out.Bytes(), escapeYAML))
	return err
}

func escapeYAML(r rune) string { return fmt.Sprintf(`\U%08x`, r) }

// blockStyle removes the braces and quotes of JSON from a YAML tree. Strings that would be read as another type stay quoted.
func blockStyle(n *yaml.Node) {
	n.Style = 0
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		n.SetString(n.Value)
	}
	for _, child := range n.Content {
		blockStyle(child)
	}
}

// quoteUnprintable quotes the texts of a YAML tree in which characters are escaped: outside of quotes, a backslash is itself.
func quoteUnprintable(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && string(EscapeUnprintable([]byte(n.Value), escapeYAML)) != n.Value {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, child := range n.Content {
		quoteUnprintable(child)
	}
}

func printJSON(cmd *cobra.Command, v any) error {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return err
	}
	_, err := cmd.OutOrStdout().Write(EscapeUnprintable(out.Bytes(), EscapeJSON))
	return err
}

// EscapeJSON returns the escape sequence of a character in a string of JSON.
func EscapeJSON(r rune) (escaped string) {
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
