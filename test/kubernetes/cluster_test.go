package kubernetes_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// What the cluster source must do.
const (
	watchInterval = 30 * time.Second
	manySecrets   = 2000
	manySpaces    = 50
	maxKnownAfter = 30 * time.Second
	maxAddedMiB   = 50
)

// A server reads the cluster with the rights that the chart gives, which are those of docs/kubernetes.md.
func TestClusterSource(t *testing.T) {
	binary := regwarden(t)
	server := startAPIServer(t)
	server.createKinds(t)
	registry := startRegistry(t)
	t.Run("Events follow the health of Secrets", func(t *testing.T) { testEvents(t, server, registry, binary) })
	t.Run("many Secrets are known soon", func(t *testing.T) { testManySecrets(t, server, registry, binary) })
}

func testEvents(t *testing.T, server *apiServer, registry *loginRegistry, binary string) {
	server.grant(t, "cluster", "")
	way := openGate(t, strings.TrimPrefix(server.url, "https://"))
	s := startService(t, binary, "--kubernetes", "--kubeconfig", server.kubeconfig(t, "https://"+way.address, "regwarden"),
		"--kubernetes-namespaces", "apps,flux-system", "--watch-interval", watchInterval.String())

	began := time.Now()
	server.post(t, secretsOf("apps"), registry.secret("pull", "wrong"))
	server.awaitEvent(t, secretsOf("apps")+"/pull", "Warning RegistryAuthFailed", "Fix: ")
	if took := time.Since(began); took > watchInterval {
		t.Errorf("the Event of a wrong password took %s, longer than a watch interval of %s", took, watchInterval)
	} else {
		t.Logf("a Secret with a wrong password has its Event after %s; the watch interval is %s", took, watchInterval)
	}
	s.awaitMetric(t, "regwarden_registry_healthy", "apps/Secret/pull", "0")
	s.awaitMetric(t, "regwarden_registry_failure_info", `code="RegistryAuthFailed"`, "1")

	began = time.Now()
	server.put(t, secretsOf("apps")+"/pull", registry.secret("pull", "right"))
	server.awaitEvent(t, secretsOf("apps")+"/pull", "Normal RegistryValid", "can be used again")
	t.Logf("the fixed Secret has its Event after %s", time.Since(began))
	s.awaitMetric(t, "regwarden_registry_healthy", "apps/Secret/pull", "1")

	server.post(t, secretsOf("flux-system"), "{apiVersion: v1, kind: Secret, metadata: {name: login}, stringData: {username: ada, "+
		"password: wrong}}")
	server.post(t, helmRepositories, fmt.Sprintf("{apiVersion: source.toolkit.fluxcd.io/v1, kind: HelmRepository, "+
		"metadata: {name: podinfo}, spec: {type: oci, url: 'oci://%s/charts', insecure: true, secretRef: {name: login}}}", registry.plain))
	server.awaitEvent(t, helmRepositories+"/podinfo", "Warning RegistryAuthFailed", "Fix: ")

	for _, path := range []string{secretsOf("apps") + "/pull", helmRepositories + "/podinfo", secretsOf("flux-system") + "/login"} {
		server.remove(t, path)
	}
	s.awaitNames(t, "after their deletion")

	for _, name := range []string{"stays", "goes"} {
		server.post(t, secretsOf("apps"), registry.secret(name, "right"))
	}
	server.post(t, secretsOf("flux-system"), registry.secret("other", "right"))
	s.awaitNames(t, "before the interruptions", "apps/Secret/goes", "apps/Secret/stays", "flux-system/Secret/other")
	s.awaitMetric(t, "regwarden_registry_healthy", "apps/Secret/stays", "1")
	if strings.Contains(s.output(), "level=ERROR") || strings.Contains(s.output(), "level=WARN") {
		t.Errorf("the rights of the chart are not enough:\n%s", s.output())
	}

	server.running.stop()
	way.shut() // connections are refused, as without a gate
	s.awaitLog(t, "objects not read; those that are known stay", 1)
	s.awaitNames(t, "while the API server is away", "apps/Secret/goes", "apps/Secret/stays", "flux-system/Secret/other")
	server.run(t, "--watch-cache-sizes=secrets#0") // their watches read etcd, and so expire with what etcd forgets
	way.reopen(t)
	server.post(t, secretsOf("apps"), registry.secret("new", "right"))
	s.awaitNames(t, "after the API server is back", "apps/Secret/goes", "apps/Secret/new", "apps/Secret/stays",
		"flux-system/Secret/other")
	s.awaitLog(t, "objects are read again", 1)

	testExpiredWatch(t, server, registry, way, s)

	// Running watches keep their rights, hence the restart.
	server.remove(t, fmt.Sprintf(rendered["RoleBinding"], "apps")+"/regwarden")
	server.running.stop()
	server.run(t)
	s.awaitLog(t, "objects may not be read; those that are known stay", 1)
	registry.revoked.Store(true)
	s.awaitMetric(t, "regwarden_registry_healthy", "apps/Secret/stays", "0")
	s.awaitLog(t, "events of the cluster not written", 1)
	server.remove(t, secretsOf("apps")+"/goes")
	server.post(t, secretsOf("flux-system"), registry.secret("later", "right"))
	s.awaitNames(t, "without rights for one namespace", "apps/Secret/goes", "apps/Secret/new", "apps/Secret/stays",
		"flux-system/Secret/later", "flux-system/Secret/other")
	read := strings.Count(s.output(), "objects are read again")
	server.grant(t, "cluster", "apps")
	s.awaitNames(t, "with the rights again", "apps/Secret/new", "apps/Secret/stays", "flux-system/Secret/later",
		"flux-system/Secret/other")
	s.awaitLog(t, "objects are read again", read+1)
	server.awaitEvent(t, secretsOf("apps")+"/stays", "Warning RegistryAuthFailed", "Fix: ")
	registry.revoked.Store(false)
	if strings.Contains(s.output(), "panic") || strings.Contains(s.output(), "wrong") {
		t.Errorf("the log has a panic or a password:\n%s", s.output())
	}
}

