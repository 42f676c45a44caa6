// Package account has the commands for the own logins at servers, and for sessions.
package account

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/logins"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// Commands creates the commands of this package.
type Commands struct{ manage.Program }

// login has the flags of "regwarden login".
type login struct {
	manage.Call
	org, email, ca, name    string
	keyStdin, passwordStdin bool
	codeStdin               bool
	code                    secret.String // read with the password
	insecureHTTP, web       bool
	workload                workload
	rules                   string // for new passwords
}

// Login returns the command that logs in to a server.
func (p Commands) Login() *cobra.Command {
	cmd := &cobra.Command{Use: "login [URL]", Short: "Log in to a server", Args: command.AtMostOneArg}
	l := &login{Call: manage.Call{Cmd: cmd}, rules: p.PasswordRules}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		l.Ctx = cmd.Context()
		return manage.Explain(cmd, l.run(strings.Join(args, "")))
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&l.email, "email", "", "email of the user (default: prompt on a terminal)")
	flags.StringVar(&l.org, "org", "", "name of the organization (default: that of the server, or prompt on a terminal)")
	flags.BoolVar(&l.passwordStdin, "password-stdin", false,
		"read the password from standard input, without one trailing newline (default: prompt on a terminal)")
	flags.BoolVar(&l.codeStdin, "code-stdin", false, "read a code of your second factor from a second line of standard input, with "+
		"--password-stdin (default: prompt on a terminal)")
	flags.BoolVar(&l.keyStdin, "api-key-stdin", false, "use an API key, read from standard input or at a prompt")
	flags.BoolVar(&l.web, "web", false, "log in with a browser, on this or another machine: by password or single sign-on")
	l.workload.addFlags(flags)
	flags.StringVar(&l.ca, "ca", "", "file of CA certificates (PEM) to trust in addition to the system's")
	flags.StringVar(&l.name, "context", "", "name of the login (default: the host of the server); an earlier one's URL, --email, "+
		"--org and --ca are defaults")
	flags.BoolVar(&l.insecureHTTP, "insecure-http", false, "allow http:// to another machine, which sends credentials unencrypted")
	manage.Changes(&l.Call, nil)
	return cmd
}

func (l *login) run(url string) error {
	earlier, err := l.earlier()
	if err != nil {
		return err
	}
	if url = cmp.Or(url, earlier.Server); url == "" {
		return command.Usage(l.Cmd, errors.New("login requires URL, or --context with the name of an earlier login"))
	}
	server, err := logins.ServerURL(url)
	if err == nil && !l.insecureHTTP && !logins.InsecureHTTP() && server != earlier.Server {
		err = logins.CheckEncrypted(server, "--insecure-http")
	}
	if err == nil {
		err = l.checkFlags()
	}
	if err == nil && earlier.Name != "" && (earlier.Server != server || l.email != "" && !strings.EqualFold(l.email, earlier.Email)) {
		err = earlier.Taken()
	}
	if err != nil {
		return err
	}
	to := &logins.Context{Name: l.name, Server: server}
	if to.CA, err = logins.ReadCA("--ca", l.ca); err != nil {
		return err
	}
	to.CA = cmp.Or(to.CA, earlier.CA)
	if !l.keyStdin && !l.web && l.workload.sources() == 0 {
		l.email, l.org = cmp.Or(l.email, earlier.Email), cmp.Or(l.org, earlier.Org)
	}
	info, err := l.logIn(to)
	if err != nil {
		return logins.ExplainConnection(err, server, l.trust(earlier))
	}
	to.Org, to.Email = info.OrgName, info.Email
	return l.store(to, info)
}

// checkFlags refuses flags that cannot be combined.
func (l *login) checkFlags() error {
	switch {
	case l.keyStdin && (l.email != "" || l.passwordStdin):
		return command.AsUsage(errors.New("--api-key-stdin cannot be combined with --email and --password-stdin"))
	case l.codeStdin && !l.passwordStdin:
		return command.AsUsage(errors.New("--code-stdin requires --password-stdin"))
	case l.web && (l.keyStdin || l.email != "" || l.passwordStdin || l.org != "" || l.workload.sources() > 0):
		return command.AsUsage(errors.New("--web cannot be combined with other credentials, --email and --org"))
	}
	return l.workload.check(l)
}

// trust says what to do about a certificate that is not trusted.
func (l *login) trust(earlier *logins.Context) logins.Trust {
	switch {
	case l.ca != "":
		return logins.Trust{Given: "a certificate in " + l.ca, Next: "give the file of the right one with --ca"}
	case earlier.CA != "":
		return logins.Trust{Given: "the CA that is stored with this login", Next: "give the right one with --ca FILE"}
	}
	return logins.Trust{Next: "if you trust it, name its certificate with --ca FILE"}
}

// earlier returns the login with the name of --context, an empty one if there is none.
func (l *login) earlier() (*logins.Context, error) {
	if l.name == "" {
		return &logins.Context{}, nil
	}
	saved, err := logins.Read()
	return cmp.Or(saved.Named(l.name), &logins.Context{}), err
}

// store stores a login, and ends the session of the former login that it replaces.
func (l *login) store(to *logins.Context, info *api.UserInfo) error {
	var former logins.Context
	err := logins.Change(l.Ctx, func(saved *logins.Contexts) (err error) {
		*to, former, err = saved.Add(*to)
		return err
	})
	if err != nil {
		return errors.Join(err, to.EndSession(l.Ctx)) // no other command has its tokens
	}
	l.Note("Logged in to %s as %s (%s) in the organization %s; context %s.", to.Server, info.Email, info.Role, info.OrgName, to.Name)
	former.Name = "" // it is no longer in the file
	if err := former.EndSession(l.Ctx); err != nil {
		fmt.Fprintln(l.Cmd.ErrOrStderr(), "The former session of this login could not be ended at the server: "+output.Shown(err.Error()))
	}
	return nil
}

