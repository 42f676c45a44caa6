package kubernetes

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/kubernetes/kubernetestest"
	"github.com/regwarden/regwarden/internal/service/cluster"
)

// pullSecret returns a Secret with credentials for a host.
func pullSecret(host, password string) kubernetestest.Object {
	config := fmt.Sprintf(`{"auths": {%q: {"username": "ada", "password": %q}}}`, host, password)
	return kubernetestest.Object{"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
		"data": map[string]any{".dockerconfigjson": base64.StdEncoding.EncodeToString([]byte(config))}}
}

// logged is a log that is read while it is written.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// watched is a cluster that is being watched.
type watched struct {
	*Cluster
	log *logged
}

func mustWatch(t *testing.T, server *kubernetestest.Server, namespaces ...string) watched {
	t.Helper()
	log := &logged{}
	c, err := Open(Options{Kubeconfig: server.Kubeconfig(t, "own"), Namespaces: namespaces, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	stop := make(chan struct{})
	ctx := t.Context()
	running.Go(func() { c.Watch(ctx, func() {}); close(stop) })
	t.Cleanup(func() { <-stop; running.Wait() })
	return watched{c, log}
}

// names returns the objects that are known, with their namespace.
func (w watched) names() (names []string) {
	objects, _ := w.Objects()
	for _, o := range objects {
		names = append(names, o.Kind+" "+o.Namespace+"/"+o.Name)
	}
	return names
}

func (w watched) await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: objects %v\n%s", what, w.names(), w.log)
		}
	}
}

func (w watched) awaitNames(t *testing.T, what string, want ...string) {
	t.Helper()
	w.await(t, what, func() bool { return slices.Equal(w.names(), want) })
}

// Only what may name registries is read, in the chosen namespaces, without what is large.
func TestObjectsThatAreRead(t *testing.T) {
	server := kubernetestest.New(t, "source.toolkit.fluxcd.io/v1/helmrepositories", "source.toolkit.fluxcd.io/v1/buckets",
		"argoproj.io/v1alpha1/applications")
	other := func(kind string, more kubernetestest.Object) kubernetestest.Object {
		more["apiVersion"], more["kind"] = "v1", kind
		return more
	}
	data := map[string]any{"username": "YWRh", "large": "bGFyZ2U="}
	for _, namespace := range []string{"own", "other"} {
		server.Put("secrets", namespace, "pull", pullSecret("r.test", "x"))
		server.Put("secrets", namespace, "release", other("Secret", kubernetestest.Object{"type": "helm.sh/release.v1", "data": data}))
		server.Put("secrets", namespace, "basic", other("Secret", kubernetestest.Object{"type": "Opaque", "data": data}))
		server.Put("serviceaccounts", namespace, "default", other("ServiceAccount", kubernetestest.Object{}))
		server.Put("configmaps", namespace, "argocd-tls-certs-cm", other("ConfigMap", kubernetestest.Object{}))
		server.Put("configmaps", namespace, "config", other("ConfigMap", kubernetestest.Object{}))
	}
	repository := other("HelmRepository", kubernetestest.Object{"status": map[string]any{"large": "text"}})
	repository["apiVersion"] = "source.toolkit.fluxcd.io/v1"
	server.Put("source.toolkit.fluxcd.io/v1/helmrepositories", "own", "podinfo", repository)
	server.Put("source.toolkit.fluxcd.io/v1/buckets", "own", "bucket", other("Bucket", kubernetestest.Object{}))
	server.Put("secrets", "own", "argo", other("Secret", kubernetestest.Object{"type": "Opaque", "data": data,
		"labels": map[string]any{argoLabel: "repository"}}))
	own := []string{"ConfigMap own/argocd-tls-certs-cm", "HelmRepository own/podinfo", "Secret own/argo", "Secret own/basic",
		"Secret own/pull", "ServiceAccount own/default"}
	one := mustWatch(t, server)
	one.awaitNames(t, "the own namespace", own...)
	objects, complete := one.Objects()
	for _, o := range objects {
		if large := bytes.Contains(o.JSON, []byte("large")); large != (o.Name == "argo") && o.Name != "argo" || o.UID == "" ||
			bytes.Contains(o.JSON, []byte("managedFields")) {
			t.Errorf("%s %s: uid %q, %s", o.Kind, o.Name, o.UID, o.JSON)
		}
	}
	one.await(t, "completeness", func() bool { _, complete = one.Objects(); return complete("own") })
	all := mustWatch(t, server, All)
	all.await(t, "all namespaces", func() bool { return slices.Contains(all.names(), "Secret other/pull") && len(all.names()) == 10 })
}

