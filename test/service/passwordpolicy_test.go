package service_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/test/instance"
)

// The policy of an organization counts wherever a password is set, and in no other organization.
func TestPasswordPolicy(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	rival := newRival(t, server)
	var me api.UserInfo
	admin.get("/v1/users/info", &me)
	uid := admin.make("/v1/users", newUser("mate@acme.example"))
	mate, _ := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	policy := "/v1/tenants/" + me.TenantUID + "/password/policy"
	mate.refused("POST", policy, `{"minLength":1}`, http.StatusForbidden, "OperationForbidden")
	admin.do("POST", policy, `{"minNumOfDigits":2,"expiryDurationInDays":90}`).Want(http.StatusNoContent)
	var seen api.TenantPasswordPolicy
	if mate.get(policy, &seen); seen.MinDigits != 2 {
		t.Errorf("a member reads %+v", seen)
	}
	const without, with = "nine geese across the marsh", "nine geese across the marsh 42"
	admin.refused("POST", "/v1/users", instance.JSON(object{"spec": object{"emailId": "new@acme.example", "password": without}}),
		http.StatusBadRequest, "InvalidRequest")
	admin.refused("PUT", "/v1/users/"+uid+"/password", `{"password":"`+without+`"}`, http.StatusBadRequest, "InvalidRequest")
	changed := func(next string) instance.Response {
		return mate.do("PATCH", "/v1/users/me/password", `{"currentPassword":"`+matePassword+`","newPassword":"`+next+`"}`)
	}
	if f := changed(without).Want(http.StatusBadRequest).Fault(); f.Details.Fields[0].Field != "newPassword" ||
		!strings.Contains(f.Details.Fields[0].Problem, "2 digits") {
		t.Errorf("%+v", f)
	}
	changed(with).Want(http.StatusNoContent)
	admin.do("PUT", "/v1/users/"+uid+"/password", `{"password":"`+with+` "}`).Want(http.StatusNoContent)
	rival.do("POST", "/v1/users", instance.JSON(object{"spec": object{"emailId": "new@rival.example", "password": without}})).
		Want(http.StatusCreated)
}

// A login with an expired password is refused only once it is right, and sets another one.
func TestExpiredPassword(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	admin.make("/v1/users", newUser("mate@acme.example"))
	mate, _ := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	var me api.UserInfo
	admin.get("/v1/users/info", &me)
	admin.do("POST", "/v1/tenants/"+me.TenantUID+"/password/policy", `{"minNumOfDigits":1,"expiryDurationInDays":30}`).
		Want(http.StatusNoContent)
	db := openStore(t, server)
	if _, err := db.ExecContext(t.Context(), `UPDATE users SET password_changed_at = password_changed_at - 31 * 86400000
		WHERE email = 'mate@acme.example'`); err != nil {
		t.Fatal(err)
	}
	login := func(password, next string) instance.Response {
		return server.Client(t).Do(http.MethodPost, "/v1/auth/authenticate", instance.JSON(object{"emailId": "mate@acme.example",
			"org": instance.Org, "password": password, "newPassword": next}))
	}
	mate.do("GET", "/v1/users/info", "").Want(http.StatusOK) // sessions go on
	for _, tt := range []struct {
		password, next string
		status         int
		reason         string
	}{
		{"not the password of mate", "", http.StatusUnauthorized, ""},
		{"not the password of mate", "nine geese across the marsh 4", http.StatusUnauthorized, ""},
		{matePassword, "", http.StatusUnauthorized, api.ReasonPasswordExpired},
		{matePassword, "short", http.StatusBadRequest, ""},
		{matePassword, matePassword, http.StatusBadRequest, ""},
		{matePassword, "nine geese across the marsh", http.StatusBadRequest, ""}, // the policy
	} {
		if f := login(tt.password, tt.next).Want(tt.status).Fault(); f.Details.Reason != tt.reason {
			t.Errorf("%q %q: %+v", tt.password, tt.next, f)
		}
	}
	login(matePassword, "nine geese across the marsh 4").Want(http.StatusOK)
	login("nine geese across the marsh 4", "").Want(http.StatusOK)
	login(matePassword, "").Want(http.StatusUnauthorized)
	mate.do("GET", "/v1/users/info", "").Want(http.StatusUnauthorized) // a session of before
}

// A user sees when its own password expires, from the day on that the policy says; no other user and no API key does.
func TestPasswordReminder(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	admin.make("/v1/users", newUser("mate@acme.example"))
	mate, _ := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	key := withKey(t, server, mate.newKey("ci", "").APIKey)
	var me api.UserInfo
	admin.get("/v1/users/info", &me)
	db := openStore(t, server)
	for _, tt := range []struct {
		age      int
		policy   string
		reminded bool
	}{
		{26, `{}`, false},
		{24, `{"expiryDurationInDays":30,"firstReminderInDays":5}`, false},
		{25, `{"expiryDurationInDays":30,"firstReminderInDays":5}`, true},
		{31, `{"expiryDurationInDays":30,"firstReminderInDays":5}`, true}, // expired
		{1, `{"expiryDurationInDays":30}`, true},
	} {
		admin.do("POST", "/v1/tenants/"+me.TenantUID+"/password/policy", tt.policy).Want(http.StatusNoContent)
		set := time.Now().Add(-time.Duration(tt.age) * 24 * time.Hour)
		if _, err := db.ExecContext(t.Context(), `UPDATE users SET password_changed_at = ? WHERE email = 'mate@acme.example'`,
			set.UnixMilli()); err != nil {
			t.Fatal(err)
		}
		for of, p := range map[string]person{"mate": mate, "a key": key, "the administrator": admin} {
			var found api.Expiries
			p.get("/v1/expiry", &found)
			listed := slices.ContainsFunc(found.Items, func(e api.Expiry) bool {
				return e.Kind == "password" && e.Owner == "mate@acme.example" &&
					e.NotAfter.Sub(set.Add(30*24*time.Hour)).Abs() < time.Second
			})
			if listed != (tt.reminded && of == "mate") {
				t.Errorf("%d days, %s: %s sees %+v", tt.age, tt.policy, of, found.Items)
			}
		}
	}
}