// logIn adds credentials that the server accepts to a context. A first request without any finds a wrong URL before a prompt.
func (l *login) logIn(to *logins.Context) (*api.UserInfo, error) {
	config := client.Config{CA: []byte(to.CA), OnWait: l.AnnounceWait}
	_, err := l.whoami(to.Server, config)
	if err == nil {
		return nil, fmt.Errorf("%s accepts requests without credentials; check the URL", to.Server)
	}
	if _, ok := errors.AsType[*api.Error](err); !ok {
		return nil, err
	}
	if l.web {
		return l.logInByBrowser(to, config)
	}
	if l.workload.sources() > 0 {
		return l.workload.logIn(l, to, config)
	}
	if l.keyStdin {
		return l.logInByKey(to, config)
	}
	return l.logInByPassword(to, config)
}

func (l *login) logInByKey(to *logins.Context, config client.Config) (info *api.UserInfo, err error) {
	if config.APIKey, err = command.ReadSecret(l.Cmd.InOrStdin(), "API key: "); err != nil {
		return nil, err
	}
	to.APIKey = config.APIKey.Reveal()
	info, err = l.whoami(to.Server, config)
	if err == nil && l.org != "" && !strings.EqualFold(strings.TrimSpace(l.org), info.OrgName) {
		err = command.AsUsage(fmt.Errorf("--org: the API key belongs to the organization %s", output.Shown(info.OrgName)))
	}
	return info, err
}

// logInByPassword asks for what else the server requires: the organization, or a new password.
func (l *login) logInByPassword(to *logins.Context, config client.Config) (*api.UserInfo, error) {
	if err := l.password(&config); err != nil {
		return nil, err
	}
	config.SecondFactor = l.askForCode()
	config.OnRecoveryCodes = func(codes []string) { _ = printCodes(l.Cmd, codes) }
	config.OnRefresh = func(token, refreshToken secret.String) {
		to.Token, to.RefreshToken = token.Reveal(), refreshToken.Reveal()
	}
	info, err := l.whoami(to.Server, config)
	if l.needsOrg(err) {
		if config.Org, err = command.Prompt(l.Cmd.InOrStdin(), "Organization: "); err == nil {
			info, err = l.whoami(to.Server, config)
		}
	}
	if l.mustReplacePassword(err) {
		fmt.Fprintln(l.Cmd.ErrOrStderr(), "Your password has expired.")
		if config.NewPassword, err = command.PromptPassword(l.Cmd.InOrStdin(), "New password: ", l.rules); err == nil {
			info, err = l.whoami(to.Server, config)
		}
	}
	return info, err
}

// password sets email, organization and password.
func (l *login) password(config *client.Config) (err error) {
	stdin := l.Cmd.InOrStdin()
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
	if err == nil && l.codeStdin {
		config.Password, l.code, err = splitCode(config.Password)
	}
	return err
}

// whoami logs in.
func (l *login) whoami(server string, config client.Config) (*api.UserInfo, error) {
	c, err := client.New(server, config)
	if err != nil {
		return nil, err
	}
	return c.Whoami(l.Ctx)
}

// needsOrg reports whether the server refused a login without an organization, which can be entered.
func (l *login) needsOrg(err error) bool {
	refused, ok := errors.AsType[*api.Error](err)
	return ok && l.org == "" && command.IsTerminal(l.Cmd.InOrStdin()) &&
		slices.ContainsFunc(refused.Fields(), func(p regcheck.Problem) bool { return p.Field == "org" })
}

// mustReplacePassword reports whether the server refused an expired password, and another one can be entered.
func (l *login) mustReplacePassword(err error) bool {
	refused, ok := errors.AsType[*api.Error](err)
	return ok && refused.Reason() == api.ReasonPasswordExpired && command.IsTerminal(l.Cmd.InOrStdin()) && !l.passwordStdin
}

// Logout returns the command that ends a login.
func (p Commands) Logout() *cobra.Command {
	cmd := &cobra.Command{Use: "logout [CONTEXT]", Short: "End the session at a server and remove its credentials",
		Args: command.AtMostOneArg, ValidArgsFunction: manage.CompleteContexts}
	c, name := &manage.Call{Cmd: cmd}, ""
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c.Ctx = cmd.Context()
		if len(args) > 0 && name != "" {
			return command.Usage(cmd, errors.New("give CONTEXT or --context"))
		}
		return manage.Explain(cmd, logout(c, cmp.Or(name, strings.Join(args, ""))))
	}
	cmd.Flags().StringVar(&name, "context", "", "the same as CONTEXT")
	manage.Changes(c, nil)
	return cmd
}

// logout removes the credentials also when the server does not respond.
func logout(c *manage.Call, name string) error {
	saved, err := logins.Read()
	if err != nil {
		return err
	}
	of, err := saved.Get(name)
	if err != nil {
		return err
	}
	ended := of.EndSession(c.Ctx)
	if c.Ctx.Err() != nil {
		return c.Ctx.Err()
	}
	var left *logins.Contexts
	err = logins.Change(c.Ctx, func(saved *logins.Contexts) error {
		saved.Remove(of.Name)
		left = saved
		return nil
	})
	switch {
	case err != nil:
		return err
	case ended != nil:
		return fmt.Errorf("the credentials for %s were removed, but the session could not be ended at the server: %s", of.Server,
			output.Shown(ended.Error()))
	case of.APIKey != "":
		c.Note("Removed the API key for %s. It is still valid: 'regwarden apikey revoke' revokes it.", of.Server)
	default:
		c.Note("Logged out of %s.", of.Server)
	}
	showOthers(c, left)
	return nil
}
