package model

import (
	"testing"

	"github.com/regwarden/regwarden/regcheck"
)

// Definitions that differ only in their references are checked both.
func TestKeyHasReferences(t *testing.T) {
	d := regcheck.Definition{Endpoint: "https://r.example.com", Auth: &regcheck.Auth{}}
	other := d
	other.References = []string{"a:1"}
	if Key(d) == Key(other) {
		t.Error("references do not change the key")
	}
}
