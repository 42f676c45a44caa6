package argorepo

import (
	"strings"
	"testing"
)

var everywhere = Place{Anywhere: true, Scopes: []string{""}}

// The rules of Argo CD 3.5 and 3.6, util/db/repository_secrets.go and util/git/git.go: each row was read there, those marked [m] were
// measured with its own functions.
func TestTemplates(t *testing.T) {
	for _, test := range []struct {
		name, url string
		templates []string
		want      string // URL of the template, "" for none
	}{
		{"exact", "oci://registry.example.com/charts", []string{"oci://registry.example.com/charts"}, "oci://registry.example.com/charts"},
		{"prefix", "oci://registry.example.com/charts", []string{"oci://registry.example.com"}, "oci://registry.example.com"},
		{"the longest", "registry.example.com/team/a",
			[]string{"registry.example.com", "registry.example.com/team", "registry.example.com/other"}, "registry.example.com/team"},
		{"the longest is first", "registry.example.com/team/a", []string{"registry.example.com/team", "registry.example.com"},
			"registry.example.com/team"},
		{"within a host [m]", "registry.example.com.evil.test/x", []string{"registry.example.com"}, "registry.example.com"},
		{"within a path [m]", "registry.example.com/teamwork", []string{"registry.example.com/team"}, "registry.example.com/team"},
		{"boundary", "registry.example.com.evil.test/x", []string{"registry.example.com/"}, ""},
		{"boundary excludes the bare host", "registry.example.com", []string{"registry.example.com/"}, ""},
		{"case [m]", "OCI://Registry.Example.com/Charts", []string{"oci://registry.EXAMPLE.com/charts"},
			"oci://registry.EXAMPLE.com/charts"},
		{"white space", "registry.example.com/a", []string{" registry.example.com\n"}, " registry.example.com\n"},
		{"scheme only in the repository [m]", "oci://registry.example.com", []string{"registry.example.com"}, ""},
		{"scheme only in the template [m]", "registry.example.com", []string{"oci://registry.example.com"}, ""},
		{"host with port", "registry.example.com:5000/a", []string{"registry.example.com:5000"}, "registry.example.com:5000"},
		{"template without the port", "registry.example.com:5000/a", []string{"registry.example.com"}, "registry.example.com"},
		{"address with port [m]", "192.0.2.1:5000/a", []string{"192.0.2.1:5000"}, ""},
		{"address with port, template without [m]", "192.0.2.1:5000/a", []string{"192.0.2.1"}, ""},
		{"address with port and scheme", "oci://192.0.2.1:5000/a", []string{"oci://192.0.2.1:5000"}, "oci://192.0.2.1:5000"},
		{"host that begins with a digit", "1registry.example.com:5000/a", []string{"1registry.example.com:5000"}, ""},
		{".git is cut", "oci://registry.example.com/a.git", []string{"oci://registry.example.com/a"}, "oci://registry.example.com/a"},
		{"an empty URL matches nothing", "registry.example.com", []string{""}, ""},
		{"a scheme matches everything", "oci://registry.example.com", []string{"oci://"}, "oci://"},
		{"longer than the repository", "registry.example.com", []string{"registry.example.com/team"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var s Set
			for _, u := range test.templates {
				s.AddTemplate(&Repository{URL: u}, everywhere)
			}
			got := ""
			if found, count := s.Template(test.url, everywhere); count == 1 {
				got = found.URL
			}
			if got != test.want {
				t.Errorf("template %q, want %q", got, test.want)
			}
		})
	}
}

func TestTemplateOfLongURL(t *testing.T) {
	var s Set
	long := "registry.example.com/" + strings.Repeat("a", maxURL)
	s.AddTemplate(&Repository{URL: "registry.example.com"}, everywhere)
	s.AddTemplate(&Repository{URL: long}, everywhere)
	if found, _ := s.Template(long, everywhere); found == nil || found.URL != "registry.example.com" {
		t.Errorf("found %v, want the short template: the lookup is limited", found)
	}
}

