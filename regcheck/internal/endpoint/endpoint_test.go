package endpoint

import (
	"strings"
	"testing"
)

func TestEndpoint(t *testing.T) {
	for _, row := range []struct{ endpoint, basePath, want string }{
		{"registry.test", "", "https://registry.test/v2/"},
		{"oci://registry.test", "", "https://registry.test/v2/"},
		{"HTTP://Registry.Test", "", "http://registry.test/v2/"},
		{"http://registry.test:80/", "", "http://registry.test/v2/"},
		{"https://registry.test:5000", "", "https://registry.test:5000/v2/"},
		{"  registry.test \n", " /x/ ", "https://registry.test/x/v2/"},
		{"registry.test/v2/", "", "https://registry.test/v2/"},
		{"registry.test/v2", "v2", "https://registry.test/v2/"},
		{"registry.test/a/v2", "/b/v2/", "https://registry.test/a/b/v2/"},
		{"registry.test/artifactory", "api/docker/key", "https://registry.test/artifactory/api/docker/key/v2/"},
		{"docker.io", "", "https://registry-1.docker.io/v2/"},
		{"index.docker.io/v2/", "", "https://registry-1.docker.io/v2/"},
		{"192.168.7.9:5000", "", "https://192.168.7.9:5000/v2/"},
		{"[2001:DB8::1]:5000", "", "https://[2001:db8::1]:5000/v2/"},
		{"[::1]", "", "https://[::1]/v2/"},
		{"my_registry:5000", "", "https://my_registry:5000/v2/"},
		{"https:5000", "", "https://https:5000/v2/"},
		{"bücher.test", "", "https://xn--bcher-kva.test/v2/"},
		{"faß.test", "", "https://xn--fa-hia.test/v2/"}, // non-transitional: not fass.test
		{"registry.test.", "", "https://registry.test./v2/"},
	} {
		base, problem := Read(row.endpoint)
		path, pathProblem := ReadPath(row.basePath)
		if got := base.Below(path).String(); problem+pathProblem != "" || got != row.want {
			t.Errorf("%q + %q: %s %s %s, want %s", row.endpoint, row.basePath, got, problem, pathProblem, row.want)
		}
	}
}

// The address of a chart repository is used as it is: no name of Docker Hub, no v2.
func TestEndpointOfFiles(t *testing.T) {
	for _, row := range []struct{ endpoint, basePath, want, problem string }{
		{"charts.test", "", "https://charts.test/", ""},
		{"http://charts.test:8080/stable/v2/", "", "http://charts.test:8080/stable/v2/", ""},
		{"https://docker.io/helm", "/a/v2/", "https://docker.io/helm/a/v2/", ""},
		{"oci://charts.test/stable", "", "", "remove {kind}"},
		{"https://charts.test/index.yaml", "", "", "without index.yaml"},
		{"https://charts.test/my-index.yaml", "", "https://charts.test/my-index.yaml/", ""},
		{"ftp://charts.test", "", "", "scheme"},
	} {
		base, problem := ReadFiles(row.endpoint)
		if row.problem != "" {
			if !strings.Contains(string(problem), row.problem) {
				t.Errorf("%q: %q, want a problem with %q", row.endpoint, problem, row.problem)
			}
			continue
		}
		path, _ := ReadPath(row.basePath)
		if got := base.Below(path).URL("").String(); problem != "" || got != row.want {
			t.Errorf("%q + %q: %s %s, want %s", row.endpoint, row.basePath, got, problem, row.want)
		}
	}
}

func TestEndpointProblems(t *testing.T) {
	for _, row := range []struct{ endpoint, contains string }{
		{"", "required"},
		{"   ", "required"},
		{strings.Repeat("a", 2049), "2048"},
		{"ftp://registry.test", "scheme"},
		{"https//registry.test", "https://"},
		{"https:/registry.test", "https://"},
		{"http:registry.test", "http://"},
		{"user:pass@registry.test", "user information"},
		{"registry.test?x=1", "query"},
		{"registry.test#x", "query or fragment"},
		{"registry.test/a%2fb", "percent"},
		{"fe80::1%eth0", "percent"},
		{"2001:db8::1", "brackets"},
		{"[2001:db8::1", "\"]\" after"},
		{"[::1]5000", "bracket"},
		{"[1.2.3.4]", "IPv6"},
		{"registry.test:0", "port"},
		{"registry.test:65536", "port"},
		{"registry.test:", "port"},
		{"registry.test:+80", "port"},
		{"2852039166", "numeric"},
		{"0xa9fea9fe", "numeric"},
		{"169.254.43518", "numeric"},
		{"010.0.0.1", "numeric"},
		{"registry..test", "host name"},
		{"-registry.test", "host name"},
		{strings.Repeat("a", 64) + ".test", "host name"},
		{"regi stry.test", "blank"},
		{"regi\x00stry.test", "control"},
		{"registry.test\\evil", "backslash"},
		{"registry.test/../x", ".."},
		{"https://", "must have a host"},
		{"/v2/", "must have a host"},
	} {
		if _, problem := Read(row.endpoint); !strings.Contains(string(problem), row.contains) {
			t.Errorf("%q: %q, want a problem with %q", row.endpoint, problem, row.contains)
		}
	}
}
