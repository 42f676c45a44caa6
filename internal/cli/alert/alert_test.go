package alert

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/cli/manage"
)

func TestURLsWithSecretsAreNoArguments(t *testing.T) {
	for url, ok := range map[string]bool{
		"https://hooks.example.com/regwarden": true, "https://events.pagerduty.com/v2/enqueue": true, "http://127.0.0.1:8080": true,
		"https://hooks.slack.com/services/T000/B000/abcdefghijklmnopqrstuvwx": false,
		"https://hooks.example.com/?sig=marked":                               false,
		"https://hooks.example.com/#marked":                                   false,
		"https://marked@hooks.example.com/":                                   false,
		"https://hooks.example.com/%zzmarked":                                 false,
	} {
		if err := checkPlainURL(url); (err == nil) != ok || err != nil && strings.Contains(err.Error(), "marked") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestFindMuteByUIDOrOnlyBeginning(t *testing.T) {
	list := make([]api.Mute, 3)
	for i, uid := range []string{"6f1c", "6f1c2b9a", "6f2d"} {
		list[i].Metadata.UID = uid
	}
	for named, want := range map[string]string{"6f1c": "6f1c", "6f1c2": "6f1c2b9a", "6f2": "6f2d", "": "", "6": "", "6f1": "", "7": ""} {
		found, err := findMute(list, named)
		if found.Metadata.UID != want && err == nil || (err == nil) != (want != "") {
			t.Errorf("%q: %+v, %v", named, found.Metadata, err)
		}
	}
	if _, err := findMute(list, "6f1"); !strings.HasSuffix(err.Error(), "one of the uids 6f1c, 6f1c2b9a") {
		t.Error(err)
	}
}

// A webhook sends no email, and an email channel calls no webhook.
func TestChannelHasOneDestination(t *testing.T) {
	for flag, ok := range map[string][2]bool{ // for a webhook, and for email
		"--email=ada@acme.example":         {false, true},
		"--all-users":                      {false, true},
		"--all-users=false":                {true, true},
		"--url=https://hooks.acme.example": {true, false},
		"--template=slack":                 {true, false},
		"--name=x":                         {true, true},
	} {
		for i, stored := range []api.AlertChannelRequest{{Type: typeHTTP, HTTP: &api.AlertChannelHTTPRequest{URL: "********"}},
			{Type: typeEmail, Identifiers: []string{"bob@acme.example"}}} {
			var f alertInput
			cmd := &cobra.Command{}
			f.addTo(cmd)
			if err := cmd.ParseFlags([]string{flag}); err != nil {
				t.Fatal(err)
			}
			_, err := f.channel(&manage.Call{Cmd: cmd}, stored, false)
			if (err == nil) != ok[i] || err != nil && !strings.Contains(err.Error(), "either a webhook or email") {
				t.Errorf("%s of %s: %v", flag, stored.Type, err)
			}
		}
	}
}

// A command on a local store does not know the settings of the server.
func TestWarningOfALocalStore(t *testing.T) {
	const warning = "Nothing will be sent: the address is not allowed, since it is private. Allow it."
	if got := warningOf(warning, false); got != warning {
		t.Errorf("at a server: %q", got)
	}
	const local = " This is by the settings of this command: the server of the store may have others."
	if got := warningOf(warning, true); got != warning+local {
		t.Errorf("of a local store: %q", got)
	}
}
