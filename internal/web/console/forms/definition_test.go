package forms

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// sent are the values of a form.
type sent url.Values

func (s sent) PostFormValue(name string) string { return url.Values(s).Get(name) }

// A definition is the same after its form was shown and sent, except that the page has no secret.
func TestDefinitionForm(t *testing.T) {
	tls := regcheck.TLS{Enabled: true, CA: "a\nb\n", Certificate: "c", Key: "hunter2", InsecureSkipVerify: true}
	for _, auth := range []regcheck.Auth{
		{Type: regcheck.NoAuth}, {Type: regcheck.Basic, Username: "u", Password: "hunter2"},
		{Type: regcheck.Token, Username: "u", Token: "hunter2", TLS: tls},
		{Type: regcheck.Basic, Username: "u", Password: "hunter2", PassCredentials: true},
		{Type: regcheck.ECR, AWS: &regcheck.AWSKey{AccessKey: "a", SecretKey: "hunter2", SessionToken: "hunter2", RoleARN: "r",
			ExternalID: "e"}},
		{Type: regcheck.GCP, GCP: &regcheck.GCPKey{ServiceAccount: "hunter2"}},
		{Type: regcheck.Azure, Azure: &regcheck.AzureClient{TenantID: "t", ClientID: "c", ClientSecret: "hunter2"}},
		{Type: regcheck.GitHub, GitHub: &regcheck.GitHubApp{AppID: "7", InstallationID: "70", PrivateKey: "hunter2"}},
	} {
		kind := regcheck.Kind("")
		if auth.PassCredentials {
			kind = regcheck.KindChartRepository
		}
		want := regcheck.Definition{Kind: kind, Endpoint: "https://a.test", BasePath: "b", BaseContentPath: "c",
			References:   []string{"c/d:1", "c/e:2"},
			ProviderType: regcheck.Pack, Auth: &auth}
		values := url.Values{}
		for _, f := range Definition(want) {
			if strings.Contains(fmt.Sprint(f), "hunter2") {
				t.Errorf("%s has a secret", f.Name)
			}
			if f.Hidden() {
				values.Set(f.Name, "hunter2")
			} else if f.Type != "checkbox" || f.Value != "" {
				values.Set(f.Name, strings.ReplaceAll(f.Value, "\n", "\r\n"))
			}
		}
		values.Set("key", auth.TLS.Key.Reveal())
		reveal := cmp.Transformer("reveal", func(s secret.String) string { return s.Reveal() })
		if diff := cmp.Diff(want, ReadDefinition(sent(values)), reveal); diff != "" {
			t.Errorf("%s: %s", auth.Type, diff)
		}
		page := New("", "", Definition(regcheck.Definition{})...).Refuse(sent(values), errors.New("x"))
		if text := fmt.Sprint(page); strings.Contains(text, "hunter2") || strings.Count(text, "Enter it again.") < 2 {
			t.Errorf("%s: the form that is shown again is %s", auth.Type, text)
		}
	}
}

// All problems of a definition are shown at a field of its form, and name fields by their labels.
func TestDefinitionProblems(t *testing.T) {
	refused := fault.InvalidFields(
		fault.Field{Field: "auth.tls.key", Problem: "x", Text: regcheck.Text("does not match {auth.tls.certificate}")},
		fault.Field{Field: "auth.type", Problem: "is wrong"}, fault.Field{Field: "baseContentPath", Problem: "is wrong"},
		fault.Field{Field: "references[1]", Problem: "is wrong"}, fault.Field{Field: "name", Problem: "is wrong"})
	page := New("", "", Definition(regcheck.Definition{})...).Refuse(sent(nil), refused)
	if diff := cmp.Diff([]string{"name is wrong"}, page.Problems); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]string{"key": "does not match Client certificate", "authType": "is wrong",
		"baseContentPath": "is wrong",
		"references":      "line 2 is wrong"} {
		if f, err := page.Field(name); err != nil || f.Error != want {
			t.Errorf("%s: %q, %v", name, f.Error, err)
		}
	}
}

// A hint names the fields of the form, whatever the words around them, and shows what looks like a path as it is.
func TestTextsNameFieldsOfTheForm(t *testing.T) {
	for text, want := range map[regcheck.Text]string{
		"Set {auth.tls.ca} to the PEM certificate of the signing CA{enableTLS}.": "Set CA certificate to the PEM certificate of the " +
			"signing CA.",
		"{enableTLS}{auth.tls.ca}: reworded": "CA certificate: reworded",
		"{program}: correct {endpoint} and {references[2]}; auth.tls.ca": "regwarden: correct Endpoint and References, line 3; " +
			"auth.tls.ca",
		"{auth.tls} and {somewhere.else}":  "the TLS settings and somewhere.else",
		"{auth.aws.roleArn} of {auth.aws}": "Role of Access key",
	} {
		if got := Audience.Show(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// Every text of the engine's table has only names that the form knows, so no page shows a path.
func TestCodesNameFieldsOfTheForm(t *testing.T) {
	checked := 0
	for _, e := range regcheck.Entries() {
		for _, text := range []regcheck.Text{e.Sentence, e.Hint} {
			text.Show(func(name string) string {
				checked++
				if Label(name) == name && name != "program" && name != "enableTLS" {
					t.Errorf("%s: the form has no label for %s", e.Code, name)
				}
				return ""
			})
		}
		ofCommands := e.Field == "auth.tls.enabled" || e.Field == "auth.exec" // the service starts no helper
		if e.Field != "" && !ofCommands && FieldID(e.Field) == "" {
			t.Errorf("%s: the form has no field for %s", e.Code, e.Field)
		}
	}
	if checked < 20 {
		t.Errorf("%d names were checked", checked)
	}
}
