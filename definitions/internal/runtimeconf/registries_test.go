package runtimeconf

import "testing"

// TestNamesOfImages distinguishes names with a registry from short ones.
func TestNamesOfImages(t *testing.T) {
	for name, want := range map[string]struct{ short, repository bool }{
		"nginx":              {true, false},
		"library/nginx":      {true, false},
		"one.test/nginx":     {false, true},
		"localhost/nginx":    {false, true},
		"localhost:5000/a/b": {false, true},
		"one/nginx":          {true, false},
		"one.test":           {true, false},
		"localhost":          {true, false},
		"one.test/":          {false, false},
		"one.test/Nginx":     {false, false},
		"-one.test/nginx":    {false, false},
		"Nginx":              {false, false},
		"[::1]:5000/nginx":   {false, true},
	} {
		if short, repository := isShortName(name), isRepository(name); short != want.short || repository != want.repository {
			t.Errorf("%s: short %t, repository %t", name, short, repository)
		}
	}
}

// TestVersionsOfRegistries: each table alone is of its version.
func TestVersionsOfRegistries(t *testing.T) {
	var list Registries
	for _, tt := range []struct {
		name     string
		set      func(*Registries)
		one, two bool
	}{
		{"nothing", func(*Registries) {}, false, false},
		{"registries", func(c *Registries) { c.Registries = make([]Registry, 1) }, false, true},
		{"unqualified-search-registries", func(c *Registries) { c.Unqualified = []string{"a"} }, false, true},
		{"credential-helpers", func(c *Registries) { c.CredentialHelpers = []string{"a"} }, false, true},
		{"aliases", func(c *Registries) { c.Aliases = map[string]string{"a": "b"} }, false, true},
		{"short-name-mode", func(c *Registries) { c.ShortNameMode = "enforcing" }, false, true},
		{"search", func(c *Registries) { c.Lists.Search.Registries = []string{"a"} }, true, false},
		{"insecure", func(c *Registries) { c.Lists.Insecure.Registries = []string{"a"} }, true, false},
		{"block", func(c *Registries) { c.Lists.Block.Registries = []string{"a"} }, true, false},
	} {
		c := list
		if tt.set(&c); c.version1() != tt.one || c.version2() != tt.two {
			t.Errorf("%s: version 1 %t, version 2 %t", tt.name, c.version1(), c.version2())
		}
	}
}

// TestProblemsOfARegistry: a scheme in either of the two is one.
func TestProblemsOfARegistry(t *testing.T) {
	for _, tt := range []struct {
		location, prefix string
		ok               bool
	}{
		{"one.test", "one.test", true}, {"https://one.test", "one.test", false}, {"one.test", "https://one.test", false},
		{"http://one.test", "http://one.test", false}, {"", "one.test", false}, {"", "*.one.test", true}, {"one.test", "", false},
		{"", "*.one.test/a", false},
	} {
		r := Registry{Prefix: tt.prefix}
		r.Location = tt.location
		if problem := r.problem(); (problem == "") != tt.ok {
			t.Errorf("location %q, prefix %q: %q", tt.location, tt.prefix, problem)
		}
	}
}

// TestFilePairs reads client certificates in each form that containerd knows.
func TestFilePairs(t *testing.T) {
	pair := []any{"a", "b"}
	for _, tt := range []struct {
		value any
		count int // -1 for an error
	}{
		{nil, 0}, {"a", 1}, {[]any{"a", "b"}, 2}, {[]any{pair, "c"}, 2}, {5, -1}, {[]any{5}, -1}, {[]any{[]any{"a"}}, -1},
		{[]any{[]any{"a", 5}}, -1}, {[]any{[]any{"a", "b", "c"}}, -1},
	} {
		pairs, err := FilePairs(tt.value)
		if (err != nil) != (tt.count < 0) || err == nil && len(pairs) != tt.count {
			t.Errorf("%v: %v, %v", tt.value, pairs, err)
		}
	}
}
