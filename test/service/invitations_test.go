package service_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/test/instance"
)

// unusedInvitation has the form of a token of an invitation.
const unusedInvitation = "rwi_6k3cvjpsvt6tcjlvmicojidex75njqiyaiq5zx62d2vxmjdd6borudsdxa"

// invitations is a service with an administrator, and a user without a password.
type invitations struct {
	person
	server *instance.Server
	email  string
	uid    string
}

func newInvitations(t *testing.T, flags ...string) invitations {
	t.Helper()
	server := instance.Start(t, instance.Options{Flags: flags})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	const email = "ada@acme.example"
	uid := admin.make("/v1/users", instance.JSON(object{"spec": object{"emailId": email}}))
	return invitations{admin, server, email, uid}
}

func (i invitations) invite() (made api.Invitation) {
	i.t.Helper()
	i.do("POST", "/v1/users/"+i.uid+"/invitation", "").Want(http.StatusCreated).Into(&made)
	return made
}

// accept sets the password without credentials.
func (i invitations) accept(token, password string) instance.Response {
	i.t.Helper()
	return i.server.Client(i.t).Do("PATCH", "/v1/auth/password/"+token+"/activate", instance.JSON(object{"password": password}))
}

// dead requires that a token sets no password.
func (i invitations) dead(what string, token string) {
	i.t.Helper()
	f := i.accept(token, matePassword).Want(http.StatusNotFound).Fault()
	if f.Code != "ResourceNotFound" || !strings.Contains(f.Message, "link") {
		i.t.Errorf("%s: %+v", what, f)
	}
}

// An invited user sets a password once, by the link that it gets by email. The link is in no log and no audit record.
func TestInvitation(t *testing.T) {
	t.Parallel()
	var box mailbox
	i := newInvitations(t, append(box.listen(t), "--public-url", "https://regwarden.example.com/base/")...)
	made := i.invite()
	token := made.Token
	const prefix = "https://regwarden.example.com/base/console/invitation/"
	if made.Link != prefix+token || !made.Emailed || made.EmailProblem != "" || time.Until(made.ExpiresAt) > 72*time.Hour {
		t.Errorf("made %v %v %q %v", made.Link, made.Emailed, made.EmailProblem, made.ExpiresAt)
	}
	if all := box.all(); len(all) != 1 || !strings.Contains(all[0], prefix+token) || !strings.Contains(all[0], "To: <"+i.email+">") {
		t.Errorf("sent %q", all)
	}
	f := i.accept(token, "short").Want(http.StatusBadRequest).Fault()
	if len(f.Details.Fields) != 1 || f.Details.Fields[0].Field != "password" {
		t.Errorf("a short password: %+v", f)
	}
	path, anonymous := "/v1/auth/password/"+token+"/activate", i.server.Client(t)
	anonymous.Do("PATCH", path, `{"password":"`+strings.Repeat("x", 2<<20)+`"}`).Want(http.StatusRequestEntityTooLarge)
	anonymous.Do("PATCH", path, "password=x", "Content-Type", "text/plain").Want(http.StatusUnsupportedMediaType)
	i.dead("a token that was never made", unusedInvitation)
	i.dead("a token with a typing error", strings.NewReplacer("a", "b", "b", "a").Replace(token)+"c")
	i.dead("no token", "x")
	i.accept(token, matePassword).Want(http.StatusNoContent)
	loggedIn(t, i.server, i.email, instance.Org, matePassword)
	i.dead("a token that was used", token)
	for _, action := range []string{"user.invite", "user.setPassword"} {
		if page := i.records("?action=" + action); len(page.Items) != 1 {
			t.Errorf("%d records of %s, want 1", len(page.Items), action)
		}
	}
	if strings.Contains(i.server.Log(), token) || strings.Contains(i.do("GET", "/v1/audits", "").Body, token) {
		t.Error("the token is in the log or in an audit record")
	}
}

// A link of an invitation ends with a newer one, a password that was set in another way, and its user.
func TestInvitationEnds(t *testing.T) {
	t.Parallel()
	i := newInvitations(t)
	if made := i.invite(); made.Emailed || !strings.Contains(made.EmailProblem, "smtp-host") ||
		!strings.HasPrefix(made.Link, i.server.URL+"/console/invitation/rwi_") {
		t.Errorf("without mail server: %v %v %q", made.Link, made.Emailed, made.EmailProblem)
	}
	user := "/v1/users/" + i.uid
	for _, end := range []struct{ what, method, path, body string }{
		{"a newer invitation", "POST", user + "/invitation", ""},
		{"a password", "PUT", user + "/password", `{"password":"nine geese across the marsh"}`},
		{"a disabled user", "PUT", user + "/state", `{"isActive":false}`},
		{"a deleted user", "DELETE", user, ""},
	} {
		token := i.invite().Token
		time.Sleep(2 * time.Millisecond) // the store has times in milliseconds
		if r := i.do(end.method, end.path, end.body); r.Status >= 300 {
			t.Fatalf("%s: %d %s", end.what, r.Status, r.Body)
		}
		i.dead(end.what, token)
	}
	i.refused("POST", user+"/invitation", "", http.StatusNotFound, "ResourceNotFound")
	var me api.UserInfo
	i.get("/v1/users/info", &me)
	i.refused("POST", "/v1/users/"+me.UserUID+"/invitation", "", http.StatusForbidden, "OperationForbidden")
}

// Of several who use a link at the same time, one sets the password.
func TestInvitationIsUsedOnce(t *testing.T) {
	t.Parallel()
	i := newInvitations(t)
	token := i.invite().Token
	var users sync.WaitGroup
	statuses := make([]int, 8)
	for at := range statuses {
		users.Go(func() {
			statuses[at] = i.accept(token, matePassword).Status
		})
	}
	users.Wait()
	set := 0
	for _, status := range statuses {
		switch status {
		case http.StatusNoContent:
			set++
		case http.StatusNotFound:
		default:
			t.Errorf("status %d", status)
		}
	}
	if set != 1 {
		t.Errorf("set %d times: %v", set, statuses)
	}
}
