package service_test

import (
	"net/http"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

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
