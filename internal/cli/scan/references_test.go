package scan

import (
	"testing"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

func TestCredentialsOfReferences(t *testing.T) {
	of := func(consumer model.Consumer, r model.Registry) model.Registry { r.Consumer = consumer; return r }
	project := of(model.Docker, found("four.test", "eve", "y"))
	project.Definition.BaseContentPath = "team"
	result := model.Result{Registries: []model.Registry{
		of(model.Docker, found("one.test", "ada", "x")), of(model.Docker, found("one.test", "ada", "x")),
		of(model.Docker, found("two.test", "ada", "x")), of(model.Docker, found("two.test", "eve", "y")),
		of(model.Docker, found("two.test", "z", "z")),
		of(model.Helm, found("three.test", "ada", "x")), project}}
	n := len(result.Registries)
	for _, host := range []string{"one", "two", "three", "four"} {
		r := of(model.Docker, found(host+".test", "", ""))
		r.Definition.BaseContentPath = "app:1"
		result.References = append(result.References, r)
	}
	CheckReferences(&result)
	for i, want := range []string{"ada", "", "", ""} {
		r := result.Registries[n+i]
		if r.Definition.Auth.Username != want || (r.Secret != nil) != (want != "") ||
			want == "" && r.Definition.Auth.Kind() != regcheck.NoAuth {
			t.Errorf("%s: %q %v", r.Definition.Endpoint, r.Definition.Auth.Username, r.Secret)
		}
	}
	if result.References != nil || result.Summary.Found != n+4 {
		t.Errorf("%+v", result.Summary)
	}
}
