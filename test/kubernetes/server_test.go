package kubernetes_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const token = "token-of-this-test"

// accounts are service accounts of the chart's scenarios, in the namespace regwarden. The name of each is its token.
var accounts = []string{"regwarden", "watcher"}

// apiServer is kube-apiserver with an etcd of its own, both on loopback.
type apiServer struct {
	url, certificate string
	signingKey       string // file, of tokens of service accounts
	etcd             string // its URL
	client           *http.Client
	command          []string
	owner            *testing.T // runs as long as the server
	running          *program
}

func startAPIServer(t *testing.T) *apiServer {
	dir := t.TempDir()
	etcd, err := exec.LookPath("etcd")
	if err != nil {
		t.Fatal("needs the Debian package etcd-server: apt-get install --no-install-recommends etcd-server")
	}
	clientURL, peerURL := "http://"+reserve(t), "http://"+reserve(t)
	start(t, nil, etcd, "--name=test", "--data-dir="+filepath.Join(dir, "etcd"), "--listen-client-urls="+clientURL,
		"--advertise-client-urls="+clientURL,
		"--listen-peer-urls="+peerURL, "--initial-advertise-peer-urls="+peerURL, "--initial-cluster=test="+peerURL)

	tokens, key := filepath.Join(dir, "tokens.csv"), filepath.Join(dir, "key.pem")
	known := token + ",admin,admin,system:masters\n"
	for _, name := range accounts {
		known += fmt.Sprintf("%[1]s,system:serviceaccount:regwarden:%[1]s,%[1]s\n", name)
	}
	writeFile(t, tokens, known)
	writeFile(t, key, newKey(t))
	address := reserve(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	s := &apiServer{owner: t, url: "https://" + address, etcd: clientURL, certificate: filepath.Join(dir, "apiserver.crt"),
		signingKey: key}
	s.command = []string{
		strings.TrimSpace(string(run(t, nil, "go", "tool", "-n", "kube-apiserver"))), "--etcd-servers=" + clientURL,
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port=" + port, "--external-hostname=localhost",
		"--endpoint-reconciler-type=none", "--cert-dir=" + dir, "--token-auth-file=" + tokens, "--authorization-mode=RBAC",
		"--disable-admission-plugins=ServiceAccount", "--service-cluster-ip-range=10.0.0.0/24",
		"--service-account-issuer=" + s.url, "--service-account-jwks-uri=" + s.url + "/openid/v1/jwks",
		"--service-account-signing-key-file=" + key, "--service-account-key-file=" + key}
	s.run(t)
	return s
}

// run starts kube-apiserver, also after it was stopped, and waits until it is ready.
func (s *apiServer) run(t *testing.T, flags ...string) {
	s.running = start(s.owner, nil, s.command[0], append(slices.Clone(s.command[1:]), flags...)...)
	if s.client == nil {
		s.trust(s.owner)
	}
	s.await(t, "/readyz")
}

// trust waits for the certificate that the server makes for itself.
func (s *apiServer) trust(t *testing.T) {
	roots := x509.NewCertPool()
	eventually(t, "the certificate of kube-apiserver", func() bool {
		certificate, err := os.ReadFile(s.certificate)
		return err == nil && roots.AppendCertsFromPEM(certificate)
	})
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	s.client = &http.Client{Transport: transport, Timeout: 30 * time.Second}
}

// await waits until a path returns 200.
func (s *apiServer) await(t *testing.T, path string) {
	eventually(t, path, func() bool {
		status, _, err := s.do(http.MethodGet, path, "", asYAML)
		return err == nil && status == http.StatusOK
	})
}

// Media types of responses.
const (
	asYAML = "application/yaml"
	asJSON = "application/json"
)

// do sends YAML.
func (s *apiServer) do(method, path, body, accept string) (int, string, error) {
	req, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", accept)
	req.Header.Set("Content-Type", asYAML)
	response, err := s.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

func (s *apiServer) get(t *testing.T, path, accept string) string {
	t.Helper()
	status, text, err := s.do(http.MethodGet, path, "", accept)
	if err != nil || status != http.StatusOK {
		t.Fatalf("GET %s: %d %s %v", path, status, text, err)
	}
	return text
}

// compact has etcd forget the changes before the newest one.
func (s *apiServer) compact(t *testing.T) {
	var newest struct{ Header struct{ Revision string } }
	s.askEtcd(t, "range", `{"key": "AA=="}`, &newest)
	s.askEtcd(t, "compaction", `{"revision": "`+newest.Header.Revision+`"}`, &newest)
}

func (s *apiServer) askEtcd(t *testing.T, operation, body string, to any) {
	t.Helper()
	response, err := http.Post(s.etcd+"/v3/kv/"+operation, asJSON, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(to); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("etcd: %s: %s %v", operation, response.Status, err)
	}
}

// gate forwards connections to a server. While it is shut, they are refused.
type gate struct {
	address, server string
	listener        net.Listener

	mu   sync.Mutex
	open []net.Conn
}

func openGate(t *testing.T, server string) *gate {
	g := &gate{address: reserve(t), server: server}
	g.reopen(t)
	t.Cleanup(g.shut)
	return g
}

func (g *gate) reopen(t *testing.T) {
	listener, err := net.Listen("tcp", g.address)
	if err != nil {
		t.Fatal(err)
	}
	g.listener = listener
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			if server, err := net.Dial("tcp", g.server); err != nil {
				client.Close()
			} else {
				g.forward(client, server)
			}
		}
	}()
}

