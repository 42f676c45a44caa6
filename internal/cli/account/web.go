package account

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"runtime"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/logins"
	"github.com/regwarden/regwarden/internal/cli/output"
	"github.com/regwarden/regwarden/secret"
)

// logInByBrowser logs in without a password here: the person confirms it in a browser, on any machine.
func (l *login) logInByBrowser(to *logins.Context, config client.Config) (*api.UserInfo, error) {
	c, err := client.New(to.Server, config)
	if err != nil {
		return nil, err
	}
	begun, err := c.Devices.Begin(l.Ctx)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(l.Cmd.ErrOrStderr(), "Open %s\nand enter the code %s\n", output.Shown(begun.VerificationURI), output.Shown(begun.UserCode))
	if command.IsTerminal(l.Cmd.ErrOrStderr()) {
		openBrowser(to.Server, begun.VerificationURIComplete)
	}
	token, refresh, err := c.Devices.Await(l.Ctx, begun)
	if refused, ok := errors.AsType[*api.Error](err); ok && refused.OAuthError != "" {
		return nil, errors.New(output.Shown(refused.Message))
	}
	if err != nil {
		return nil, err
	}
	config.Token, config.RefreshToken = token, refresh
	to.Token, to.RefreshToken = token.Reveal(), refresh.Reveal()
	config.OnRefresh = func(token, refresh secret.String) { to.Token, to.RefreshToken = token.Reveal(), refresh.Reveal() }
	if c, err = client.New(to.Server, config); err != nil {
		return nil, err
	}
	return c.Whoami(l.Ctx)
}

// openBrowser opens a page of the server in the browser of a desktop. Without one, the person opens it.
func openBrowser(server, page string) {
	of, errS := url.Parse(server)
	to, errP := url.Parse(page)
	if errS != nil || errP != nil || to.Scheme != of.Scheme || to.Host != of.Host {
		return // the printed address is checked by the person
	}
	name, args := "xdg-open", []string{to.String()}
	switch {
	case runtime.GOOS == "darwin":
		name = "open"
	case runtime.GOOS == "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", to.String()}
	case os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "":
		return
	}
	if cmd := exec.Command(name, args...); cmd.Start() == nil { // #nosec G204 G702 -- a page of the server that the person named
		go func() { _ = cmd.Wait() }()
	}
}
