package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// renewed is where a terminal finds credentials that something else renews: a credential helper of docker, or files, such as those of a
// volume of Kubernetes or of an agent of Vault. Neither is stored, and no scanned file names one.
type renewed struct {
	// Helper returns the credentials that the credential helper has for a server; nil if none was named.
	Helper                  func(server string) (username string, password secret.String, err error)
	passwordFile, tokenFile string
}

// AddRenewedTo adds the flags of files that something else renews.
func (r *renewed) AddRenewedTo(flags *pflag.FlagSet) {
	flags.StringVar(&r.passwordFile, "password-file", "", "file of the password, which something else renews")
	flags.StringVar(&r.tokenFile, "token-file", "", "file of the token, which something else renews")
}

// overlay sets the secrets that the files have.
func (r *renewed) overlay(a *regcheck.Auth) error {
	for _, file := range []struct {
		flag, name string
		into       *secret.String
	}{{"password-file", r.passwordFile, &a.Password}, {"token-file", r.tokenFile, &a.Token}} {
		if file.name == "" {
			continue
		}
		data, err := ReadFlagFile(file.flag, file.name)
		if err != nil {
			return err
		}
		text := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
		if text == "" {
			return fmt.Errorf("--%s: %q is empty", file.flag, file.name)
		}
		*file.into = secret.String(text)
	}
	return nil
}

// NoteAge returns what adds to the auth stage how old the file of the credentials is. If the registry rejects them, it may not have been
// renewed.
func (r *renewed) NoteAge(now time.Time) func(*regcheck.StageResult) {
	return func(stage *regcheck.StageResult) {
		name := r.passwordFile + r.tokenFile // one of them is empty
		info, err := os.Stat(name)
		if name == "" || err != nil || stage.Name != regcheck.StageAuth || stage.Status == regcheck.Skipped {
			return
		}
		stage.Detail += fmt.Sprintf("; %s was last changed %s ago", name, now.Sub(info.ModTime()).Round(time.Second))
		if stage.Status == regcheck.Failed {
			stage.Detail += ", so that what renews it may have stopped"
		}
	}
}

// helperError is why a helper gave no credentials: the command line is right, and nothing was checked.
type helperError struct{ error }

// dockerHubKey is the name by which docker's helpers know Docker Hub.
const dockerHubKey = "https://index.docker.io/v1/"

// useHelper replaces the credentials of a definition by those of the helper.
func (r *renewed) useHelper(d *regcheck.Definition) error {
	if d.Auth.Kind() != regcheck.NoAuth {
		return UsageError{errors.New("--credential-helper cannot be combined with other credentials")}
	}
	_, host, found := strings.Cut(d.Endpoint, "://")
	if !found {
		host = d.Endpoint
	}
	switch host, _, _ = strings.Cut(host, "/"); host {
	case "docker.io", "index.docker.io", "registry-1.docker.io":
		host = dockerHubKey
	}
	username, password, err := r.Helper(host)
	tls := d.Auth.TLS
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return UsageError{errors.New("--credential-helper: there is no such program in PATH")}
	case err != nil:
		return helperError{fmt.Errorf("--credential-helper: %w", err)}
	case password == "":
		return helperError{fmt.Errorf("--credential-helper: it has no credentials for %s; log in with docker or its program", host)}
	case username == "<token>": // of an identity token
		d.Auth = &regcheck.Auth{Type: regcheck.Token, Token: password}
	default:
		d.Auth = &regcheck.Auth{Type: regcheck.Basic, Username: username, Password: password}
	}
	d.Auth.TLS = tls
	return nil
}
