package definitions

import (
	"strings"
	"testing"
)

const twoTest = `[host."https://two.test"]`

func k3sOf(mirrors, configs string) string {
	return `{"mirrors": {` + mirrors + `}, "configs": {` + configs + `}}`
}

// TestRulesOfRuntimes: where a container runtime looks for certificates, and which entry it uses for a host.
func TestRulesOfRuntimes(t *testing.T) {
	const (
		k3s, hosts, conf = "k3s/registries.yaml", "certs.d/one.test/hosts.toml", "etc/containers/registries.conf"
		login            = `{"auth": {"username": "u", "password": "p"}}`
		search           = "unqualified-search-registries = ['one.test']\n"
		cri              = "version = 2\n[plugins.'io.containerd.grpc.v1.cri'.registry]\nconfig_path = '/certs.d'\n" +
			"[plugins.'io.containerd.grpc.v1.cri'.registry.configs.'one.test'.auth]\nusername = 'u'\npassword = 'p'\n"
	)
	for _, rule := range []formatRule{
		{name: "a CA and a client certificate", file: "buildkitd.toml", text: "[registry.'one.test']\ntlsconfigdir = ['/certs']\n",
			more: map[string]string{"certs/ca.crt": exampleCert, "certs/a.cert": exampleCert,
				"certs/a.key": strings.ReplaceAll(exampleCert, "CERTIFICATE", "PRIVATE KEY")},
			want: "https://one.test"},
		{name: "certificates in a copy of the machine", file: "m/etc/buildkit/buildkitd.toml",
			text: "[registry.'one.test']\ntlsconfigdir = ['/certs']\n", more: map[string]string{"m/certs/ca.crt": exampleCert,
				"m/certs/a.cert": exampleCert, "m/certs/a.key": strings.ReplaceAll(exampleCert, "CERTIFICATE", "PRIVATE KEY")},
			want: "https://one.test"},
		{name: "no certificates", file: "buildkitd.toml", text: "[registry.'one.test']\ntlsconfigdir = ['/certs']\n",
			want: "https://one.test,unresolved configFile"},
		{name: "a server alone", file: "a.toml", text: "server = 'https://one.test'\n"},
		{name: "a server and what it can do", file: "a.toml", text: "server = 'https://one.test'\ncapabilities = ['pull']\n",
			want: "https://one.test"},
		{name: "HTTP", file: hosts, text: "[host.'http://two.test:8080']\n",
			want: "http://two.test:8080,https://one.test,notice plainHttp"},
		{name: "HTTP with a CA", file: hosts, text: "[host.'http://two.test:8080']\nca = '/c.pem'\n",
			more: map[string]string{"c.pem": exampleCert}, want: "https://two.test:8080,https://one.test,notice plainHttpFallback"},
		{name: "the directory localhost", file: "a/localhost/hosts.toml", text: twoTest,
			want: "https://two.test,https://localhost,notice insecureSkipVerify"},
		{name: "a directory named after a host", file: "a/one.test/hosts.toml", text: twoTest, want: "https://two.test,https://one.test"},
		{name: "a directory in certs.d", file: "certs.d/local/hosts.toml", text: twoTest, want: "https://two.test,https://local"},
		{name: "another directory", file: "a/local/hosts.toml", text: twoTest, want: "https://two.test,skipped noHost"},
		{name: "TLS of hosts.toml", file: "config.toml", text: cri,
			more: map[string]string{hosts: "server = 'https://one.test'\n[host.'https://one.test']\nskip_verify = true\n"},
			want: "https://one.test u p,notice deprecatedKeys,notice insecureSkipVerify,skipped notARegistry"},
		{name: "a port of another host", file: k3s, text: k3sOf(`"one.test": {"endpoint": ["two.test:5000"]}`, ""),
			want: "https://two.test:5000"},
		{name: "a port of this machine", file: k3s, text: k3sOf(`"one.test": {"endpoint": ["localhost:5000"]}`, ""),
			want: "http://localhost:5000,notice plainHttp"},
		{name: "Docker Hub by its API", file: k3s,
			text: k3sOf(`"docker.io": {"endpoint": ["https://docker.io"]}`, `"registry-1.docker.io": `+login),
			want: "https://registry-1.docker.io u p"},
		{name: "Docker Hub by its name", file: k3s, text: k3sOf(`"docker.io": {"endpoint": ["https://docker.io"]}`, `"docker.io": `+login),
			want: "https://registry-1.docker.io u p,notice notUsedByConsumer"},
		{name: "Docker Hub by both", file: k3s, text: k3sOf(`"docker.io": {"endpoint": ["https://docker.io"]}`,
			`"docker.io": {"auth": {"username": "x", "password": "y"}}, "registry-1.docker.io": `+login),
			want: "https://registry-1.docker.io u p,skipped shadowed"},
		{name: "a login at a mirror too", file: k3s, text: k3sOf(`"two.test": {"endpoint": ["https://three.test"]}`,
			`"two.test": `+login+`, "three.test": `+login), want: "https://three.test u p,https://two.test u p"},
		{name: "no login at the mirror", file: k3s,
			text: k3sOf(`"two.test": {"endpoint": ["https://three.test"]}`, `"two.test": `+login),
			want: "https://three.test,https://two.test u p,notice notUsedByConsumer"},
		{name: "null", file: k3s, text: k3sOf("", `"one.test": {"auth": null}`), want: "https://one.test"},
		{name: "a text for an object", file: k3s, text: k3sOf("", `"one.test": {"auth": "x"}`), want: "problem wrongShape"},
		{name: "yes", file: k3s, text: "configs: {one.test: {tls: {insecure_skip_verify: yes}}}\n",
			want: "https://one.test,notice insecureSkipVerify"},
		{name: "search in another file", file: conf, text: search, more: map[string]string{
			conf + ".d/a.conf": "unqualified-search-registries = ['two.test']\n"}, want: "skipped shadowed"},
		{name: "an entry in another file", file: conf, text: search, more: map[string]string{
			conf + ".d/a.conf": "[[registry]]\nlocation = 'two.test'\n"}, want: "https://one.test"},
	} {
		rule.check(t)
	}
}
