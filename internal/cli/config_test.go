package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/service/wording"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/web/console"
	"github.com/regwarden/regwarden/internal/web/selfsigned"
	"github.com/regwarden/regwarden/internal/web/servercert"
	"github.com/regwarden/regwarden/regcheck"
)

// loaded loads settings from a command line, an environment and a file.
func loaded(t *testing.T, args []string, env map[string]string, file string) (*settings, error) {
	t.Helper()
	s := newSettings()
	if file != "" {
		path := filepath.Join(t.TempDir(), "settings.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", path)
	}
	if err := s.flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return s, s.load(func(name string) string { return env[name] })
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
	if exitCode(err) != exitUsage {
		t.Error("not a usage error")
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
	choose, err := proxyFunc(proxyFromEnvironment)
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
	if _, err := proxyFunc("ftp://user:hunter2@host"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

func TestThePasswordOfAProxyIsNotPrinted(t *testing.T) {
	s, err := loaded(t, []string{"--egress-proxy", "http://user:hunter2@proxy.example:3128"}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range s.list() {
		if strings.Contains(fmt.Sprint(line...), "hunter2") {
			t.Errorf("the password is printed: %s", line)
		}
	}
}

// Hints name settings as they are typed.
func TestTheConsoleGetsSettingsWithMaskedSecrets(t *testing.T) {
	s, err := loaded(t, []string{"--login-queue", "11"}, map[string]string{
		"REGWARDEN_DATABASE_URL": "postgres://ada:hunter2@db.example/regwarden?sslmode=require",
		"REGWARDEN_EGRESS_PROXY": "http://ada:hunter2@proxy.example:3128"}, "")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]console.Setting{}
	for _, one := range s.forConsole() {
		shown[one.Name] = one
		if strings.Contains(one.Value, "hunter2") {
			t.Errorf("%s contains a password: %s", one.Name, one.Value)
		}
	}
	for name, want := range map[string][2]string{"login-queue": {"11", "flag"}, "database-url": {"db.example", "environment"},
		"egress-proxy": {"proxy.example", "environment"}, "console": {"true", "default"}} {
		if one := shown[name]; !strings.Contains(one.Value, want[0]) || one.Source != want[1] {
			t.Errorf("%s is %+v, want %v", name, one, want)
		}
	}
}

// The hints of a report can be followed as typed: those of the service by its operator, and those of a check without a server by its user.
func TestHintsNameFlagsThatExist(t *testing.T) {
	for _, program := range []struct {
		name    string
		reader  regcheck.Audience
		flags   *pflag.FlagSet
		classes []egress.Class // that its policy forbids
	}{
		{"serve", wording.Engine(), newSettings().flags, []egress.Class{egress.ClassPort, egress.ClassWrapped, egress.ClassDenied,
			egress.ClassUnlisted,
			egress.ClassMetadata, egress.ClassOwn, egress.ClassHost, egress.ClassReserved, egress.ClassPrivate, egress.ClassZone}},
		{"check", wording.CommandLine(), newCheck().Flags(), []egress.Class{egress.ClassMetadata, egress.ClassReserved, egress.ClassZone}},
	} {
		hints := []string{program.reader.DNS, program.reader.Proxy("registry.example:443", true)}
		for _, class := range program.classes {
			reason, hint := program.reader.Forbidden(&egress.Forbidden{Class: class})
			if reason == "" || hint == "" {
				t.Errorf("%s: %s has no reason or no hint", program.name, class)
			}
			hints = append(hints, hint)
		}
		for _, entry := range regcheck.Entries() {
			hints = append(hints, program.reader.Show(entry.Hint))
		}
		named := 0
		for _, hint := range hints {
			for _, flag := range regexp.MustCompile(`--[a-z-]+`).FindAllString(hint, -1) {
				named++
				if program.flags.Lookup(strings.TrimPrefix(flag, "--")) == nil {
					t.Errorf("%s: %q names %s, which does not exist", program.name, hint, flag)
				}
			}
			if regexp.MustCompile(`egress\.[a-z]`).MatchString(hint) {
				t.Errorf("%s: %q does not name the setting as it is typed", program.name, hint)
			}
		}
		if named == 0 {
			t.Errorf("%s: no hint names a flag", program.name)
		}
	}
}

// A file with a secret that every user of the machine can read is refused, whatever secret it is.
func TestSecretFilesOpenToOthersAreRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "secret")
	certFile, keyFile, err := selfsigned.Files(dir, "127.0.0.1:0", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, content string
		read          func() error
	}{
		{"bootstrap password", "nine purple ducks on ice", func() error { _, err := readPasswordFile(path); return err }},
		{"SMTP password", "hunter2", func() error {
			_, err := (&Config{SMTPHost: "mail",
				SMTPPasswordFile: path}).mailServer()
			return err
		}},
		{"database URL", "postgres://a:b@db/x?sslmode=verify-full",
			func() error { return loadFrom("--database-url-file", path) }},
		{"settings with a database password", "database-url: postgres://a:b@db/x?sslmode=verify-full",
			func() error { return loadFrom("--config", path) }},
		{"settings with a proxy password", "egress-proxy: http://a:b@proxy:3128",
			func() error { return loadFrom("--config", path) }},
		{"TLS key", string(key), func() error {
			_, err := servercert.Load(servercert.Settings{CertFile: certFile, KeyFile: path}, slog.New(slog.DiscardHandler), time.Now)
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for mode, refused := range map[os.FileMode]bool{0o600: false, 0o644: true, 0o604: true, 0o660: true} {
				if err := errors.Join(os.WriteFile(path, []byte(c.content), 0o600), os.Chmod(path, mode)); err != nil {
					t.Fatal(err)
				}
				err := c.read()
				if errors.Is(err, seal.ErrLaxMode) != refused || refused && !strings.Contains(err.Error(), "run chmod 600") || !refused &&
					err != nil {
					t.Errorf("mode %04o: %v", mode, err)
				}
			}
		})
	}
}

// loadFrom loads settings from a command line alone.
func loadFrom(args ...string) error {
	s := newSettings()
	if err := s.flags.Parse(args); err != nil {
		return err
	}
	return s.load(func(string) string { return "" })
}
