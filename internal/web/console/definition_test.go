package console

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// sentForm returns the call of a browser that sends a form.
func sentForm(values url.Values) *call {
	request := httptest.NewRequest("POST", "/", strings.NewReader(values.Encode()))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return &call{Request: request}
}

// A definition is the same after its form was shown and sent, except that the page has no secret.
func TestDefinitionForm(t *testing.T) {
	tls := regcheck.TLS{Enabled: true, CA: "a\nb\n", Certificate: "c", Key: "hunter2", InsecureSkipVerify: true}
	for _, auth := range []regcheck.Auth{
		{Type: regcheck.NoAuth}, {Type: regcheck.Basic, Username: "u", Password: "hunter2"}, {Type: regcheck.Token, Username: "u", Token: "hunter2", TLS: tls},
	} {
		want := regcheck.Definition{Endpoint: "https://a.test", BasePath: "b", BaseContentPath: "c", References: []string{"c/d:1", "c/e:2"}, ProviderType: regcheck.Pack, Auth: &auth}
		values := url.Values{}
		for _, f := range definitionFields(want) {
			if strings.Contains(fmt.Sprint(f), "hunter2") {
				t.Errorf("%s has a secret", f.Name)
			}
			if f.Type != "checkbox" || f.Value != "" {
				values.Set(f.Name, strings.ReplaceAll(f.Value, "\n", "\r\n"))
			}
		}
		values.Set("password", "hunter2")
		values.Set("token", "hunter2")
		values.Set("key", auth.TLS.Key.Reveal())
		c := sentForm(values)
		reveal := cmp.Transformer("reveal", func(s secret.String) string { return s.Reveal() })
		if diff := cmp.Diff(want, c.definition(), reveal); diff != "" {
			t.Errorf("%s: %s", auth.Type, diff)
		}
		page := newForm("", "", definitionFields(regcheck.Definition{})...).refused(c, errors.New("x"))
		if text := fmt.Sprint(page); strings.Contains(text, "hunter2") || strings.Count(text, "Enter it again.") < 2 {
			t.Errorf("%s: the form that is shown again is %s", auth.Type, text)
		}
	}
}

// All problems that the engine may report are shown at a field of the form, and name its fields by their labels.
func TestDefinitionProblems(t *testing.T) {
	refused := fault.InvalidFields(fault.Field{Field: "spec.auth.tls.key", Problem: "does not match auth.tls.certificate"}, fault.Field{Field: "auth.type", Problem: "is wrong"},
		fault.Field{Field: "baseContentPath", Problem: "is wrong"}, fault.Field{Field: "spec.references[1]", Problem: "is wrong"}, fault.Field{Field: "metadata.name", Problem: "is wrong"})
	page := newForm("", "", definitionFields(regcheck.Definition{})...).refused(sentForm(nil), inForm(refused))
	if diff := cmp.Diff([]string{"name is wrong"}, page.Problems); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]string{"key": "does not match Client certificate", "authType": "is wrong", "baseContentPath": "is wrong", "references": "is wrong"} {
		if f, err := page.Field(name); err != nil || f.Error != want {
			t.Errorf("%s: %q, %v", name, f.Error, err)
		}
	}
}

func TestHintsNameFieldsOfTheForm(t *testing.T) {
	hint := "Set auth.tls.ca to the PEM certificate of the signing CA and auth.tls.enabled to true."
	if got, want := inLabels(hint), "Set CA certificate to the PEM certificate of the signing CA."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
