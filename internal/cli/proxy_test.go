package cli

import (
	"net/url"
	"testing"

	"github.com/regwarden/regwarden/internal/cli/settings"
)

// Commands use the proxy of the environment unless a flag says otherwise. The server uses it only if that is set.
func TestProxyOfTheEnvironment(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://secure.example:3128")
	t.Setenv("HTTP_PROXY", "http://plain.example:3128")
	t.Setenv("NO_PROXY", "direct.example,10.0.0.0/8")
	for _, tt := range []struct{ flag, target, want string }{
		{"", "https://registry.example", "http://secure.example:3128"},
		{"", "http://registry.example", "http://plain.example:3128"},
		{"", "https://direct.example", ""},
		{"", "https://10.1.2.3:5000", ""},
		{"", "http://127.0.0.1:5000", ""},
		{settings.ProxyFromEnvironment, "https://registry.example", "http://secure.example:3128"},
		{settings.NoProxy, "https://registry.example", ""},
		{"http://other.example:8080", "https://direct.example", "http://other.example:8080"},
	} {
		flags := engineFlags{proxy: tt.flag}
		checker, err := flags.checker()
		if err != nil {
			t.Fatal(err)
		}
		target, err := url.Parse(tt.target)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if checker.Proxy != nil {
			if proxy, err := checker.Proxy(target); err != nil {
				t.Error(err)
			} else if proxy != nil {
				got = proxy.String()
			}
		}
		if got != tt.want || flags.proxy != tt.flag {
			t.Errorf("--egress-proxy %q: %s goes through %q, want %q", tt.flag, tt.target, got, tt.want)
		}
	}
	for _, setting := range []string{"", settings.NoProxy} {
		if proxy, err := settings.ProxyFunc(setting); err != nil || proxy != nil {
			t.Errorf("the server with %q has a proxy: %v", setting, err)
		}
	}
}
