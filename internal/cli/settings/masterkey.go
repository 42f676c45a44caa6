package settings

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/lazyregexp"
	"github.com/regwarden/regwarden/internal/process/program"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/secret"
)

// KeyByCommand returns the master key that a command prints. setting is the name in errors, which have what the command said, without
// keys.
func KeyByCommand(ctx context.Context, setting, text string) (seal.MasterKey, error) {
	words, err := splitWords(text)
	if err != nil {
		return seal.MasterKey{}, command.AsUsage(fmt.Errorf("%s: %w", setting, err))
	}
	var said messages
	output, err := program.Program{Name: words[0], Args: words[1:], Env: withoutOurs(os.Environ()), Stderr: &said}.Output(ctx)
	if err != nil {
		return seal.MasterKey{}, fmt.Errorf("%s: the command %s: %w%s", setting, command.ShellQuote(words[0]), err, said.without(output))
	}
	key, err := seal.ParseMasterKey(secret.String(output))
	if err != nil {
		return seal.MasterKey{}, fmt.Errorf("%s: the output of %s is not a key: %w%s", setting, command.ShellQuote(words[0]), err,
			said.without(output))
	}
	return key, nil
}

// withoutOurs leaves out our variables, some of which have secrets that the command does not need.
func withoutOurs(environ []string) []string {
	return slices.DeleteFunc(environ, func(entry string) bool { return strings.HasPrefix(entry, command.EnvPrefix) })
}

// messages is the beginning of what a program says.
type messages struct{ text []byte }

const maxMessages = 2 << 10

// Write keeps the beginning, and discards the rest.
func (m *messages) Write(b []byte) (int, error) {
	m.text = append(m.text, b[:min(len(b), maxMessages-len(m.text))]...)
	return len(b), nil
}

// keyPattern matches 32 bytes in base64.
var keyPattern = lazyregexp.New(`[A-Za-z0-9+/]{43}=`)

// minSecretWord is the length from which a word of the output is masked in messages.
const minSecretWord = 8

// without returns the messages for an error, without keys and without words of the output, which a shell that shows its commands prints.
func (m *messages) without(output []byte) string {
	text := m.text
	if len(text) == maxMessages { // the last word may be the beginning of a key
		text = text[:bytes.LastIndexAny(text, " \t\n")+1]
	}
	text = keyPattern.Get().ReplaceAllLiteral(text, []byte(secret.Mask))
	for word := range bytes.FieldsSeq(output) {
		if len(word) >= minSecretWord {
			text = bytes.ReplaceAll(text, word, []byte(secret.Mask))
		}
	}
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return ""
	}
	return "; it says: " + strings.ToValidUTF8(string(text), "\ufffd")
}

// splitWords splits a command into words as a POSIX shell does, with quotes and backslashes, and without anything else that a shell
// replaces.
func splitWords(text string) (words []string, err error) {
	var word strings.Builder
	inWord, quote := false, rune(0)
	letters := []rune(text)
	for i := 0; i < len(letters); i++ {
		r := letters[i]
		switch {
		case quote == 0 && unicode.IsSpace(r):
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
			continue
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case r == quote:
			quote = 0
		case r == '\\' && quote != '\'' && i+1 < len(letters) && (quote == 0 || strings.ContainsRune(`"\$`+"`", letters[i+1])):
			i++
			word.WriteRune(letters[i])
		default:
			word.WriteRune(r)
		}
		inWord = true
	}
	if quote != 0 {
		return nil, errors.New("has a quote that is not closed")
	}
	if inWord {
		words = append(words, word.String())
	}
	if len(words) == 0 || words[0] == "" {
		return nil, errors.New("must name a program")
	}
	return words, nil
}