// testExpiredWatch has etcd forget what changed while the connection was away, so that the watches get 410.
func testExpiredWatch(t *testing.T, server *apiServer, registry *loginRegistry, way *gate, s *service) {
	const expired = "watch expired; all objects are listed again"
	before := strings.Count(s.output(), expired)
	way.shut()
	server.remove(t, secretsOf("apps")+"/goes")
	server.remove(t, secretsOf("apps")+"/new")
	server.post(t, secretsOf("apps"), registry.secret("new", "right"))
	server.post(t, secretsOf("flux-system"), registry.secret("missed", "right"))
	server.compact(t)
	way.reopen(t)
	s.awaitLog(t, expired, before+1)
	s.awaitNames(t, "after 410", "apps/Secret/new", "apps/Secret/stays", "flux-system/Secret/missed", "flux-system/Secret/other")
	server.post(t, secretsOf("apps"), registry.secret("goes", "right"))
	server.remove(t, secretsOf("flux-system")+"/missed")
	s.awaitNames(t, "watched again", "apps/Secret/goes", "apps/Secret/new", "apps/Secret/stays", "flux-system/Secret/other")
	t.Logf("%d watches expired", strings.Count(s.output(), expired)-before)
}

func testManySecrets(t *testing.T, server *apiServer, registry *loginRegistry, binary string) {
	server.grant(t, "everything", "")
	var creating sync.WaitGroup
	for i := range manySpaces {
		namespace := fmt.Sprintf("many-%d", i)
		server.post(t, "/api/v1/namespaces", "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")
		creating.Go(func() {
			for n := range manySecrets / manySpaces {
				document := registry.secret(fmt.Sprintf("pull-%d", n), "right")
				status, text, err := server.do(http.MethodPost, secretsOf(namespace), document, asYAML)
				if err != nil || status != http.StatusCreated {
					t.Errorf("%d %s %v", status, text, err)
					return
				}
			}
		})
	}
	creating.Wait()

	without := startService(t, binary)
	without.count(t)
	residentWithout, heapWithout := without.memory(t)
	without.stop()

	began := time.Now()
	with := startService(t, binary, "--kubernetes", "--kubeconfig", server.kubeconfig(t, server.url, "watcher"),
		"--kubernetes-namespaces", "*")
	eventually(t, "all Secrets", func() bool { return with.count(t) >= manySecrets })
	took := time.Since(began)
	var resident, heap float64
	for range 20 { // the most of ten seconds, in which registries are checked
		r, h := with.memory(t)
		resident, heap = max(resident, r), max(heap, h)
		time.Sleep(500 * time.Millisecond)
	}
	t.Logf("%d Secrets in %d namespaces: all known %s after the start; resident memory %.1f MiB without the cluster, %.1f MiB with it "+
		"(+%.1f), heap in use %.1f and %.1f MiB", manySecrets, manySpaces, took, residentWithout, resident, resident-residentWithout,
		heapWithout, heap)
	if took > maxKnownAfter {
		t.Errorf("all Secrets are known after %s, want at most %s", took, maxKnownAfter)
	}
	if added := resident - residentWithout; added > maxAddedMiB {
		t.Errorf("the cluster adds %.1f MiB of memory, want at most %d", added, maxAddedMiB)
	}
}

