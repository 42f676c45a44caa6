package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/lazyregexp"
	"github.com/regwarden/regwarden/internal/process/program"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// envNextMasterKey contains the new master key, if the current one comes from the environment.
const envNextMasterKey = command.EnvPrefix + "NEXT_MASTER_KEY"

func newKey() *cobra.Command {
	var master bool
	var nextCommand string
	rotate := adminCommand("rotate", "Rotate the signing keys or, with --master, the master key", command.NoArgs,
		func(a *admin, _ []string) error {
			if !master {
				if err := a.auth.Keys.Rotate(a.ctx, operator, commandLine); err != nil {
					return err
				}
				_, err := fmt.Fprintf(a.cmd.ErrOrStderr(), "Rotated the signing keys of the store in %s. Tokens signed with the former "+
					"ones stay valid until they expire.\n", a.where())
				return err
			}
			next, err := nextMasterKey(a.ctx, os.Getenv, a.keyCommand, nextCommand)
			if err != nil {
				return err
			}
			former, err := a.auth.Keys.RotateMaster(a.ctx, operator, commandLine, next)
			if errors.Is(err, store.ErrSameKey) {
				return command.AsUsage(store.ErrSameKey)
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.cmd.ErrOrStderr(), "Replaced the master key of the store in %s.\n%s\n", a.where(),
				rotatedWarning(former, a.keyCommand, time.Now()))
			return err
		})
	rotate.Flags().BoolVar(&master, "master", false, "replace the master key")
	rotate.Flags().StringVar(&nextCommand, "next-master-key-command", "",
		"command that prints the new master key, if the current one is not in a file")
	return command.Group("key", "Manage the keys of the service", rotate)
}

// rotatedWarning returns the warning that earlier backups need the former key. former is its file, empty for a key from the environment or
// from keyCommand.
func rotatedWarning(former, keyCommand string, now time.Time) string {
	at := now.UTC().Format(time.RFC3339)
	if former != "" {
		return "warning: backups made before " + at + " open only with the former master key, which is now in " + former +
			". Store it separately from the backups for as long as you need any of them.\n" +
			"To restore such a backup: regwarden restore FILE --master-key-file " + command.ShellQuote(former)
	}
	source, change := envMasterKey, "Set "+envMasterKey+" to the new value now."
	if keyCommand != "" {
		source, change = "master-key-command", "Make the command print the new value now."
	}
	return "warning: backups made before " + at + " open only with the former value of " + source +
		". Store it separately from the backups for as long as you need any of them.\n" +
		change + " To restore such a backup, write the former value to a file: regwarden restore FILE --master-key-file KEYFILE"
}

// nextMasterKey returns the new master key, or the zero value to have a new key generated and written to the key file.
func nextMasterKey(ctx context.Context, getenv func(string) string, keyCommand, nextCommand string) (seal.MasterKey, error) {
	current, next := getenv(envMasterKey), getenv(envNextMasterKey)
	inFile := current == "" && keyCommand == ""
	switch {
	case next != "" && nextCommand != "":
		return seal.MasterKey{}, command.AsUsage(errors.New("--next-master-key-command cannot be combined with " + envNextMasterKey))
	case inFile && next == "" && nextCommand == "":
		return seal.MasterKey{}, nil
	case inFile:
		return seal.MasterKey{}, command.AsUsage(fmt.Errorf("%s and --next-master-key-command require a master key from the "+
			"environment or a command, but the current one is in a file", envNextMasterKey))
	case nextCommand != "":
		return keyByCommand(ctx, "--next-master-key-command", nextCommand)
	case next == "":
		source := envMasterKey
		if keyCommand != "" {
			source = "master-key-command"
		}
		return seal.MasterKey{}, command.AsUsage(fmt.Errorf("the master key comes from %s; set the new one as %s, or name a command "+
			"that prints it with --next-master-key-command",
			source, envNextMasterKey))
	}
	key, err := seal.ParseMasterKey(secret.String(next))
	if err != nil {
		return seal.MasterKey{}, command.AsUsage(fmt.Errorf("%s: %w", envNextMasterKey, err))
	}
	return key, nil
}

// keyByCommand returns the master key that a command prints. setting is the name in errors, which have what the command said, without
// keys.
func keyByCommand(ctx context.Context, setting, text string) (seal.MasterKey, error) {
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