func TestRepository(t *testing.T) {
	var s Set
	for _, r := range []*Repository{
		{URL: "registry.example.com", Username: "shared"},
		{URL: "Registry.example.com", Username: "team", Project: "team"},
		{URL: "192.0.2.1:5000", Username: "address"},
		{URL: "twice.example.com", Username: "one"},
		{URL: "twice.example.com", Username: "two"},
		{URL: "twice.example.com", Username: "three"},
		{URL: "same.example.com", Username: "same"},
		{URL: "same.example.com", Username: "same"},
	} {
		s.AddRepository(r, everywhere)
	}
	for _, test := range []struct {
		url, project, want string
		count              int
	}{
		{"REGISTRY.example.com", "team", "team", 1},
		{"registry.example.com", "", "shared", 1},
		{"registry.example.com", "other", "shared", 1},
		{"registry.example.com/", "team", "", 0},
		{"192.0.2.1:5000", "team", "address", 1},
		{"twice.example.com", "", "one", 2},
		{"same.example.com", "", "same", 1},
		{"", "", "", 0},
	} {
		found, count := s.Repository(test.url, test.project, everywhere)
		got := ""
		if found != nil {
			got = found.Username
		}
		if got != test.want || count != test.count {
			t.Errorf("%q of project %q: %q and %d, want %q and %d", test.url, test.project, got, count, test.want, test.count)
		}
	}
}

// Of the objects of several environments, the nearest counts.
func TestPlaces(t *testing.T) {
	at := func(namespace, directory, file string) Place {
		return Place{Namespace: namespace, Scopes: []string{directory + "/" + file, directory + "/", ""}}
	}
	var s Set
	for name, place := range map[string]Place{
		"dev":          at("argocd", "dev", "secrets"),
		"production 1": at("argocd", "production", "one"),
		"production 2": at("argocd", "production", "two"),
		"team":         at("team", "team", "secrets"),
	} {
		s.AddTemplate(&Repository{URL: "registry.example.com/", Username: name}, place)
	}
	s.AddTemplate(&Repository{URL: "registry.example.com/", Username: "without a namespace"}, at("", "base", "secrets"))
	anywhere := at("other", "other", "apps")
	anywhere.Anywhere = true
	for _, test := range []struct {
		name  string
		from  Place
		want  string
		count int
	}{
		{"same file", at("argocd", "dev", "secrets"), "dev", 1},
		{"same directory", at("argocd", "dev", "apps"), "dev", 1},
		{"same file of two in the directory", at("argocd", "production", "two"), "production 2", 1},
		{"two in the directory", at("argocd", "production", "three"), "", 2},
		{"other directory", at("argocd", "other", "apps"), "", 2},
		{"other namespace in the same directory", at("other", "dev", "secrets"), "without a namespace", 1},
		{"Secret without a namespace", at("argocd", "base", "apps"), "without a namespace", 1},
		{"object without a namespace", at("", "team", "apps"), "team", 1},
		{"anywhere", anywhere, "", 2},
	} {
		found, count := s.Template("registry.example.com/app", test.from)
		if count != test.count || count == 1 && found.Username != test.want {
			t.Errorf("%s: %+v and %d, want %q and %d", test.name, found, count, test.want, test.count)
		}
	}
}

func TestInherit(t *testing.T) {
	template := &Repository{URL: "oci://a", Type: "oci", Username: "robot", Password: "hunter2", Certificate: "c", Key: "k", Proxy: "p",
		NoProxy: "n", Insecure: true, Project: "team"}
	got := Repository{URL: "oci://a/b", EnableOCI: true, ForceHTTP: true}
	got.Inherit(template)
	want := Repository{URL: "oci://a/b", Type: "oci", Username: "robot", Password: "hunter2", Certificate: "c",
		Key: "k", Proxy: "p", NoProxy: "n"}
	if got != want {
		t.Errorf("from the template: %+v, want %+v", got, want)
	}
	got = Repository{Type: "helm", Key: "own", Proxy: "own", NoProxy: "own", Insecure: true}
	got.Inherit(&Repository{Type: "oci", Key: "k", Proxy: "p", NoProxy: "n", EnableOCI: true, ForceHTTP: true, AzureIdentity: true,
		GitCredentials: true, Unknown: true})
	want = Repository{Type: "helm", Key: "own", Proxy: "own", NoProxy: "own", Insecure: true, EnableOCI: true, ForceHTTP: true,
		AzureIdentity: true, GitCredentials: true, Unknown: true}
	if got != want {
		t.Errorf("with own values: %+v, want %+v", got, want)
	}
}

