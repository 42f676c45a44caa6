package service_test

import (
	"net/http"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/realregistry"
)

// Each reference of a definition has its own result, in a validation and in a check of the stored definition.
func TestReferences(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	registry := secured(t)
	references := object{"references": []any{realregistry.ChartPath + ":6.7.1", realregistry.ChartPath + ":9.9.9"}}
	results := func(report object) (valid []any) {
		for _, one := range report["references"].([]any) {
			valid = append(valid, one.(object)["valid"], one.(object)["reason"])
		}
		return valid
	}
	check := func(what string, report object) {
		t.Helper()
		got := results(report)
		if report["field"] != "references[1]" || len(got) != 4 || got[0] != true || got[1] != nil ||
			got[2] != false || got[3] != "tagUnknown" {
			t.Errorf("%s: %v", what, report)
		}
	}
	sent := basic(registry.Endpoint, ada, adaPassword, trusting(registry.CA), references)
	var report object
	admin.do("POST", diagnose, sent).Want(http.StatusOK).Into(&report)
	check("diagnosis", report)

	stored := spec(registry.Endpoint,
		object{"type": "basic", "username": ada, "password": adaPassword, "tls": object{"enabled": true, "ca": registry.CA}}, references)
	uid := admin.make(registriesPath, newRegistry("charts", stored))
	report = nil
	admin.do("POST", "/v1/registries/oci/"+uid+"/check?wait=true", "").Want(http.StatusOK).Into(&report)
	check("check of the stored definition", report)

	delete(stored, "references")
	admin.do("PUT", at(uid), newRegistry("charts", stored)).Want(http.StatusNoContent)
	var read object
	admin.get(at(uid), &read)
	if list, there := read["spec"].(object)["references"]; there {
		t.Errorf("references that were not sent are %v", list)
	}
	stored["references"] = []any{"a/b"}
	admin.do("PUT", at(uid), newRegistry("charts", stored)).Want(http.StatusBadRequest)
}
