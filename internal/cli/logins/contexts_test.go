package logins

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A login replaces that of the same user only. The names of others are distinct.
func TestNamesOfContexts(t *testing.T) {
	var saved Contexts
	for i, tt := range []struct{ name, server, org, email, want, replaced string }{
		{"", "https://a.example", "Acme", "admin", "a.example", ""},
		{"", "https://a.example", "ACME", "Admin", "a.example", "0"}, // the same login again
		{"", "https://a.example", "Acme", "dev", "a.example/Acme/dev", ""},
		{"", "https://a.example", "Acme", "dev", "a.example/Acme/dev", "2"},
		{"", "https://a.example", "Globex", "admin", "a.example/Globex", ""},
		{"", "https://a.example", "Globex", "admin", "a.example/Globex", "4"},
		{"", "http://a.example", "Umbrella", "admin", "a.example/Umbrella", ""},
		{"", "http://a.example", "Acme", "admin", "a.example/Acme", ""},
		{"", "http://a.example", "Acme", "dev", "a.example-2", ""},
		{"", "https://a.example:8443/prefix", "Acme", "admin", "a.example:8443/prefix", ""},
		{"mine", "https://a.example", "Acme", "admin", "mine", ""},
		{"mine", "https://a.example", "Acme", "admin", "mine", "10"},
		{"", "https://a.example", "Acme", "admin", "a.example", "1"},
	} {
		login := Context{Name: tt.name, Server: tt.server, Org: tt.org, Email: tt.email, Token: strconv.Itoa(i)}
		got, former, err := saved.Add(login)
		if err != nil || got.Name != tt.want || saved.Current != tt.want || former.Token != tt.replaced {
			t.Errorf("%s of %s in %s is %q in place of %q, want %q, %q: %v", tt.email, tt.org, tt.server, got.Name, former.Token, tt.want,
				tt.replaced, err)
		}
	}
	for _, other := range []Context{{Server: "https://a.example", Org: "Acme", Email: "dev"},
		{Server: "https://b.example", Org: "Acme", Email: "admin"}} {
		other.Name = "mine"
		if _, _, err := saved.Add(other); err == nil || saved.Named("mine").Email != "admin" ||
			saved.Named("mine").Server != "https://a.example" {
			t.Errorf("the login of another user was replaced: %v", err)
		}
	}
	if found := saved.Find("https://a.example", "globex"); len(found) != 1 || found[0].Name != "a.example/Globex" {
		t.Errorf("found %v", found)
	}
	saved.Remove("a.example")
	if _, err := saved.Get(""); err == nil || saved.Active() != nil {
		t.Error("a removed context is current")
	}
}

// Changes by several commands at once are all made, and no reader sees half a file.
func TestConcurrentChangesOfContexts(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", os.Getenv("XDG_CONFIG_HOME")) // where the variable above has no meaning
	const changes = 20
	var all sync.WaitGroup
	for i := range changes {
		all.Go(func() {
			err := Change(t.Context(), func(saved *Contexts) error {
				_, _, err := saved.Add(Context{Server: "https://" + strconv.Itoa(i) + ".example"})
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			if _, err := Read(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if saved, err := Read(); err != nil || len(saved.Contexts) != changes {
		t.Errorf("%d Contexts, %v", len(saved.Contexts), err)
	}
	path, err := Path()
	if err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".contexts-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("files left: %v, %v", left, err)
	}
	err = Change(t.Context(), func(saved *Contexts) error {
		_, _, err := saved.Add(Context{Server: "https://large.example", CA: strings.Repeat("x", maxContexts)})
		return err
	})
	if saved, readErr := Read(); err == nil || readErr != nil || len(saved.Contexts) != changes {
		t.Errorf("a file that is too large: %v, then %v", err, readErr)
	}
}

func TestURLsOfServers(t *testing.T) {
	for text, want := range map[string]string{
		"regwarden.example.com": "https://regwarden.example.com", "https://A.example:8443/": "https://a.example:8443",
		" http://a.example/x/ ": "http://a.example/x",
		"ftp://a.example":       "", "https://": "", "https://u:marked@a.example": "", "https://a.example?marked": "",
		"https://a.example/%zzmarked": "", "": "",
	} {
		got, err := ServerURL(text)
		if got != want || (err == nil) != (want != "") || err != nil && strings.Contains(err.Error(), "marked") {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
	for server, ok := range map[string]bool{
		"https://a.example": true, "http://localhost:8080": true, "http://127.0.0.2": true, "http://[::1]:80": true,
		"http://[::ffff:127.0.0.1]": true,
		"http://a.example":          false, "http://10.0.0.1": false, "http://localhost.example": false, "http://127.0.0.1.example": false,
	} {
		if err := CheckEncrypted(server, "--flag"); (err == nil) != ok {
			t.Errorf("%s: %v", server, err)
		}
	}
}
