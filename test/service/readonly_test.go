package service_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

// A registry that is read from an object of a cluster is changed there, not here.
func TestRegistriesOfAClusterAreReadOnly(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{Flags: []string{"--watch-interval", "0s"}})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	open := object{"type": "noAuth"}
	db := openStore(t, server)
	if _, err := db.ExecContext(t.Context(), "INSERT INTO cluster_leases (org_uid, cluster, owner, lease_until) "+
		"SELECT uid, 'prod', 'owner', ? FROM orgs", time.Now().Add(time.Hour).UnixMilli()); err != nil {
		t.Fatal(err)
	}
	last := ""
	for _, kind := range []struct {
		create, before, after string
		spec                  object
	}{
		{registriesPath, "/v1/registries/oci/", "/basic", object{"endpoint": "https://r.test", "auth": open}},
		{"/v1/registries/oci/ecr", "/v1/registries/oci/", "/ecr", object{"endpoint": "123456789012.dkr.ecr.eu-west-1.amazonaws.com",
			"isPrivate": true, "credentials": object{"accessKey": "AKIAREADER", "secretKey": "heron above the sluice"}}},
		{"/v1/registries/helm", "/v1/registries/helm/", "", object{"endpoint": "https://r.test", "auth": open}},
	} {
		uid := admin.make(kind.create, newRegistry("of "+kind.create, kind.spec))
		if _, err := db.ExecContext(t.Context(), "INSERT INTO registry_origins (registry_uid, org_uid, origin, entry) "+
			"SELECT uid, org_uid, 'prod/apps/Secret/regcred-' || uid, '' FROM registries WHERE uid = ?", uid); err != nil {
			t.Fatal(err)
		}
		at := kind.before + uid + kind.after
		last = at
		for _, method := range []string{"PUT", "DELETE"} {
			refused := admin.do(method, at, newRegistry("changed", kind.spec)).Want(http.StatusConflict)
			const object = `Secret apps/regcred-`
			if !strings.Contains(refused.Body, `"RegistryReadOnly"`) || !strings.Contains(refused.Body, object+uid) {
				t.Errorf("%s %s: %s", method, at, refused.Body)
			}
		}
		if shown := admin.do("GET", at, "").Want(http.StatusOK); !strings.Contains(shown.Body, `"origin":"prod/apps/Secret/regcred-`+uid) {
			t.Errorf("GET %s: %s", at, shown.Body)
		}
		admin.refused("DELETE", "/v1/registries/"+uid, "", 409, "RegistryReadOnly")
	}
	if _, err := db.ExecContext(t.Context(), "DELETE FROM cluster_leases"); err != nil {
		t.Fatal(err)
	}
	admin.do("DELETE", last, "").Want(http.StatusNoContent)
}
