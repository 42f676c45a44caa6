package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/settings"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/secret"
)

// Names of the first organization and its administrator, unless the environment has others.
const (
	firstOrg   = "default"
	firstEmail = "admin@example.com"

	// firstPasswordFile in the data directory contains the password if there is no terminal to show it.
	firstPasswordFile = "first-password"
)

// first describes what a first start created. The zero value is a start that was not the first.
type first struct {
	org, email   string
	password     secret.String // to show; empty if the operator chose it or a file contains it
	passwordFile string
}

// firstStart creates an organization with an administrator in an empty store.
func firstStart(ctx context.Context, d *directory.Directory, c *settings.Config, terminal bool) (first, error) {
	empty, err := d.Empty(ctx)
	if err != nil || !empty {
		return first{}, err
	}
	f := first{org: firstOrg, email: firstEmail, passwordFile: os.Getenv(settings.EnvBootstrapPasswordFile)}
	command.Set(&f.org, os.Getenv(settings.EnvBootstrapOrg))
	command.Set(&f.email, os.Getenv(settings.EnvBootstrapEmail))
	password, part := secret.String(rand.Text()), "" // 130 bits
	switch {
	case f.passwordFile != "":
		if password, err = readPasswordFile(f.passwordFile); err != nil {
			return first{}, fmt.Errorf("%s: %w", settings.EnvBootstrapPasswordFile, err)
		}
	case terminal:
		f.password = password
	default:
		f.passwordFile = filepath.Join(c.DataDir, firstPasswordFile)
		part = f.passwordFile + "." + rand.Text() // unique: another server may start for the first time on the same directory
		if err := errors.Join(os.MkdirAll(c.DataDir, 0o700), writePasswordFile(part, password)); err != nil {
			return first{}, fmt.Errorf("store the first password: %w", err)
		}
	}
	err = d.Bootstrap(ctx, audit.CommandLine, f.org, f.email, password)
	return f.settled(err, part)
}

// settled ends a first start. It renames the file at part, if any, or removes it if another server on the same database was first.
func (f first) settled(err error, part string) (first, error) {
	lost, ok := errors.AsType[*fault.Error](err)
	switch {
	case ok && lost.Code == directory.CodeNotEmpty && part != "":
		return first{}, os.Remove(part)
	case ok && lost.Code == directory.CodeNotEmpty:
		return first{}, nil
	case err != nil:
		return first{}, fmt.Errorf("create the first organization: %w", err)
	case part != "":
		return f, os.Rename(part, f.passwordFile)
	}
	return f, nil
}

// writePasswordFile replaces the file instead of writing to it, so that an existing mode or link does not decide who can read it. The
// file is on disk before the account exists.
func writePasswordFile(path string, password secret.String) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(password.Reveal() + "\n")
	return errors.Join(err, file.Sync(), file.Close())
}

func readPasswordFile(path string) (secret.String, error) {
	text, err := seal.ReadSecretFile(path)
	if err != nil {
		return "", err
	}
	return command.ReadSecretLine(strings.NewReader(text.Reveal()))
}

// print shows what was created, and commands to paste.
func (f first) print(out io.Writer, log *slog.Logger, address, caFile string, console bool) {
	if f.org == "" {
		return
	}
	inBody, shown, advice := f.password.Reveal(), f.password.Reveal(), "The password is not shown again."
	login := fmt.Sprintf("regwarden login %s --org %s --email %s", address, command.ShellQuote(f.org), command.ShellQuote(f.email))
	if f.passwordFile != "" {
		inBody, shown = `'"$(cat `+command.ShellQuote(f.passwordFile)+`)"'`, "in the file "+f.passwordFile
		login += " --password-stdin < " + command.ShellQuote(f.passwordFile)
		advice = "Store the password in another place and delete the file."
		log.Info("first administrator created", "password_file", f.passwordFile)
	}
	curl := "curl -s"
	if caFile != "" {
		curl += " --cacert " + command.ShellQuote(caFile)
		login += " --ca " + command.ShellQuote(caFile)
	}
	browser := ""
	if console {
		browser = "\nTo log in with a browser:\n\n  " + address + "/console/\n"
	}
	fmt.Fprintf(out, `
This is the first start. An organization and its administrator were created:

  organization  %s
  email         %s
  password      %s

%s

To log in with the command line:

  %s
%s
To try it over HTTP, paste:

  # log in
  RESPONSE=$(%s %s%s -H 'Content-Type: application/json' \
    -d '{"emailId":"%s","org":"%s","password":"%s"}')
  TOKEN=$(echo "$RESPONSE" | sed 's/.*"Authorization":"\([^"]*\)".*/\1/')
  REFRESH=$(echo "$RESPONSE" | sed 's/.*"refreshToken":"\([^"]*\)".*/\1/'); echo "$RESPONSE"

  # refresh the token
  %s %s/v1/auth/refresh/$REFRESH

  # is this registry definition valid?
  %s -i %s%s -H "Authorization: $TOKEN" -H 'Content-Type: application/json' \
    -d '{"endpoint":"https://ghcr.io","auth":{"type":"noAuth"}}'

`, f.org, f.email, shown, advice, login, browser,
		curl, address, api.PathAuthenticate, f.email, f.org, inBody,
		curl, address, curl, address, api.PathValidate)
}