// loginRegistry is a registry on loopback that accepts one password: with TLS, whose certificate containerd does not verify there, and
// without it.
type loginRegistry struct {
	host, plain string
	revoked     atomic.Bool
}

func startRegistry(t *testing.T) *loginRegistry {
	r := &loginRegistry{}
	handler := http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
		w.Header().Set("Content-Type", "application/json")
		if _, password, _ := request.BasicAuth(); password != "right" || r.revoked.Load() {
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"errors": [{"code": "UNAUTHORIZED", "message": "authentication required"}]}`))
			return
		}
		_, _ = w.Write([]byte("{}"))
	})
	encrypted, plain := httptest.NewTLSServer(handler), httptest.NewServer(handler)
	t.Cleanup(encrypted.Close)
	t.Cleanup(plain.Close)
	r.host, r.plain = strings.TrimPrefix(encrypted.URL, "https://"), strings.TrimPrefix(plain.URL, "http://")
	return r
}

// secret returns a pull Secret for the registry.
func (r *loginRegistry) secret(name, password string) string {
	config := fmt.Sprintf(`{"auths": {%q: {"username": "ada", "password": %q}}}`, r.host, password)
	return fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: %s}, type: kubernetes.io/dockerconfigjson, "+
		"stringData: {.dockerconfigjson: %q}}", name, config)
}

const helmRepositories = "/apis/source.toolkit.fluxcd.io/v1/namespaces/flux-system/helmrepositories"

func secretsOf(namespace string) string { return "/api/v1/namespaces/" + namespace + "/secrets" }

// grant creates the rights that the chart creates in a scenario; with a namespace only its binding.
func (s *apiServer) grant(t *testing.T, scenario, namespace string) {
	t.Helper()
	granted := 0
	for _, document := range readDocuments(t, "../deploy/testdata/chart/"+scenario+".yaml") {
		kind := field(t, document, "kind: ")
		bound := namespace == "" || kind == "RoleBinding" && field(t, document, "  namespace: ") == namespace
		if !strings.HasPrefix(kind, "Role") && !strings.HasPrefix(kind, "ClusterRole") || !bound {
			continue
		}
		path := rendered[kind]
		if strings.Contains(path, "%s") {
			path = fmt.Sprintf(path, field(t, document, "  namespace: "))
		}
		s.post(t, path, document)
		granted++
	}
	if granted == 0 {
		t.Fatalf("%s has no rights", scenario)
	}
}

func (s *apiServer) put(t *testing.T, path, document string) {
	s.change(t, http.MethodPut, path, document)
}

func (s *apiServer) remove(t *testing.T, path string) { s.change(t, http.MethodDelete, path, "") }

func (s *apiServer) change(t *testing.T, method, path, document string) {
	t.Helper()
	if status, text, err := s.do(method, path, document, asYAML); err != nil || status != http.StatusOK {
		t.Fatalf("%s %s: %d %s %v", method, path, status, text, err)
	}
}

// awaitEvent waits for an Event of an object, which is found as kubectl describe does, by its uid.
func (s *apiServer) awaitEvent(t *testing.T, path, want, message string) {
	t.Helper()
	var object struct {
		Metadata struct{ UID, Namespace string }
	}
	if err := json.Unmarshal([]byte(s.get(t, path, asJSON)), &object); err != nil {
		t.Fatal(err)
	}
	written := "/api/v1/namespaces/" + object.Metadata.Namespace + "/events?fieldSelector=involvedObject.uid%3D" + object.Metadata.UID
	eventually(t, want+" of "+path, func() bool {
		var events struct {
			Items []struct{ Type, Reason, Message string }
		}
		if err := json.Unmarshal([]byte(s.get(t, written, asJSON)), &events); err != nil {
			t.Fatal(err)
		}
		for _, e := range events.Items {
			if e.Type+" "+e.Reason == want && strings.Contains(e.Message, message) {
				return true
			}
		}
		return false
	})
}

// kubeconfig returns a file with the connection of a service account.
func (s *apiServer) kubeconfig(t *testing.T, url, account string) string {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	writeFile(t, file, fmt.Sprintf(`
apiVersion: v1
kind: Config
current-context: test
contexts: [{name: test, context: {cluster: test, user: test}}]
clusters: [{name: test, cluster: {server: %q, certificate-authority: %q}}]
users: [{name: test, user: {token: %q}}]
`, url, s.certificate, account))
	return file
}

// service is a running regwarden serve.
type service struct {
	*program
	url, metricsURL, authorization string
}

const servicePassword = "seven lanterns on the quay"

var (
	serviceURL = regexp.MustCompile(`serves on (http://\S+);`)
	metricsURL = regexp.MustCompile(`(?m)^Metrics: (http://\S+)$`)
)

func startService(t *testing.T, binary string, flags ...string) *service {
	dir := t.TempDir()
	password := filepath.Join(dir, "password")
	writeFile(t, password, servicePassword+"\n")
	s := &service{program: start(t, []string{"REGWARDEN_BOOTSTRAP_ORG=Acme",
		"REGWARDEN_BOOTSTRAP_EMAIL=admin@acme.example", "REGWARDEN_BOOTSTRAP_PASSWORD_FILE=" + password}, binary,
		append([]string{"serve", "--data-dir", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0",
			"--egress-dns", "127.0.0.1:9", "--egress-allow", "127.0.0.0/8", "--login-wait", "30s"}, flags...)...)}
	eventually(t, "regwarden", func() bool {
		api, metrics := serviceURL.FindStringSubmatch(s.output()), metricsURL.FindStringSubmatch(s.output())
		if api == nil || metrics == nil {
			return false
		}
		s.url, s.metricsURL = api[1], metrics[1]
		return true
	})
	var tokens struct{ Authorization string }
	s.call(t, http.MethodPost, "/v1/auth/authenticate",
		`{"emailId": "admin@acme.example", "org": "Acme", "password": "`+servicePassword+`"}`, &tokens)
	s.authorization = tokens.Authorization
	return s
}

func (s *service) call(t *testing.T, method, path, body string, into any) {
	t.Helper()
	request, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", s.authorization)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(into); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s %v", method, path, response.Status, err)
	}
}

