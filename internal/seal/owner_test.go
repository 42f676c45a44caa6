package seal

import (
	"io/fs"
	"testing"
)

func TestWhoMayReadTheMasterKeyFile(t *testing.T) {
	const root, service, other = 0, 65532, 1000
	for _, c := range []struct {
		mode        fs.FileMode
		owner, self int
		lax         bool
	}{
		{0o600, service, service, false},
		{0o400, service, service, false},
		{0o440, service, service, true},
		{0o640, root, service, false}, // a secret that Kubernetes mounts for the pod's group
		{0o440, root, service, false},
		{0o660, root, service, true},
		{0o444, root, service, true},
		{0o644, root, service, true},
		{0o640, root, root, true}, // root needs no group's help to read its own file
		{0o640, other, service, true},
	} {
		if got := lax(c.mode, c.owner, c.self); got != c.lax {
			t.Errorf("mode %o of user %d, read by %d: lax %v, want %v", c.mode, c.owner, c.self, got, c.lax)
		}
	}
}
