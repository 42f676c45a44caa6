package manage

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/internal/cli/command"
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
	flags.StringVar(&t.server, "server", "", "URL of the server (default: "+EnvServer+", or that of 'regwarden login'; without any, the local store)")
	t.local.AddFlags(flags)
}

// choose returns the context of the server to use, nil for the local store. Flags take precedence over the environment, and the
// environment over the current context. The local store is the default only without any login ever.
func (t *target) choose() (*Context, error) {
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
		server = os.Getenv(EnvServer)
	}
	if server == "" && source != "default" && t.context == "" {
		return nil, nil
	}
	saved, err := readContexts()
	switch {
	case err != nil:
		return nil, err
	case t.context != "":
		return saved.byFlag(t.context)
	case server != "":
		return t.chooseAt(saved, server)
	case os.Getenv(EnvAPIKey) != "": // the current context may be of another server, which must not get the key
		return nil, command.AsUsage(fmt.Errorf("%s requires the URL of the server, in %s or with --server", EnvAPIKey, EnvServer))
	}
	return saved.chosen()
}

// chooseAt returns the context of a server: that of the API key in the environment, or the only login there.
func (t *target) chooseAt(saved contexts, server string) (*Context, error) {
	server, err := serverURL(server)
	if err != nil {
		return nil, err
	}
	logins, key := saved.find(server, t.org), os.Getenv(EnvAPIKey)
	at := &Context{Server: server}
	if len(logins) > 0 {
		at = &logins[0]
	}
	switch {
	case key != "":
		return withKey(at, key)
	case len(logins) == 1:
		return at, nil
	case t.public != nil && *t.public:
		return withKey(at, "")
	case len(logins) == 0:
		return nil, fmt.Errorf("not logged in to %s; run: regwarden login %[1]s, or set %s", server, EnvAPIKey)
	}
	several := fmt.Sprintf("there are %d logins at %s; choose one with --context NAME:", len(logins), server)
	for _, c := range logins {
		several += "\n  " + Shown(fmt.Sprintf("%s: %s in the organization %s", c.Name, c.Email, c.Org))
	}
	return nil, command.AsUsage(errors.New(several))
}

// withKey returns the context of an API key in the environment, or of none, for the server of a login or another one.
func withKey(of *Context, key string) (*Context, error) {
	ca, err := readCA(EnvCA, os.Getenv(EnvCA))
	if err == nil && of.Name == "" && !insecureHTTP() {
		err = checkEncrypted(of.Server, envInsecureHTTP+"=true")
	}
	return &Context{Server: of.Server, APIKey: key, CA: cmp.Or(ca, of.CA)}, err
}

// ChosenServer returns the URL of the server that commands without flags of their own talk to, empty for the local store.
func ChosenServer(local Local) (string, error) {
	chosen, err := (&target{local: local}).choose()
	if chosen == nil {
		return "", err
	}
	return chosen.Server, nil
}
