package definitions

import (
	"testing"
	"testing/fstest"

	"github.com/regwarden/regwarden/definitions/model"
)

// TestPasswordsThatAScriptWrites to docker login: texts are read, what depends on the shell or its variables is not.
func TestPasswordsThatAScriptWrites(t *testing.T) {
	const unknown = "?"
	for command, want := range map[string]string{
		"echo hunter2":              "hunter2",
		"echo -n hunter2":           "hunter2",
		"echo -n -e hunter2":        "hunter2",
		"echo hunter2 two":          "hunter2 two",
		`echo 'hunter2\n'`:          unknown,
		`echo "$PASSWORD"`:          unknown,
		"echo":                      "",
		"echo -n":                   "",
		"printf hunter2":            "hunter2",
		`printf 'hunter2\n'`:        "hunter2",
		"printf %s hunter2":         "hunter2",
		`printf '%s\n' hunter2`:     "hunter2",
		"printf %s hunter2 two":     unknown,
		"printf %s":                 unknown,
		"printf %d 5":               unknown,
		`printf 'a\tb'`:             unknown,
		`printf "$PASSWORD"`:        unknown,
		`printf %s "$PASSWORD"`:     unknown,
		`printf "$FORMAT%s" hunter`: unknown,
		"printf":                    unknown,
	} {
		text := "#!/bin/sh\n" + command + " | docker login -u ada --password-stdin one.test\n"
		s := NewScanner(model.Options{})
		if err := s.AddFile("", fstest.MapFS{"a.sh": {Data: []byte(text)}}, "a.sh"); err != nil {
			t.Fatal(err)
		}
		r := s.Result().Registries
		if len(r) != 1 {
			t.Fatalf("%s: %+v", command, r)
		}
		got := r[0].Definition.Auth.Password.Reveal()
		if r[0].Reason != "" {
			got += unknown
		}
		if got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}