func (g *gate) forward(client, server net.Conn) {
	g.mu.Lock()
	g.open = append(g.open, client, server)
	g.mu.Unlock()
	for from, to := range map[net.Conn]net.Conn{client: server, server: client} {
		go func() {
			_, _ = io.Copy(to, from)
			to.Close()
		}()
	}
}

func (g *gate) shut() {
	g.listener.Close()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, conn := range g.open {
		conn.Close()
	}
	g.open = nil
}

// program is a program that runs until the test ends.
type program struct {
	cmd     *exec.Cmd
	stopped sync.Once

	mu   sync.Mutex
	text bytes.Buffer
}

// Write notes output of the program.
func (p *program) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(text)
}

// output returns what the program wrote so far.
func (p *program) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

func (p *program) stop() {
	p.stopped.Do(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(20*time.Second, func() { _ = p.cmd.Process.Kill() })
		_ = p.cmd.Wait()
		kill.Stop()
	})
}

// start runs a program until the test ends, with more environment, and shows the end of its output if the test failed.
func start(t *testing.T, environment []string, name string, args ...string) *program {
	t.Helper()
	p := &program{cmd: exec.CommandContext(context.WithoutCancel(t.Context()), name, args...)}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = p, p, append(os.Environ(), environment...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} // no survivor when the test process dies
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.stop()
		if t.Failed() {
			text := p.output()
			t.Logf("%s: …%s", filepath.Base(name), text[max(0, len(text)-3000):])
		}
	})
	return p
}

func run(t *testing.T, stdin io.Reader, program string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(program, args...)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = stdin, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, &stderr)
	}
	return out
}

// newKey returns a key for the tokens of service accounts.
func newKey(t *testing.T) string {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
}

// reserve is Unused of internal/testport, whose module this one does not require: a bound socket that never listens holds the port
// until the test ends, and a server can listen there next to it.
func reserve(t *testing.T) string {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(socket) })
	if err := errors.Join(syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1),
		syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})); err != nil {
		t.Fatal(err)
	}
	bound, err := syscall.Getsockname(socket)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", bound.(*syscall.SockaddrInet4).Port)
}

func writeFile(t *testing.T, name, text string) {
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !done(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s is not ready after three minutes", what)
		}
	}
}
