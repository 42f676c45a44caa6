package manage

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/cli/hostiletest"
	"github.com/regwarden/regwarden/internal/cli/logins"
)

func TestTextOfServersInMessages(t *testing.T) {
	var out, messages bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetOut(&out)
	cmd.SetErr(&messages)
	cmd.SetContext(t.Context())
	if err := (&Call{Cmd: cmd}).Created(nil, hostiletest.Text, "Created %s.", hostiletest.Text); err != nil {
		t.Fatal(err)
	}
	hostiletest.MustBeHarmless(t, "standard output", out.String(), 1)
	hostiletest.MustBeHarmless(t, "standard error", messages.String(), 1)
	problem := string(must(json.Marshal(hostiletest.Text)))
	refused := &api.Error{Details: json.RawMessage(`{"fields":[{"field":"name","problem":` + problem + `}]}`)}
	text, _, _ := strings.Cut(Explain(cmd, refused).Error(), "\nSee '")
	hostiletest.MustBeHarmless(t, "problem", text+"\n", 1)
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

// noLocal is a Local without a store.
type noLocal struct{ Local }

func (noLocal) AddFlags(*pflag.FlagSet) {}
func (noLocal) Source() string          { return "default" }

// A name is inserted into a command line, where only a name that can be shown is what it seems.
func TestCompletedNamesCanBeShown(t *testing.T) {
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	cmd.Flags().String("server", "", "")
	t.Setenv(logins.EnvServer, "https://127.0.0.1:1")
	t.Setenv(logins.EnvAPIKey, "key")
	names, _ := Program{NewLocal: func() Local { return noLocal{} }}.CompleteFlag(func(*Call) ([]string, error) {
		return []string{"plain", hostiletest.Text, "größe 1"}, nil
	})(cmd, nil, "")
	if got := strings.Join(names, ","); got != "größe 1,plain" {
		t.Errorf("completed %q", got)
	}
}

// A key in the environment is for the server that is named with it, not for that of the login.
func TestKeyIsSentToTheNamedServer(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", os.Getenv("XDG_CONFIG_HOME"))
	t.Setenv(logins.EnvAPIKey, "key-marked")
	if err := logins.Change(t.Context(), func(saved *logins.Contexts) error {
		saved.Add(logins.Context{Server: "https://login.example", Org: "Acme", Token: "token"})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if chosen, err := (&target{local: noLocal{}}).choose(); err == nil || strings.Contains(err.Error(), "marked") {
		t.Errorf("the key is sent to %v, error %v", chosen, err)
	}
	for _, server := range []string{"https://login.example", "https://other.example"} {
		t.Setenv(logins.EnvServer, server)
		chosen, err := (&target{local: noLocal{}}).choose()
		if err != nil || chosen.Server != server || chosen.APIKey != "key-marked" || chosen.Token != "" {
			t.Errorf("%s: %v, %v", server, chosen, err)
		}
	}
}

func TestIndexOf(t *testing.T) {
	list := [][2]string{{"uid-1", "uid-2"}, {"uid-2", "Charts"}}
	for ref, want := range map[string]int{"uid-1": 0, "uid-2": 1, "charts": 1, " charts ": 1, "UID-2": 0, "other": -1} {
		if got := IndexOf(list, ref, func(item [2]string) (uid, name string) { return item[0], item[1] }); got != want {
			t.Errorf("%q: %d, want %d", ref, got, want)
		}
	}
}
