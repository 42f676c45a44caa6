package service_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/testport"
	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/realregistry"
)

// A definition with unknown fields, or with TLS settings that have no effect, is checked as it would be without them,
// and the report warns. Stored definitions may have fields of newer API versions. What public clients send is known.
func TestUnknownFieldsAreReported(t *testing.T) {
	registry := realregistry.Distribution(t, realregistry.Options{})
	server := instance.Start(t, instance.Options{})
	client := server.Client(t)
	authorization := client.Login().Authorization
	definition := func(endpoint string) string {
		return instance.JSON(object{"endpoint": endpoint, "basecontentpath": "charts", "isSyncSupported": true, "containsSpectroManifest": false,
			"auth": object{"type": "noAuth", "usernme": "ada", "tls": object{"enabled": false, "insecureSkipVerify": true}}})
	}
	want := []string{
		"unknownField auth.usernme: did you mean auth.username?", "unknownField basecontentpath: did you mean baseContentPath?",
		"tlsSettingsIgnored auth.tls.enabled: auth.tls.insecureSkipVerify",
	}

	var report warned
	client.Do(http.MethodPost, diagnose, definition(registry.Endpoint), "Authorization", authorization).Want(http.StatusOK).Into(&report)
	report.want(t, want)

	uid := client.Do(http.MethodPost, validate, definition(registry.Endpoint), "Authorization", authorization).Want(http.StatusNoContent).Header.Get("AuditUid")
	found := false
	for _, r := range auditRecords(t, server) {
		found = found || r.uid == uid
		if r.uid == uid && (!strings.Contains(r.all, "unknownField") || !strings.Contains(r.all, "tlsSettingsIgnored")) {
			t.Errorf("the audit record lacks the warnings: %s", r.all)
		}
	}
	if !found {
		t.Error("no audit record")
	}

	var refused struct{ Details warned }
	client.Do(http.MethodPost, validate, definition("http://"+testport.Unused(t)), "Authorization", authorization).Want(http.StatusUnprocessableEntity).Into(&refused)
	refused.Details.want(t, want)

	document := `{"metadata":{"name":"newer","annotations":{},"kind":"x"},"spec":` + definition(registry.Endpoint) + `,"status":{}}`
	client.Do(http.MethodPost, "/v1/registries/oci/basic", document, "Authorization", authorization).Want(http.StatusCreated)
}

// warned is a report as far as its warnings.
type warned struct {
	Warnings []struct{ Code, Field, Message string }
}

// want holds the warnings against code, field and a part of the message each.
func (w warned) want(t *testing.T, all []string) {
	t.Helper()
	if len(w.Warnings) != len(all) {
		t.Errorf("%d warnings, want %d: %+v", len(w.Warnings), len(all), w.Warnings)
	}
	for _, want := range all {
		head, part, _ := strings.Cut(want, ": ")
		found := false
		for _, warning := range w.Warnings {
			found = found || warning.Code+" "+warning.Field == head && strings.Contains(warning.Message, part)
		}
		if !found {
			t.Errorf("no warning %q in %+v", want, w.Warnings)
		}
	}
}
