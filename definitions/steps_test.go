package definitions

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/definitions/model"
)

const pod = `
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: apps}
spec: {imagePullSecrets: [{name: pull}], containers: [{name: a, image: "one.test/team/app:1"}]}
---
apiVersion: v1
kind: Secret
metadata: {name: pull, namespace: apps}
type: kubernetes.io/dockerconfigjson
stringData: {.dockerconfigjson: '{"auths": {"one.test/team": {"username": "ada", "password": "hunter2"}}}'}
`

// Each definition has the reasoning by which its credentials were chosen, of limited length and without secrets.
func TestScanExplains(t *testing.T) {
	many := `{"auths": {`
	for i := range 100 {
		many += fmt.Sprintf(`"https://one.test/%d": {"username": "ada", "password": "hunter2 %d"}, `, i, i)
	}
	many = strings.TrimSuffix(many, ", ") + `}}`
	for _, test := range []struct {
		name, file string
		want       []string
	}{
		{"one entry", `{"auths": {"one.test": {"username": "ada", "password": "hunter2"}}}`, []string{`The key "one.test" is the same.`}},
		{"helper", `{"credHelpers": {"one.test": "pass"}}`,
			[]string{`credHelpers has "pass" for "one.test".`, `docker asks docker-credential-pass for "one.test".`}},
		{"pull Secret", pod, []string{`The key "one.test/team" matches.`}},
		{"many entries", many, []string{`The host of the key "https://one.test/0" is the same; docker ignores scheme and path.`,
			"The other 81 steps are not shown."}},
	} {
		s := NewScanner(model.Options{Explain: true})
		if err := s.AddReader("config.json", strings.NewReader(test.file)); err != nil {
			t.Fatal(err)
		}
		steps := s.Result().Registries[0].Steps
		if len(steps) > 2 {
			steps = []string{steps[0], steps[len(steps)-1]}
		}
		if !slices.Equal(steps, test.want) {
			t.Errorf("%s: %q, want %q", test.name, steps, test.want)
		}
		if strings.Contains(strings.Join(steps, ""), marked) {
			t.Errorf("%s: the steps show a secret", test.name)
		}
	}
}
