package seal

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestSecretFileModes(t *testing.T) {
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

// A service can read the files that commands of root create in its data directory.
func TestFilesOfRootBelongToOwnerOfDirectory(t *testing.T) {
	dir := t.TempDir()
	want := os.Geteuid()
	if want == 0 {
		want = 65532
		if err := os.Chown(dir, want, want); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "master.key")
	for _, make := range []func() error{
		func() error { _, err := LoadOrCreateMasterKey(path); return err },
		func() error { _, err := WriteNextMasterKey(path); return err },
		func() error { _, err := AdoptNextMasterKey(path, time.Now()); return err },
	} {
		if err := make(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if owner, _ := ownerOf(info); owner != want || info.Mode().Perm() != 0o600 {
			t.Errorf("the key file belongs to user %d, mode %v; want %d", owner, info.Mode(), want)
		}
	}
}