// awaitNames waits until the registries of exactly these objects are stored.
func (s *service) awaitNames(t *testing.T, what string, want ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s: %q", what, want), func() bool {
		var list struct {
			Items []struct{ Metadata struct{ Name string } }
		}
		s.call(t, http.MethodGet, "/v1/registries/oci/summary", "", &list)
		var names []string
		for _, item := range list.Items {
			_, object, _ := strings.Cut(item.Metadata.Name, "(cluster/")
			names = append(names, strings.TrimSuffix(object, ")"))
		}
		return slices.Equal(names, want)
	})
}

// count returns how many registries are stored.
func (s *service) count(t *testing.T) int {
	t.Helper()
	var counts struct{ Healthy, Failing, Unknown int }
	s.call(t, http.MethodGet, "/v1/registries/oci/summary/health", "", &counts)
	return counts.Healthy + counts.Failing + counts.Unknown
}

func (s *service) awaitLog(t *testing.T, text string, times int) {
	t.Helper()
	eventually(t, "the log: "+text, func() bool { return strings.Count(s.output(), text) >= times })
}

// metric returns the value of the first series of a metric whose labels have a text.
func (s *service) metric(t *testing.T, name, labels string) (value string) {
	t.Helper()
	response, err := http.Get(s.metricsURL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("metrics: %s %v", response.Status, err)
	}
	for line := range strings.Lines(string(text)) {
		if end := strings.LastIndexByte(line, ' '); end > 0 && strings.HasPrefix(line, name) && strings.Contains(line[:end], labels) {
			return strings.TrimSpace(line[end:])
		}
	}
	return ""
}

func (s *service) awaitMetric(t *testing.T, name, labels, want string) {
	t.Helper()
	eventually(t, name+" "+labels+" "+want, func() bool { return s.metric(t, name, labels) == want })
}

// memory returns the resident memory and the heap in use, in MiB.
func (s *service) memory(t *testing.T) (resident, heap float64) {
	t.Helper()
	mib := func(name string) float64 {
		bytes, err := strconv.ParseFloat(s.metric(t, name, ""), 64)
		if err != nil {
			t.Fatal(err)
		}
		return bytes / (1 << 20)
	}
	return mib("process_resident_memory_bytes "), mib("go_memstats_heap_inuse_bytes ")
}