// Nothing that is known is lost while the server is away, refuses to list or has forgotten its history, and what changed then is read.
func TestInterruptions(t *testing.T) {
	for _, tt := range []struct {
		name               string
		interrupt, restore func(*kubernetestest.Server)
		during, afterward  string // words of the log
	}{
		{"the server is away", func(s *kubernetestest.Server) { s.Down(true) }, func(s *kubernetestest.Server) { s.Down(false) },
			"objects not read; those that are known stay", "objects are read again"},
		{"the rights are taken away", func(s *kubernetestest.Server) { s.Forbid("secrets", true) },
			func(s *kubernetestest.Server) { s.Forbid("secrets", false) },
			"objects may not be read; those that are known stay: check the role of the service account", "objects are read again"},
		{"the watch expires", func(s *kubernetestest.Server) { s.Expire() }, func(*kubernetestest.Server) {},
			"watch expired; all objects are listed again", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := kubernetestest.New(t)
			server.Put("secrets", "apps", "one", pullSecret("r.test", "x"))
			server.Put("secrets", "apps", "two", pullSecret("r.test", "x"))
			c := mustWatch(t, server, "apps")
			c.awaitNames(t, "before", "Secret apps/one", "Secret apps/two")
			lists := server.Lists()
			tt.interrupt(server)
			if tt.during != "" {
				c.await(t, "a line of the log", func() bool { return strings.Contains(c.log.String(), tt.during) })
			}
			if names := c.names(); len(names) != 2 {
				t.Errorf("known during the interruption: %v", names)
			}
			server.Put("secrets", "apps", "three", pullSecret("r.test", "x"))
			server.Delete("secrets", "apps", "two")
			server.Expire()
			tt.restore(server)
			c.awaitNames(t, "afterward", "Secret apps/one", "Secret apps/three")
			if server.Lists() == lists {
				t.Error("nothing was listed again")
			}
			c.await(t, "a line of the log afterward", func() bool { return strings.Contains(c.log.String(), tt.afterward) })
		})
	}
}

// A namespace whose objects may not be listed is not complete, and others are.
func TestForbiddenFromTheStart(t *testing.T) {
	server := kubernetestest.New(t)
	server.Put("secrets", "apps", "one", pullSecret("r.test", "x"))
	server.Forbid("serviceaccounts", true)
	c := mustWatch(t, server, "apps")
	c.awaitNames(t, "what may be read", "Secret apps/one")
	c.await(t, "a line of the log", func() bool { return strings.Contains(c.log.String(), "objects may not be read") })
	if _, complete := c.Objects(); complete("apps") || !complete("removed") {
		t.Error("a namespace that cannot be read is complete, or one that is not read is not")
	}
	server.Forbid("serviceaccounts", false)
	c.await(t, "the right to list", func() bool { _, complete := c.Objects(); return complete("apps") })
}

// An Event names its object by its uid, as kubectl describe looks for it.
func TestEvents(t *testing.T) {
	server := kubernetestest.New(t)
	c, err := Open(Options{Kubeconfig: server.Kubeconfig(t, "own"), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	o := cluster.Object{APIVersion: "v1", Kind: "Secret", Namespace: "apps", Name: strings.Repeat("n", 253), UID: "uid"}
	event := cluster.Event{Object: o, Warning: true, Reason: "RegistryAuthFailed", Message: strings.Repeat("ü", 600)}
	if err := c.Write(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	want := []string{"Warning RegistryAuthFailed: " + strings.Repeat("ü", 512)}
	if got := server.Events("Secret", "apps", o.Name); !slices.Equal(got, want) {
		t.Errorf("written: %q", got)
	}
	event.Object.Name = strings.Repeat("n", 219) + ".cut"
	if err := c.Write(t.Context(), event); err != nil {
		t.Errorf("an object whose name is cut after a period: %v", err)
	}
	server.Forbid("events", true)
	if err := c.Write(t.Context(), event); err == nil {
		t.Error("an Event that was refused is no error")
	}
}

func TestOpenOutsideOfACluster(t *testing.T) {
	for name, o := range map[string]Options{"no pod": {}, "no file": {Kubeconfig: t.TempDir() + "/missing"}} {
		if _, err := Open(o); err == nil || !strings.Contains(err.Error(), "kube") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
