package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// maxSecretLine bounds a secret read from standard input.
const maxSecretLine = 8 << 10

// printerTo prints a check to w: in colour and to its width only where w is a terminal. NO_COLOR
// (no-color.org) and TERM=dumb turn colour off.
func printerTo(w io.Writer, noColor bool) *regcheck.Printer {
	printer := &regcheck.Printer{W: w}
	if !isTerminal(w) {
		return printer
	}
	if width, _, err := term.GetSize(int(w.(*os.File).Fd())); err == nil {
		printer.Width = width
	}
	printer.Color = !noColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return printer
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// readSecretLine reads a secret from standard input and takes off one line end.
func readSecretLine(stdin io.Reader) (secret.String, error) {
	data, err := io.ReadAll(io.LimitReader(stdin, maxSecretLine+1))
	if err != nil {
		return "", fmt.Errorf("read the secret from standard input: %w", err)
	}
	if len(data) > maxSecretLine {
		return "", errors.New("the secret on standard input is longer than 8 KiB")
	}
	text := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	if text == "" {
		return "", errors.New("standard input holds no secret")
	}
	return secret.String(text), nil
}

// askPassword asks for a new password twice, without echo.
func askPassword(in *os.File, out io.Writer) (secret.String, error) {
	ask := func(prompt string) (string, error) {
		fmt.Fprint(out, prompt)
		answer, err := term.ReadPassword(int(in.Fd()))
		fmt.Fprintln(out)
		return string(answer), err
	}
	first, err := ask("Password: ")
	if err != nil {
		return "", err
	}
	second, err := ask("Again: ")
	if err != nil {
		return "", err
	}
	if first != second {
		return "", usageError{errors.New("the two passwords differ; nothing was changed")}
	}
	return secret.String(first), nil
}
