package manage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// logoutTimeout is how long a logout waits for the server before it only removes the credentials.
const logoutTimeout = 10 * time.Second

// login has the flags of "regwarden login".
type login struct {
	call
	org, email, ca, name    string
	keyStdin, passwordStdin bool
	insecureHTTP            bool
}

// Login returns the command that logs in to a server.
func (p Program) Login() *cobra.Command {
	cmd := &cobra.Command{Use: "login [URL]", Short: "Log in to a server", Args: command.AtMostOneArg}
	l := &login{call: call{cmd: cmd}}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		l.ctx = cmd.Context()
		return explain(cmd, l.run(strings.Join(args, "")))
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&l.email, "email", "", "email of the user (default: prompt on a terminal)")
	flags.StringVar(&l.org, "org", "", "name of the organization (default: that of the server, or prompt on a terminal)")
	flags.BoolVar(&l.passwordStdin, "password-stdin", false,
		"read the password from standard input, without one trailing newline (default: prompt on a terminal)")
	flags.BoolVar(&l.keyStdin, "api-key-stdin", false, "use an API key, read from standard input or at a prompt")
	flags.StringVar(&l.ca, "ca", "", "file of CA certificates (PEM) to trust in addition to the system's")
	flags.StringVar(&l.name, "context", "", "name of the login (default: the host of the server); an earlier one's URL, --email, "+
		"--org and --ca are defaults")
	flags.BoolVar(&l.insecureHTTP, "insecure-http", false, "allow http:// to another machine, which sends credentials unencrypted")
	changes(&l.call, nil)
	return cmd
}

func (l *login) run(url string) error {
	earlier, err := l.earlier()
	if err != nil {
		return err
	}
	if url = cmp.Or(url, earlier.Server); url == "" {
		return command.Usage(l.cmd, errors.New("login requires URL, or --context with the name of an earlier login"))
	}
	server, err := serverURL(url)
	if err == nil && !l.insecureHTTP && !insecureHTTP() && server != earlier.Server {
		err = checkEncrypted(server, "--insecure-http")
	}
	if err == nil && l.keyStdin && (l.email != "" || l.passwordStdin) {
		err = command.AsUsage(errors.New("--api-key-stdin cannot be combined with --email and --password-stdin"))
	}
	if err == nil && earlier.Name != "" && (earlier.Server != server || l.email != "" && !strings.EqualFold(l.email, earlier.Email)) {
		err = earlier.taken()
	}
	if err != nil {
		return err
	}
	to := &Context{Name: l.name, Server: server}
	if to.CA, err = readCA("--ca", l.ca); err != nil {
		return err
	}
	to.CA = cmp.Or(to.CA, earlier.CA)
	if !l.keyStdin {
		l.email, l.org = cmp.Or(l.email, earlier.Email), cmp.Or(l.org, earlier.Org)
	}
	info, err := l.logIn(to)
	if err != nil {
		return explainConnection(err, server, "if you trust it, name its certificate with --ca FILE")
	}
	to.Org, to.Email = info.OrgName, info.Email
	return l.store(to, info)
}

// earlier returns the login with the name of --context, an empty one if there is none.
func (l *login) earlier() (*Context, error) {
	if l.name == "" {
		return &Context{}, nil
	}
	saved, err := readContexts()
	return cmp.Or(saved.named(l.name), &Context{}), err
}

// store stores a login, and ends the session of the former login that it replaces.
func (l *login) store(to *Context, info *api.UserInfo) error {
	var former Context
	err := changeContexts(l.ctx, func(saved *contexts) (err error) {
		*to, former, err = saved.add(*to)
		return err
	})
	if err != nil {
		return errors.Join(err, to.endSession(l.ctx)) // no other command has its tokens
	}
	l.changed("Logged in to %s as %s (%s) in the organization %s; context %s.", to.Server, info.Email, info.Role, info.OrgName, to.Name)
	former.Name = "" // it is no longer in the file
	if err := former.endSession(l.ctx); err != nil {
		fmt.Fprintln(l.cmd.ErrOrStderr(), "The former session of this login could not be ended at the server: "+Shown(err.Error()))
	}
	return nil
}

