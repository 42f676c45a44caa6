package definitions

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/regwarden/regwarden/definitions/model"
)

// A file that is read alone has no directory: its mirrors are known, and nothing is read for it.
func TestHostsFileAlone(t *testing.T) {
	s := NewScanner(model.Options{})
	if err := s.AddReader("-", strings.NewReader("[host.\"https://mirror.test\"]\ncapabilities = "+
		"[\"pull\"]\n[host.\"https://private.test\"]\nca = \"/etc/ca.crt\"\n")); err != nil {
		t.Fatal(err)
	}
	r := s.Result()
	if len(r.Registries) != 2 || r.Registries[0].Format != model.ContainerdHosts || r.Registries[0].Reason != "" ||
		r.Registries[1].Reason != model.UnresolvedConfigFile ||
		len(r.Skipped) != 1 || r.Skipped[0].Reason != model.SkipNoHost {
		t.Errorf("%+v", r)
	}
}

// A configuration names files by their path on its machine. They are found if the tree is a directory of that machine, its root or a copy.
func TestFilesOfTheMachine(t *testing.T) {
	certificate, err := os.ReadFile("testdata/samples/containerd-hosts/docker-certificates/in/etc/docker/certs.d/" +
		"registry.example.com:5000/ca.crt")
	if err != nil {
		t.Fatal(err)
	}
	ca := &fstest.MapFile{Data: certificate}
	hosts := &fstest.MapFile{Data: []byte("server = \"https://registry.test\"\nca = \"/etc/containerd/ca.crt\"\n")}
	for name, c := range map[string]struct {
		root string
		tree fstest.MapFS
		want model.UnresolvedReason
	}{
		"directory of the machine": {"/etc/containerd", fstest.MapFS{"certs.d/registry.test/hosts.toml": hosts, "ca.crt": ca}, ""},
		"root of the machine": {"/",
			fstest.MapFS{"etc/containerd/certs.d/registry.test/hosts.toml": hosts, "etc/containerd/ca.crt": ca}, ""},
		"copy": {"nodes",
			fstest.MapFS{"a/etc/containerd/certs.d/registry.test/hosts.toml": hosts, "a/etc/containerd/ca.crt": ca}, ""},
		"another copy": {"nodes",
			fstest.MapFS{"a/etc/containerd/certs.d/registry.test/hosts.toml": hosts, "b/etc/containerd/ca.crt": ca},
			model.UnresolvedConfigFile},
		"above the directory": {"/etc/containerd/certs.d", fstest.MapFS{"registry.test/hosts.toml": hosts, "ca.crt": ca},
			model.UnresolvedConfigFile},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewScanner(model.Options{})
			if err := s.AddTree(context.Background(), c.root, c.tree); err != nil {
				t.Fatal(err)
			}
			r := s.Result()
			if len(r.Registries) != 1 || r.Registries[0].Reason != c.want ||
				(r.Registries[0].Definition.Auth.TLS.CA != "") != (c.want == "") {
				t.Errorf("%+v", r.Registries)
			}
		})
	}
}

// Files that others refer to are limited in all, so that many configurations which name one large file stay cheap.
func TestReferencedFilesAreLimited(t *testing.T) {
	tree := fstest.MapFS{"certs.d/registry.test/large.crt": {Data: make([]byte, 4<<20)}}
	var text strings.Builder
	for i := range 100 {
		text.WriteString("[host.\"https://h" + string(rune('a'+i%26)) + strings.Repeat("x", i) + ".test\"]\nca = \"large.crt\"\n")
	}
	tree["certs.d/registry.test/hosts.toml"] = &fstest.MapFile{Data: []byte(text.String())}
	s := NewScanner(model.Options{})
	if err := s.AddTree(context.Background(), "", tree); err != nil {
		t.Fatal(err)
	}
	if s.Referenced > (64+5)<<20 || s.Result().Summary.Unresolved != 100 {
		t.Errorf("%d MiB were read; %+v", s.Referenced>>20, s.Result().Summary)
	}
}
