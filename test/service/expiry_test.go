package service_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/testca"
)

// The certificates of a registry are listed each with its own end: that of the server, that of its CA and that of the client. Those that
// several registries need are listed once, for a member as many as it may see. A client certificate that expires soon raises an alert.
func TestCertificatesExpire(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, watchEvery("1s"))
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	registry, receiver := secured(t), &hooks{}
	admin.make(channelsOf(admin.project()), hook(listenHere(t, receiver)))
	soon := testca.New(t, "Clients").Issue(t, testca.Options{Name: "robot", Client: true, NotAfter: time.Now().AddDate(0, 0, 10)})
	blue := admin.make("/v1/projects", `{"metadata":{"name":"Blue"}}`)
	inBlue := admin
	inBlue.credential = append(slices.Clone(admin.credential), "ProjectUid", blue)
	store := func(by person, name string, client testca.Pair) {
		tls := object{"enabled": true, "ca": registry.CA, "certificate": client.Certificate, "key": client.Key}
		by.make(registriesPath, newRegistry(name, spec(registry.Endpoint, object{"type": "basic", "username": ada,
			"password": adaPassword, "tls": tls}, nil)))
	}
	store(inBlue, "a", testca.Pair{})
	store(admin, "b", soon)
	user := "/v1/users/" + admin.make("/v1/users", newUser("blue@acme.example"))
	admin.do("PUT", user+"/projects", projectRole(blue, "member")).Want(http.StatusNoContent)
	admin.do("PUT", user+"/roles", `{"roles":["none"]}`).Want(http.StatusNoContent)
	member, _ := loggedIn(t, server, "blue@acme.example", instance.Org, matePassword)
	var found api.Expiries
	shown := func(to person) (lines []string) {
		to.get("/v1/expiry", &found)
		for _, e := range found.Items {
			if c := e.Certificate; c != nil {
				lines = append(lines, fmt.Sprintf("%s %s of %s (%d), %d days", c.Role, c.Subject, e.Name, c.Registries,
					int(time.Until(e.NotAfter).Hours()/24)))
			}
		}
		return lines
	}
	want := []string{"client robot of b (1), 9 days", "server registry of a (2), 59 days", "ca Example Private CA of a (2), 89 days"}
	instance.Await(t, "the certificates are listed as "+strings.Join(want, "; "), func() bool { return slices.Equal(shown(admin), want) })
	ends := found.Items[0].NotAfter
	if got := shown(member); !slices.Equal(got, []string{"server registry of a (1), 59 days", "ca Example Private CA of a (1), 89 days"}) {
		t.Errorf("a member of the project of a sees %q", got)
	}
	instance.Await(t, "the alert", func() bool { return len(receiver.kinds()) > 0 })
	receiver.mu.Lock()
	defer receiver.mu.Unlock()
	if got := receiver.got[0]; got.Kind != "certificateExpiresSoon" ||
		!strings.Contains(got.Message, `registry "b"`) ||
		!strings.HasSuffix(got.Message, " expires on "+ends.Format(time.RFC1123)+".") {
		t.Errorf("the alert %s: %s", got.Kind, got.Message)
	}
}
