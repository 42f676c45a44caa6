package source

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"os/exec"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/expiry"
	"github.com/regwarden/regwarden/regcheck/internal/endpoint"
	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/secret"
)

// This file has the sources of the machine: a credential helper of docker, and a file that something else renews. Only the user of a
// command line can name either: no definition in a request or a file has them.

// CredentialHelper is a program that has the credentials (auth.type exec).
type CredentialHelper struct{ Name string }

// Serves implements Settings: it serves any registry, which its host does not show.
func (*CredentialHelper) Serves(string) bool { return false }

// Source implements Settings.
func (h *CredentialHelper) Source(registry *url.URL, note Note) Source {
	required(note, "auth.exec", h.Name)
	return helper{name: h.Name, server: helperServer(registry)}
}

// helperServer returns the name by which docker asks helpers for a registry.
func helperServer(registry *url.URL) string {
	if registry.Hostname() == endpoint.APIHost("docker.io") {
		return "https://index.docker.io/v1/"
	}
	if port := registry.Port(); registry.Scheme == "https" && port == "443" || registry.Scheme == "http" && port == "80" {
		return strings.TrimSuffix(registry.Host, ":"+port) // which is not written
	}
	return registry.Host
}

// helper asks a credential helper in each check.
type helper struct {
	name, server string
	ask          func(ctx context.Context, program, server string) (username string, password secret.String, err error)
}

// bind implements binder.
func (h helper) bind(a *Ambient) Source {
	if a == nil || a.Helper == nil {
		return refused{&Refusal{Reason: AmbientNotAllowed, Field: "auth.exec", Seen: message.Of("%s was not started.", h.name)}}
	}
	h.ask = a.Helper
	return h
}

// Depends implements Source.
func (h helper) Depends() []string { return []string{"exec", h.name, h.server} }

// Obtain implements Source.
func (h helper) Obtain(ctx context.Context, _ Call, _ time.Time) (c Credentials, err error) {
	username, password, err := h.ask(ctx, h.name, h.server)
	refuse := func(reason Reason, seen message.Text) (Credentials, error) {
		return c, &Refusal{Reason: reason, Field: "auth.exec", Seen: seen}
	}
	switch {
	case ctx.Err() != nil:
		return c, ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return refuse(HelperMissing, message.Of("%s is not in PATH.", h.name))
	case err != nil:
		return refuse(HelperFailed, message.Of("%s: %s.", h.name, strings.TrimSuffix(err.Error(), ".")))
	case password == "":
		return refuse(HelperFailed, message.Of("%s has no credentials for %s.", h.name, h.server))
	}
	c = Credentials{Password: password, Field: "auth.exec",
		Origin:   message.Of("%s has a password of %s for %s", h.name, username, h.server),
		Outdated: message.Of("Log in again with docker or the program that %s belongs to: it gave what the registry rejects.", h.name)}
	if username == "<token>" { // an identity token
		c.Bearer, c.Origin = true, message.Of("%s has a token for %s", h.name, h.server)
	} else {
		c.Username = username
	}
	return c, nil
}

// RenewedFile is where a file has the credentials (auth.type file), such as one of a volume of Kubernetes or of an agent of Vault: the
// password of a user, or a token.
type RenewedFile struct{ Username, Password, Token string } // the last two are paths

// Serves implements Settings.
func (*RenewedFile) Serves(string) bool { return false }

// Source implements Settings.
func (f *RenewedFile) Source(_ *url.URL, note Note) Source {
	if f.Password != "" && f.Token != "" {
		note("auth.file.token", "cannot be combined with {auth.file.password}")
	}
	if f.Password != "" {
		required(note, "auth.username", f.Username)
	}
	return file{settings: *f}
}

// file reads the file in each check.
type file struct {
	settings RenewedFile
	read     func(path string) (text []byte, changed time.Time, err error)
}

// bind implements binder.
func (f file) bind(a *Ambient) Source {
	if a == nil || a.NamedFile == nil {
		return refused{&Refusal{Reason: AmbientNotAllowed, Field: f.field(), Seen: message.Of("%s was not read.", f.path())}}
	}
	f.read = a.NamedFile
	return f
}

func (f file) path() string { return cmp.Or(f.settings.Password, f.settings.Token) }

func (f file) field() string {
	if f.settings.Token != "" {
		return "auth.file.token"
	}
	return "auth.file.password"
}

// Depends implements Source: a Cache must not remember what a file had.
func (file) Depends() []string { return nil }

// Obtain implements Source.
func (f file) Obtain(_ context.Context, _ Call, now time.Time) (c Credentials, err error) {
	data, changed, err := f.read(f.path())
	text := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	why := unreadable(err, len(data), maxToken)
	if why == "" && text == "" {
		why = "is empty"
	}
	if why != "" {
		return c, &Refusal{Reason: FileMissing, Field: f.field(), Seen: message.Of("%s %s.", f.path(), why)}
	}
	age := max(now.Sub(changed), 0).Round(time.Second)
	c = Credentials{Username: f.settings.Username, Password: secret.String(text), Bearer: f.settings.Token != "", Field: f.field(),
		Expires: expiry.NotAfter(f.settings.Username, text),
		Origin:  message.Of("read from %s, unchanged since %s UTC (%v)", f.path(), changed.UTC().Format(time.DateTime), age),
		Outdated: message.Of("Check that what renews %s still runs: the file is unchanged since %v. If it does, the credentials that it "+
			"writes are not those of this registry.", f.path(), age)}
	return c, nil
}
