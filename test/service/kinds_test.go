package service_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// TestKindsOfRegistries stores, reads, replaces and deletes registries in the shapes of public clients, as an administrator and as a
// member. test/palette has what these clients compare.
func TestKindsOfRegistries(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{Flags: []string{"--aws-account", "123456789012"}})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	server.Admin(t, matePassword+"\n", "user", "create", "--org", instance.Org, "--email", "mate@acme.example", "--password-stdin")
	mate, _ := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	charts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/index.yaml" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte("apiVersion: v1\nentries: {}\n"))
	}))
	t.Cleanup(charts.Close)
	ecr := object{"endpoint": "123456789012.dkr.ecr.eu-west-1.amazonaws.com", "isPrivate": true, "isSyncSupported": true,
		"credentials": object{"accessKey": "AKIAREADER", "secretKey": "heron above the sluice"}}
	helm := object{"endpoint": charts.URL, "auth": object{"type": "noAuth"}}
	for _, kind := range []struct {
		create, before, after string
		spec                  object
	}{
		{"/v1/registries/oci/ecr", "/v1/registries/oci/", "/ecr", ecr},
		{"/v1/registries/helm", "/v1/registries/helm/", "", helm},
	} {
		uid := admin.make(kind.create, newRegistry("one", kind.spec))
		other := admin.make(kind.create, newRegistry("two", kind.spec))
		admin.refused("POST", kind.create, newRegistry("two", kind.spec), 409, "RegistryAlreadyExists")
		at := kind.before + uid + kind.after
		admin.do("GET", at, "").Want(http.StatusOK)
		admin.do("GET", at+"/sync/status", "").Want(http.StatusOK)
		admin.do("PUT", at, newRegistry("three", kind.spec)).Want(http.StatusNoContent)
		admin.refused("PUT", at, newRegistry("two", kind.spec), 409, "RegistryAlreadyExists")
		mate.do("GET", at, "").Want(http.StatusOK)
		for method, path := range map[string]string{"POST": kind.create, "PUT": at, "DELETE": at} {
			mate.refused(method, path, newRegistry("four", kind.spec), 403, "OperationForbidden")
		}
		mate.refused("POST", at+"/sync", "", 403, "OperationForbidden")
		mate.refused("DELETE", "/v1/registries/"+uid, "", 403, "OperationForbidden")
		admin.do("POST", at+"/sync", "").Want(http.StatusAccepted)
		if kind.after == "" {
			fixed := object{"endpoint": charts.URL, "kind": "chartRepository", "auth": object{"type": "noAuth"}}
			admin.do("PUT", "/v1/registries/oci/"+uid+"/basic", newRegistry("three", fixed)).Want(http.StatusNoContent)
			admin.refused("POST", at+"/sync", "", 400, "InvalidRequest")
		}
		admin.do("DELETE", at, "").Want(http.StatusNoContent)
		admin.do("GET", "/v1/clouds/aws/account/sts", "").Want(http.StatusOK)
		admin.do("DELETE", "/v1/registries/"+other, "").Want(http.StatusNoContent)
	}
	passing := object{"endpoint": charts.URL, "auth": object{"type": "basic", "username": "ada", "password": "hunter2",
		"passCredentials": true}}
	uid := admin.make("/v1/registries/helm", newRegistry("passing", passing))
	for _, at := range []string{"/v1/registries/helm/" + uid, "/v1/registries/oci/" + uid + "/basic"} {
		if body := admin.do("GET", at, "").Want(http.StatusOK).Body; !strings.Contains(body, `"passCredentials":true`) {
			t.Error(body)
		}
	}
	wantFields(t, admin.refused("POST", "/v1/registries/oci/basic", newRegistry("oci", passing), 400, "InvalidRequest").Fault(),
		"spec.auth.passCredentials")
	admin.do("POST", "/v1/registries/helm/validate", instance.JSON(helm)).Want(http.StatusNoContent)
	listed := object{"endpoint": charts.URL, "auth": object{"type": "noAuth"},
		"createOption": object{"charts": []any{object{"name": "absent", "version": "1.0.0"}}}}
	if f := admin.refused("POST", "/v1/registries/helm", newRegistry("listed", listed), 422, "RegistryContentNotFound"); !strings.Contains(
		f.Body, `"field":"createOption.charts[0]"`) {
		t.Error(f.Body)
	}
	admin.make("/v1/registries/helm", newRegistry("listed", helm)) // the name is free: nothing was stored
}
