package definitions

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/regwarden/regwarden/definitions/model"
)

// The name of one job is in the places of all its services, and is shortened there.
func TestLongNamesAreShortened(t *testing.T) {
	text := "on: push\njobs:\n  ? " + strings.Repeat("long ", 200_000) + "\n  : steps: []\n    services:\n" +
		strings.Repeat("      a:\n        credentials: {username: u, password: p}\n        image: a.test/b\n", 100)
	s := NewScanner(model.Options{})
	if err := s.AddFile("", fstest.MapFS{"f.yaml": {Data: []byte(text)}}, "f.yaml"); err != nil {
		t.Fatal(err)
	}
	r := s.Result()
	result, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Registries) != 1 || len(r.Registries[0].Sources) != 100 || len(result) > len(text) {
		t.Errorf("the result of %d bytes has %d bytes and %d registries", len(text), len(result), len(r.Registries))
	}
}