// logIn adds credentials that the server accepts to a context. A first request without any finds a wrong URL before a prompt.
func (l *login) logIn(to *Context) (*api.UserInfo, error) {
	config := client.Config{CA: []byte(to.CA), OnWait: l.announceWait}
	_, err := l.whoami(to.Server, config)
	if err == nil {
		return nil, fmt.Errorf("%s accepts requests without credentials; check the URL", to.Server)
	}
	if _, ok := errors.AsType[*api.Error](err); !ok {
		return nil, err
	}
	if l.keyStdin {
		config.APIKey, err = command.ReadSecret(l.cmd.InOrStdin(), "API key: ")
		to.APIKey = config.APIKey.Reveal()
	} else {
		err = l.password(&config)
		config.OnRefresh = func(token, refreshToken secret.String) {
			to.Token, to.RefreshToken = token.Reveal(), refreshToken.Reveal()
		}
	}
	if err != nil {
		return nil, err
	}
	info, err := l.whoami(to.Server, config)
	if l.needsOrg(err) {
		if config.Org, err = command.Prompt(l.cmd.InOrStdin(), "Organization: "); err == nil {
			info, err = l.whoami(to.Server, config)
		}
	}
	if err == nil && l.org != "" && l.keyStdin && !strings.EqualFold(strings.TrimSpace(l.org), info.OrgName) {
		err = command.AsUsage(fmt.Errorf("--org: the API key belongs to the organization %s", Shown(info.OrgName)))
	}
	return info, err
}

// password sets email, organization and password.
func (l *login) password(config *client.Config) (err error) {
	stdin := l.cmd.InOrStdin()
	terminal := command.IsTerminal(stdin)
	config.Email, config.Org = l.email, l.org
	switch {
	case l.email == "" && terminal && !l.passwordStdin:
		if config.Email, err = command.Prompt(stdin, "Email: "); err != nil {
			return err
		}
	case l.email == "":
		return command.AsUsage(errors.New("give the email with --email, or an API key with --api-key-stdin"))
	}
	if !terminal && !l.passwordStdin {
		return command.AsUsage(errors.New("give the password on standard input, with --password-stdin"))
	}
	config.Password, err = command.ReadSecret(stdin, "Password: ")
	return err
}

// whoami logs in.
func (l *login) whoami(server string, config client.Config) (*api.UserInfo, error) {
	c, err := client.New(server, config)
	if err != nil {
		return nil, err
	}
	return c.Whoami(l.ctx)
}

// needsOrg reports whether the server refused a login without an organization, which can be entered.
func (l *login) needsOrg(err error) bool {
	refused, ok := errors.AsType[*api.Error](err)
	return ok && l.org == "" && command.IsTerminal(l.cmd.InOrStdin()) && slices.ContainsFunc(refused.Fields(), func(p regcheck.Problem) bool { return p.Field == "org" })
}

// Logout returns the command that ends a login.
func (p Program) Logout() *cobra.Command {
	cmd := &cobra.Command{Use: "logout [CONTEXT]", Short: "End the session at a server and remove its credentials", Args: command.AtMostOneArg, ValidArgsFunction: completeContexts}
	c, name := &call{cmd: cmd}, ""
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c.ctx = cmd.Context()
		if len(args) > 0 && name != "" {
			return command.Usage(cmd, errors.New("give CONTEXT or --context"))
		}
		return explain(cmd, c.logout(cmp.Or(name, strings.Join(args, ""))))
	}
	cmd.Flags().StringVar(&name, "context", "", "the same as CONTEXT")
	changes(c, nil)
	return cmd
}

// logout removes the credentials also when the server does not respond.
func (c *call) logout(name string) error {
	saved, err := readContexts()
	if err != nil {
		return err
	}
	of, err := saved.get(name)
	if err != nil {
		return err
	}
	ended := of.endSession(c.ctx)
	if c.ctx.Err() != nil {
		return c.ctx.Err()
	}
	var left *contexts
	err = changeContexts(c.ctx, func(saved *contexts) error {
		saved.remove(of.Name)
		left = saved
		return nil
	})
	switch {
	case err != nil:
		return err
	case ended != nil:
		return fmt.Errorf("the credentials for %s were removed, but the session could not be ended at the server: %s", of.Server, Shown(ended.Error()))
	case of.APIKey != "":
		c.changed("Removed the API key for %s. It is still valid: 'regwarden apikey revoke' revokes it.", of.Server)
	default:
		c.changed("Logged out of %s.", of.Server)
	}
	c.showOthers(left)
	return nil
}

func (c *Context) endSession(ctx context.Context) error {
	if c.Token == "" && c.RefreshToken == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, logoutTimeout)
	defer cancel()
	of, err := c.client(nil)
	if err != nil {
		return err
	}
	return of.Logout(ctx)
}
