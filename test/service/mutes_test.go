package service_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/test/instance"
)

// Reminders of API keys are set by an organization for itself: at most three different numbers of days.
func TestReminders(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	theirs := newRival(t, server)
	wants := func(p person, days ...int) {
		t.Helper()
		var set api.Reminders
		if p.get("/v1/alerts/reminders", &set); !slices.Equal(set.Spec.APIKeyDays, days) || set.Spec.APIKeyDays == nil {
			t.Errorf("reminders: %v, want %v", set.Spec.APIKeyDays, days)
		}
	}
	set := func(days string) string { return `{"spec":{"apiKeyDays":` + days + `}}` }
	wants(admin, 30, 7, 1)
	admin.do("PUT", "/v1/alerts/reminders", set("[2,60]")).Want(http.StatusNoContent)
	wants(admin, 60, 2)
	wants(theirs.person, 30, 7, 1)
	for _, days := range []string{"[1,2,3,4]", "[7,7]", "[0]", "[91]", "[-1]"} {
		admin.invalid("PUT", "/v1/alerts/reminders", set(days), "spec.apiKeyDays")
	}
	wants(admin, 60, 2)
	admin.do("PUT", "/v1/alerts/reminders", set("[]")).Want(http.StatusNoContent)
	wants(admin)
}

// A mute is seen and ended by its own organization only.
func TestMutes(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	theirs := newRival(t, server)
	mute := admin.make("/v1/alerts/mutes", `{"spec":{"label":"team=a","until":"`+tomorrow()+`","reason":"upgrade"}}`)
	var found items
	if theirs.get("/v1/alerts/mutes", &found); len(found.Items) != 0 {
		t.Errorf("another organization sees %+v", found)
	}
	theirs.do("DELETE", "/v1/alerts/mutes/"+mute, "").Want(http.StatusNotFound)
	if admin.get("/v1/alerts/mutes", &found); len(found.Items) != 1 {
		t.Errorf("its own sees %+v", found)
	}
	admin.do("DELETE", "/v1/alerts/mutes/"+mute, "").Want(http.StatusNoContent)
	admin.do("DELETE", "/v1/alerts/mutes/"+mute, "").Want(http.StatusNotFound)
}
