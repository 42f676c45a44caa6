package content

import (
	"testing"

	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// A list is in the order of text, in which 1.9.0 and the tag of a signature follow 1.10.0.
func TestTagsReturnsTheNewestVersion(t *testing.T) {
	const body = `{"name":"a","tags":["1.10.0","1.9.0","latest",` +
		`"sha256-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.sig"," "]}`
	count, newest, ok := Reading{Repository: "a", Response: &wire.Response{Status: 200, Body: []byte(body)}}.Tags()
	if count != 5 || newest != "1.10.0" || !ok {
		t.Errorf("%d tags, newest %q, %t", count, newest, ok)
	}
}
