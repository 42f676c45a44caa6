package manage

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/logins"
	"github.com/regwarden/regwarden/internal/cli/output"
)

// target is the service that a command talks to.
type target struct {
	local                Local
	context, server, org string
	anyOrg               func(args []string) bool // no organization is needed; nil for commands that need one
	allOrgs              bool                     // no organization means all of them
	noOrg                bool                     // there is no flag --org
	localOnly            bool                     // a server is not chosen
	public               *bool                    // true if the request needs no login; nil for commands that need one
}

// needsNoOrg reports whether the local store is opened without an organization.
func (t *target) needsNoOrg(args []string) bool { return t.anyOrg != nil && t.anyOrg(args) }

func (t *target) addFlags(flags *pflag.FlagSet) {
	flags.SortFlags = false
	local := "the only one"
	if t.allOrgs {
		local = "all"
	}
	if !t.noOrg {
		flags.StringVar(&t.org, "org", "", "name of the organization (default: the one of the login; on a local store, "+local+")")
	}
	flags.StringVar(&t.context, "context", "", "name of the login to use (default: the one of 'regwarden context use')")
	flags.StringVar(&t.server, "server", "", "URL of the server (default: "+logins.EnvServer+", or that of 'regwarden login'; without "+
		"any, the local store)")
	t.local.AddFlags(flags)
}

// choose returns the context of the server to use, nil for the local store. Flags take precedence over the environment, and the
// environment over the current context. The local store is the default only without any login ever.
func (t *target) choose() (*logins.Context, error) {
	if t.localOnly {
		return nil, nil
	}
	source := t.local.Source()
	switch {
	case t.server != "" && source == "flag":
		return nil, command.AsUsage(errors.New("--server cannot be combined with the flags of a local store"))
	case t.context != "" && (t.server != "" || source == "flag"):
		return nil, command.AsUsage(errors.New("--context cannot be combined with --server or the flags of a local store"))
	}
	server := t.server
	if server == "" && source != "flag" && t.context == "" {
		server = os.Getenv(logins.EnvServer)
	}
	if server == "" && source != "default" && t.context == "" {
		return nil, nil
	}
	saved, err := logins.Read()
	switch {
	case err != nil:
		return nil, err
	case t.context != "":
		return saved.ByFlag(t.context)
	case server != "":
		return t.chooseAt(saved, server)
	case os.Getenv(logins.EnvAPIKey) != "": // the current context may be of another server, which must not get the key
		return nil, command.AsUsage(fmt.Errorf("%s requires the URL of the server, in %s or with --server", logins.EnvAPIKey,
			logins.EnvServer))
	}
	return saved.Chosen()
}

// unnamed describes what a command acts on in messages, if it was not named and is not the only possibility.
func (t *target) unnamed(chosen *logins.Context) string {
	switch {
	case t.localOnly || t.context != "" || t.server != "" || t.local.Source() != "default":
		return ""
	case chosen == nil:
		return " (in the store " + t.local.Where() + ")"
	case os.Getenv(logins.EnvServer) != "":
		return ""
	}
	if saved, err := logins.Read(); err != nil || len(saved.Contexts) < 2 {
		return ""
	}
	return fmt.Sprintf(" (%s at %s)", chosen.Name, chosen.Server)
}

// chooseAt returns the context of a server: that of the API key in the environment, or the only login there.
func (t *target) chooseAt(saved logins.Contexts, server string) (*logins.Context, error) {
	server, err := logins.ServerURL(server)
	if err != nil {
		return nil, err
	}
	found, key := saved.Find(server, t.org), os.Getenv(logins.EnvAPIKey)
	at := &logins.Context{Server: server}
	if len(found) > 0 {
		at = &found[0]
	}
	switch {
	case key != "":
		return withKey(at, key)
	case len(found) == 1:
		return at, nil
	case t.public != nil && *t.public:
		return withKey(at, "")
	case len(found) == 0:
		return nil, fmt.Errorf("not logged in to %s; run: regwarden login %[1]s, or set %s", server, logins.EnvAPIKey)
	}
	several := fmt.Sprintf("there are %d logins at %s; choose one with --context NAME:", len(found), server)
	for _, c := range found {
		several += "\n  " + output.Shown(fmt.Sprintf("%s: %s in the organization %s", c.Name, c.Email, c.Org))
	}
	return nil, command.AsUsage(errors.New(several))
}

// withKey returns the context of an API key in the environment, or of none, for the server of a login or another one.
func withKey(of *logins.Context, key string) (*logins.Context, error) {
	ca, err := logins.ReadCA(logins.EnvCA, os.Getenv(logins.EnvCA))
	if err == nil && of.Name == "" && !logins.InsecureHTTP() {
		err = logins.CheckEncrypted(of.Server, logins.EnvInsecureHTTP+"=true")
	}
	return &logins.Context{Server: of.Server, APIKey: key, CA: cmp.Or(ca, of.CA)}, err
}

// ChosenServer returns the URL of the server that commands without flags of their own talk to, empty for the local store.
func ChosenServer(local Local) (string, error) {
	chosen, err := (&target{local: local}).choose()
	if chosen == nil {
		return "", err
	}
	return chosen.Server, nil
}

// IsUID reports whether a text is a uid.
func IsUID(text string) bool {
	return uuid.Validate(text) == nil && len(text) == len(uuid.Nil.String())
}

// IndexOf returns the position of the item with this uid, else of the one with this name in any letter case; -1 if there is none. Names
// come second: anyone may choose one that is the uid of another item.
func IndexOf[T any](list []T, ref string, identity func(T) (uid, name string)) int {
	ref = strings.TrimSpace(ref)
	i := slices.IndexFunc(list, func(item T) bool { uid, _ := identity(item); return uid == ref })
	if i < 0 {
		i = slices.IndexFunc(list, func(item T) bool { _, name := identity(item); return strings.EqualFold(name, ref) })
	}
	return i
}

// codesOfLogin are the codes of errors about the credentials of a request.
var codesOfLogin = []string{"UnAuthorizedAccess", "InvalidRefreshToken"}

// ExplainServer names the next step where the server cannot be reached or does not accept the credentials.
func (c *Call) ExplainServer(err error) error {
	if err == nil || c.Login == nil {
		return err
	}
	server, again := c.Login.Server, "regwarden login --context "+command.ShellQuote(c.Login.Name)
	if refused, ok := errors.AsType[*api.Error](err); ok && slices.Contains(codesOfLogin, refused.Code) {
		switch {
		case c.Login.Name == "":
			return fmt.Errorf("%s does not accept the key in %s: %s", server, logins.EnvAPIKey, output.Shown(refused.Message))
		case c.Login.APIKey != "":
			return fmt.Errorf("%s does not accept the key of the login %s: %s To give another one, run: %s --api-key-stdin",
				server, c.Login.Name, output.Shown(refused.Message), again)
		}
		return fmt.Errorf("the login at %s as %s is no longer valid; run: %s", server, c.Login.Email, again)
	}
	trust := logins.Trust{Next: "name its certificate with: " + again + " --ca FILE"}
	if c.Login.CA != "" {
		trust = logins.Trust{Given: "the CA that is stored with the login " + c.Login.Name,
			Next: "give the right one with: " + again + " --ca FILE"}
	}
	if c.Login.Name == "" {
		trust = logins.Trust{Next: "name the file of its certificate in " + logins.EnvCA}
		if os.Getenv(logins.EnvCA) != "" {
			trust = logins.Trust{Given: "a certificate in " + logins.EnvCA, Next: "name the file of the right one there"}
		}
	}
	return logins.ExplainConnection(err, server, trust)
}