func TestHasCredentials(t *testing.T) {
	for _, r := range []Repository{{Username: "u"}, {Password: "p"}, {Certificate: "c"}, {AzureIdentity: true},
		{GitCredentials: true}, {Unknown: true}} {
		if !r.HasCredentials() {
			t.Errorf("%+v has credentials", r)
		}
	}
	none := Repository{URL: "u", Type: "oci", Project: "p", Key: "k", Proxy: "p", NoProxy: "n", EnableOCI: true,
		ForceHTTP: true, Insecure: true}
	if none.HasCredentials() {
		t.Errorf("%+v has no credentials", none)
	}
}

func TestSameHost(t *testing.T) {
	for _, test := range []struct {
		template, url string
		want          bool
	}{
		{"registry.example.com", "registry.example.com/a", true},
		{"oci://registry.example.com", "oci://Registry.example.com/a", true},
		{"registry.example.com", "registry.example.com:5000/a", true},
		{"registry.example.com:5000", "registry.example.com:5000/a", true},
		{"registry.example.com:500", "registry.example.com:5000/a", false},
		{"registry.example.com", "registry.example.com.evil.test/a", false},
		{"oci://registry", "oci://registry.example.com", false},
		{"oci://", "oci://registry.example.com", false},
	} {
		if got := SameHost(test.template, test.url); got != test.want {
			t.Errorf("SameHost(%q, %q) = %v", test.template, test.url, got)
		}
	}
}

func TestHost(t *testing.T) {
	for address, want := range map[string]string{
		"Registry.example.com/a":          "Registry.example.com",
		"oci://registry.example.com:5000": "registry.example.com:5000",
		" 192.0.2.1:5000/a\n":             "192.0.2.1:5000",
		"oci://user:hunter2@host.test/a":  "host.test",
		"oci://[2001:db8::1]:5000/a":      "[2001:db8::1]:5000",
		"oci://":                          "",
		"a b/c":                           "",
	} {
		if got := Host(address); got != want {
			t.Errorf("Host(%q) = %q, want %q", address, got, want)
		}
	}
}

func TestLonger(t *testing.T) {
	for address, want := range map[string]string{
		"registry.example.com":            "registry.example.com.example.net",
		"oci://registry.example.com:5000": "oci://registry.example.com:50000",
		"oci://registry.example.com/team": "oci://registry.example.com/team-other",
	} {
		if got := Longer(address); got != want {
			t.Errorf("Longer(%q) = %q, want %q", address, got, want)
		}
	}
}

func TestBypassesProxy(t *testing.T) {
	for _, test := range []struct {
		url, noProxy string
		want         bool
	}{
		{"oci://registry.example.com:5000/a", "", false},
		{"oci://registry.example.com:5000/a", "cluster.local, example.com", true},
		{"oci://registry.example.com:5000/a", ".example.com", true},
		{"oci://registry.example.com:5000/a", "registry.example.com:5000", true},
		{"oci://registry.example.com:5000/a", "registry.example.com", true},
		{"oci://registry.example.com:5000/a", "registry.example.com:443", false},
		{"oci://registry.example.com/a", "ample.com", false},
		{"oci://registry.example.com/a", "*", true},
		{"oci://registry.example.com/a", " , ", false},
	} {
		r := Repository{URL: test.url, Proxy: "http://proxy.test", NoProxy: test.noProxy}
		if got := r.BypassesProxy(); got != test.want {
			t.Errorf("%q without a proxy for %q: %v", test.url, test.noProxy, got)
		}
	}
	if r := (Repository{URL: "oci://registry.example.com"}); !r.BypassesProxy() {
		t.Error("a repository without a proxy uses one")
	}
}
