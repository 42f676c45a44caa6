package definitions

import (
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/definitions/model"
)

// TestScriptsInScripts: an inner shell does not get what the outer one expands or quotes.
func TestScriptsInScripts(t *testing.T) {
	for _, rule := range []formatRule{
		{name: "an option whose value is a subcommand", file: "a.sh", text: "docker --context login login one.test -u u -p p\n",
			want: "https://one.test u p,notice secretInRepository"},
		{name: "per cent in a shell", file: "a.sh", text: "docker login one.test -u u -p 'x%abc%y'\n",
			want: "https://one.test u x%abc%y,notice secretInRepository"},
		{name: "quotes in a here-document", file: "a.sh", text: "bash <<EOF\ndocker login one.test -u u -p 'a$b'\nEOF\n",
			want: "https://one.test u,unresolved template"},
		{name: "a backslash in a here-document", file: "a.sh", text: "bash <<EOF\ndocker login one.test -u u -p 'a\\\\b'\nEOF\n",
			want: `https://one.test u a\b,notice secretInRepository`},
		{name: "an escape of Groovy", file: "Jenkinsfile", text: "sh \"docker login one.test -u u -p p\\n\"\n",
			want: "https://one.test u,unresolved template"},
	} {
		rule.check(t)
	}
}

// TestCostOfExpressions: an expression without an end is not looked for again from each place.
func TestCostOfExpressions(t *testing.T) {
	for name, text := range map[string]string{
		"a.sh":        "# login " + strings.Repeat("{{%a%", 200_000) + "\n",
		"b.sh":        "# login " + strings.Repeat("$[[%a%", 170_000) + "\n",
		"c.sh":        "# login " + strings.Repeat("${{%a%", 170_000) + "\n",
		"Jenkinsfile": `sh """login ` + strings.Repeat("${$a", 250_000) + "\"\"\"\n",
	} {
		began, s := time.Now(), NewScanner(model.Options{Now: time.Unix(0, 0)})
		if err := s.AddReader(name, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: %v", name, took)
		}
	}
}

func TestLookupOfPlaceholder(t *testing.T) {
	if _, _, err := Lookup("f", []byte("{}"), "__HOST__/a", model.Options{Format: model.DockerConfig}); err == nil {
		t.Error("no error")
	}
}
