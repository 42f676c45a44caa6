package realregistry

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/needs"
	"github.com/regwarden/regwarden/test/testca"
)

func tlsConfig(t testing.TB, pair testca.Pair) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{pair.TLS(t)}}
}

// DockerRegistry runs Debian's docker-registry (distribution 2.8) over plain HTTP until the test
// ends. It is open when there are no users.
func DockerRegistry(t testing.TB, users map[string]string) Access {
	t.Helper()
	path := needs.Program(t, "docker-registry", "docker-registry")
	dir := t.TempDir()
	auth := ""
	if users != nil {
		auth = fmt.Sprintf("auth:\n  htpasswd:\n    realm: debian\n    path: %s\n", htpasswd(t, users))
	}
	prepare := func(address string) []string {
		config := fmt.Sprintf(`version: 0.1
log: {level: warn, accesslog: {disabled: true}}
storage:
  filesystem: {rootdirectory: %s}
  delete: {enabled: true}
  maintenance: {uploadpurging: {enabled: false}}
http: {addr: %q, secret: one test}
%s`, filepath.Join(dir, "storage"), address, auth)
		return []string{"serve", write(t, dir, "config.yml", config)}
	}
	return Access{Endpoint: "http://" + startListening(t, path, prepare, respondsHTTP)}
}

// Front configures nginx in front of a registry.
type Front struct {
	CA       *testca.CA // its certificate is of this authority
	ClientCA *testca.CA // clients must show a certificate of this one; otherwise nginx returns 400 after the handshake
	Path     string     // "/some/path": the registry is at /some/path/v2/, and nothing else is anywhere
	Users    map[string]string
	OneEach  bool // HTTP/2, and each connection is closed gracefully after its first request
}

// Nginx runs Debian's nginx with TLS before a registry, until the test ends.
func Nginx(t testing.TB, behind Access, front Front) Access {
	t.Helper()
	path := needs.Program(t, "nginx", "nginx")
	dir := t.TempDir()
	pair := front.CA.Issue(t, testca.Options{Name: "nginx"})
	write(t, dir, "server.pem", pair.Certificate)
	write(t, dir, "server.key", pair.Key)
	prepare := func(address string) []string {
		config := write(t, dir, "nginx.conf", front.config(t, dir, address, behind))
		return []string{"-p", dir, "-c", config, "-e", "stderr"}
	}
	address := startListening(t, path, prepare, acceptsTCP)
	return Access{Endpoint: "https://" + address + front.Path, CA: front.CA.PEM()}
}

func (f Front) config(t testing.TB, dir, address string, behind Access) string {
	t.Helper()
	var extra, guard string
	if f.ClientCA != nil {
		extra = fmt.Sprintf("ssl_client_certificate %s; ssl_verify_client on;", write(t, dir, "clients.pem", f.ClientCA.PEM()))
	}
	if f.Users != nil {
		guard = fmt.Sprintf(`auth_basic "nginx"; auth_basic_user_file %s;`, htpasswd(t, f.Users))
	}
	listen := address + " ssl"
	if f.OneEach {
		listen, extra = listen+" http2", extra+" keepalive_requests 1;"
	}
	as := ""
	if os.Geteuid() == 0 { // otherwise workers run as a user that cannot read the test's directories
		as = "user root;"
	}
	// The registry needs Host and X-Forwarded-Proto to name upload locations; below a path they are
	// rewritten, as an operator would do it.
	return fmt.Sprintf(`%s
daemon off; worker_processes 1; pid %[2]s/nginx.pid; error_log stderr notice;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path %[2]s/body; proxy_temp_path %[2]s/proxy; fastcgi_temp_path %[2]s/fastcgi;
  uwsgi_temp_path %[2]s/uwsgi; scgi_temp_path %[2]s/scgi; client_max_body_size 0;
  server {
    listen %[3]s; server_name localhost;
    ssl_certificate %[2]s/server.pem; ssl_certificate_key %[2]s/server.key; ssl_protocols TLSv1.2 TLSv1.3;
    %[4]s
    location %[5]s/v2/ {
      %[6]s
      proxy_pass %[7]s/v2/;
      proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Proto https;
      proxy_redirect https://$http_host/v2/ https://$http_host%[5]s/v2/;
    }
    location / { default_type text/html; return 404 "<html><title>Welcome</title></html>"; }
  }
}
`, as, dir, listen, extra, f.Path, guard, strings.TrimSuffix(behind.Endpoint, "/"))
}

func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatalf("write %s: %v", name, err)
	}
	return path
}
