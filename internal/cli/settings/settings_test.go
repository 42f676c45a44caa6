package settings

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/cli/command"
)

// loaded loads settings from a command line, an environment and a file.
func loaded(t *testing.T, args []string, env map[string]string, file string) (*Settings, error) {
	t.Helper()
	s := New()
	if file != "" {
		path := filepath.Join(t.TempDir(), "settings.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", path)
	}
	if err := s.Flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return s, s.Load(func(name string) string { return env[name] })
}

func TestPrecedenceOfFlagsEnvironmentAndFile(t *testing.T) {
	s, err := loaded(t,
		[]string{"--login-queue", "11"},
		map[string]string{"REGWARDEN_LOGIN_QUEUE": "12", "REGWARDEN_LOGIN_WAIT": "3s", "REGWARDEN_EGRESS_ALLOW": "127.0.0.1,10.0.0.0/8"},
		"login-queue: 13\nlogin-wait: 4s\nsession-idle: 48h\negress-deny: [10.1.0.0/16, '10.2.0.0/16']\ninsecure-http: true\n")
	if err != nil {
		t.Fatal(err)
	}
	if s.LoginQueue != 11 || s.LoginWait != 3*time.Second || s.SessionIdle != 48*time.Hour || !s.InsecureHTTP {
		t.Errorf("got %+v", s.Config)
	}
	if len(s.EgressAllow) != 2 || len(s.EgressDeny) != 2 || s.EgressDeny[1] != "10.2.0.0/16" {
		t.Errorf("lists: %q %q", s.EgressAllow, s.EgressDeny)
	}
	for name, want := range map[string]string{"login-queue": "flag", "login-wait": "environment", "session-idle": "file",
		"listen": "default"} {
		if s.source[name] != want {
			t.Errorf("%s comes from %q, want %q", name, s.source[name], want)
		}
	}
}

func TestAllProblemsOfTheSettingsAreReported(t *testing.T) {
	_, err := loaded(t,
		[]string{"--listen", "0.0.0.0:80", "--tls-cert", "x", "--metrics-listen", "no-port"},
		map[string]string{"REGWARDEN_TOKEN_LIFETIME": "1h", "REGWARDEN_LOGIN_WAIT": "soon", "REGWARDEN_LOGIN_FREE_FAILURES": "0",
			"REGWARDEN_LOGIN_MAX_WAIT": "25h", "REGWARDEN_AUDIT_RETENTION": "1h"},
		"lisen: x\nlog-level: loud\negress-allow: nonsense\ntrusted-proxies: who\n")
	if err == nil {
		t.Fatal("taken")
	}
	for _, want := range []string{"tls-cert: requires tls-key", "token-lifetime", "login-wait",
		`"lisen" is not a setting; did you mean listen?`, "log-level", "egress", "trusted-proxies",
		"metrics-listen", "login-free-failures", "login-max-wait", "audit-retention"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not reported in: %v", want, err)
		}
	}
	if _, usage := errors.AsType[command.UsageError](err); !usage {
		t.Error("not a usage error")
	}
}

// The problems of a file come in the order of their names, and not in another one at each start.
func TestProblemsOfTheFileAreSorted(t *testing.T) {
	for range 20 {
		_, err := loaded(t, nil, nil, "d: 1\nb: 1\na: 1\nc: 1\nlogin-wait: x\nlisten: 1\nlogin-queue: x\n")
		last := -1
		for _, want := range []string{`"a"`, `"b"`, `"c"`, `"d"`, "login-queue", "login-wait"} {
			at := strings.Index(err.Error(), want)
			if at < last {
				t.Fatalf("%s is not after those before it: %v", want, err)
			}
			last = at
		}
	}
}

// A key without a value is refused, and does not become a text.
func TestKeysWithoutValueAreRefused(t *testing.T) {
	for file, names := range map[string][]string{"data-dir:\nlog-level: ~\n": {"data-dir", "log-level"},
		"egress-allow: [10.0.0.0/8, ~]\n": {"egress-allow"}, "egress-deny:\n  -\n": {"egress-deny"}} {
		s, err := loaded(t, nil, nil, file)
		for _, name := range names {
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("settings.yaml: %q has no value", name)) {
				t.Errorf("%q: %v", file, err)
			}
		}
		if s.DataDir != "regwarden-data" {
			t.Errorf("%q: the data directory is %q", file, s.DataDir)
		}
	}
	if s, err := loaded(t, nil, nil, "smtp-host: ''\negress-allow: []\n"); err != nil || s.SMTPHost != "" || len(s.EgressAllow) > 0 {
		t.Errorf("empty values: %+v, %v", s.Config, err)
	}
}

func TestPlainHTTPIsForLoopbackOnly(t *testing.T) {
	for listen, fine := range map[string]bool{
		"127.0.0.1:80": true, "localhost:80": true, "[::1]:80": true, "127.0.0.53:1": true,
		":80": false, "0.0.0.0:80": false, "10.0.0.1:80": false, "example.com:80": false, "localhost.example.com:80": false,
	} {
		if _, err := loaded(t, []string{"--listen", listen}, nil, ""); (err == nil) != fine {
			t.Errorf("%s: %v", listen, err)
		}
		if _, err := loaded(t, []string{"--listen", listen, "--insecure-http"}, nil, ""); err != nil {
			t.Errorf("%s with insecure-http: %v", listen, err)
		}
	}
}

func TestTheProxyOfTheEnvironmentFollowsNoProxy(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://proxy.example:3128")
	t.Setenv("NO_PROXY", "inside.example")
	choose, err := ProxyFunc(ProxyFromEnvironment)
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{"https://outside.example": "proxy.example:3128", "https://inside.example": ""} {
		u, err := url.Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		proxy, err := choose(u)
		if err != nil {
			t.Fatal(err)
		}
		if proxy == nil {
			proxy = &url.URL{}
		}
		if proxy.Host != want {
			t.Errorf("%s goes through %q, want %q", target, proxy.Host, want)
		}
	}
	if _, err := ProxyFunc("ftp://user:hunter2@host"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

func TestThePasswordOfAProxyIsNotPrinted(t *testing.T) {
	s, err := loaded(t, []string{"--egress-proxy", "http://user:hunter2@proxy.example:3128"}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range s.List() {
		if strings.Contains(fmt.Sprint(line...), "hunter2") {
			t.Errorf("the password is printed: %s", line)
		}
	}
}
