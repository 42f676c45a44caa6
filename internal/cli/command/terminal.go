package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/regwarden/regwarden/regcheck/reporttext"
	"github.com/regwarden/regwarden/secret"
)

// maxSecretLine is the maximum size of a secret on standard input.
const maxSecretLine = 8 << 10

// PrinterTo returns a printer to w, which uses color and the width of the terminal if w is one. NO_COLOR (no-color.org) and TERM=dumb
// disable color.
func PrinterTo(w io.Writer, noColor bool) *reporttext.Printer {
	printer := &reporttext.Printer{W: w}
	if !IsTerminal(w) {
		return printer
	}
	if width, _, err := term.GetSize(int(w.(terminal).Fd())); err == nil {
		printer.Width = width
	}
	printer.Color = !noColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return printer
}

// Height returns how many rows a terminal has, 0 for what is not one.
func Height(w io.Writer) int {
	if !IsTerminal(w) {
		return 0
	}
	_, height, _ := term.GetSize(int(w.(terminal).Fd())) // 0 if it has no size
	return height
}

// terminal is what may be one.
type terminal interface{ Fd() uintptr }

func IsTerminal(stream any) bool {
	file, ok := stream.(terminal)
	return ok && term.IsTerminal(int(file.Fd()))
}

// ReadSecretLine reads a secret from standard input and removes one trailing newline.
func ReadSecretLine(stdin io.Reader) (secret.String, error) {
	data, err := io.ReadAll(io.LimitReader(stdin, maxSecretLine+1))
	if err != nil {
		return "", fmt.Errorf("read the secret from standard input: %w", err)
	}
	if len(data) > maxSecretLine {
		return "", errors.New("the secret on standard input is longer than 8 KiB")
	}
	text := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	if text == "" {
		return "", errors.New("standard input is empty; a secret is required")
	}
	return secret.String(text), nil
}

// ReadSecret reads a secret from standard input, with a prompt on a terminal.
func ReadSecret(stdin io.Reader, prompt string) (secret.String, error) {
	if IsTerminal(stdin) {
		return promptSecret(stdin, prompt)
	}
	return ReadSecretLine(stdin)
}

// Prompt reads one line from a terminal.
func Prompt(terminal io.Reader, prompt string) (string, error) {
	fmt.Fprint(os.Stderr, prompt)
	line := make([]byte, maxSecretLine)
	n, err := terminal.Read(line) // of a terminal, at most one line
	text := strings.TrimSpace(string(line[:n]))
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr) // the cursor is still behind the prompt
		return "", terminalError(err)
	case text == "":
		return "", errNothingEntered
	}
	return text, nil
}

// Confirm asks a question on a terminal and reports whether yes was entered. Ctrl-D means no.
func Confirm(terminal io.Reader, question string) (bool, error) {
	entered, err := Prompt(terminal, question+" [y/N] ")
	if errors.Is(err, errNothingEntered) {
		return false, nil
	}
	return strings.EqualFold(entered, "y") || strings.EqualFold(entered, "yes"), err
}

// promptSecret is Prompt without echo.
func promptSecret(terminal io.Reader, prompt string) (secret.String, error) {
	stdin := terminal.(*Stdin) // which main sets
	fd := int(stdin.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("prepare the terminal: %w", err)
	}
	fmt.Fprint(os.Stderr, prompt)
	defer fmt.Fprintln(os.Stderr)
	typed, err := stdin.untilDone(func() ([]byte, error) { return term.ReadPassword(fd) })
	if err != nil {
		return "", errors.Join(terminalError(err), term.Restore(fd, before))
	}
	if len(typed) == 0 {
		return "", errNothingEntered
	}
	return secret.String(typed), nil
}

// terminalError is the error of a prompt. Ctrl-D ends the input without an entry.
func terminalError(err error) error {
	if errors.Is(err, io.EOF) {
		return errNothingEntered
	}
	return fmt.Errorf("read from the terminal: %w", err)
}

var errNothingEntered = UsageError{errors.New("nothing was entered")}

// PromptPassword prints the rules for passwords and prompts for a new one twice.
func PromptPassword(terminal io.Reader, prompt, rules string) (secret.String, error) {
	fmt.Fprintln(os.Stderr, rules)
	first, err := promptSecret(terminal, prompt)
	if err != nil {
		return "", err
	}
	second, err := promptSecret(terminal, "Again: ")
	if err != nil {
		return "", err
	}
	if first != second {
		return "", UsageError{errors.New("the two passwords differ; nothing was changed")}
	}
	return first, nil
}

// JSONValue returns a value for JSON: RFC 3339 for a time, null for a zero time or an empty text.
func JSONValue(value any) any {
	switch v := value.(type) {
	case time.Time:
		if v.IsZero() {
			return nil
		}
		return v.UTC().Format(time.RFC3339)
	case string:
		if v == "" {
			return nil
		}
	}
	return value
}

// Cell returns a value for a table: "-" for a zero time or an empty text.
func Cell(value any) string {
	if list, ok := value.([]string); ok {
		value = strings.Join(list, ",")
	}
	value = JSONValue(value)
	if value == nil {
		return "-"
	}
	return fmt.Sprint(value)
}

// Wrap divides a text into lines of at most width characters, at spaces. A width of 0 is no limit; a longer word stays whole.
func Wrap(text string, width int) []string {
	if width <= 0 {
		return []string{text}
	}
	lines, line := []string(nil), ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line = append(lines, line), ""
		}
		line += strings.Repeat(" ", min(len(line), 1)) + word
	}
	return append(lines, line)
}
