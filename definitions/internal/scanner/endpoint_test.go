package scanner

import (
	"strings"
	"testing"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

// TestReadAddress reads addresses as users write them.
func TestReadAddress(t *testing.T) {
	for text, want := range map[string]struct {
		endpoint, path string
		reason         model.SkipReason
	}{
		"one.test":                  {"https://one.test", "", ""},
		" One.test:5000/a/b/ ":      {"https://one.test:5000", "a/b", ""},
		"oci://one.test/a":          {"https://one.test", "a", ""},
		"HTTP://one.test":           {"http://one.test", "", ""},
		"https://u:p@one.test/a@b":  {"https://one.test", "a@b", ""},
		"@one.test":                 {"https://one.test", "", ""},
		"https://one.test?a=b":      {"https://one.test", "", ""},
		"https://one.test/a#b/c":    {"https://one.test", "a", ""},
		"*.one.test":                {"", "", model.SkipWildcard},
		"":                          {"", "", model.SkipNoHost},
		"?a":                        {"", "", model.SkipNoHost},
		"https:///a":                {"", "", model.SkipNoHost},
		"one test":                  {"", "", model.SkipNoHost},
		"${HOST}/a":                 {"", "", model.SkipNoHost},
		"..":                        {"", "", model.SkipNoHost},
		":/a":                       {"", "", model.SkipNoHost},
		"ftp://one.test":            {"", "", model.SkipUnsupportedScheme},
		"git@one.test:acme/app.git": {"https://one.test:acme", "app.git", ""},
	} {
		if endpoint, path, reason := ReadAddress(text); endpoint != want.endpoint || path != want.path || reason != want.reason {
			t.Errorf("%q: %s %s %s, want %+v", text, endpoint, path, reason, want)
		}
	}
}

// TestNamesOnDockerHub: an image without a namespace is in "library" there; a prefix of images is as it is written.
func TestNamesOnDockerHub(t *testing.T) {
	for text, want := range map[string]struct{ host, path, prefix string }{
		"redis:7":                      {"docker.io", "library/redis", "library/redis"},
		"docker.io/redis:7":            {"docker.io", "library/redis", "redis"},
		"index.docker.io/redis@sha256": {"index.docker.io", "library/redis", "redis"},
		"docker.io/acme/app":           {"docker.io", "acme/app", "acme/app"},
		"acme/app":                     {"docker.io", "acme/app", "acme/app"},
		"docker.io/":                   {"docker.io", "", ""},
		"one.test/redis":               {"one.test", "redis", "redis"},
	} {
		host, path := SplitReference(text)
		hostOfPrefix, prefix := SplitPrefix(text)
		if host != want.host || hostOfPrefix != want.host || path != want.path || prefix != want.prefix {
			t.Errorf("%q: %s %s, as a prefix %s %s; want %+v", text, host, path, hostOfPrefix, prefix, want)
		}
	}
}

// TestKindsOfHosts: those of AWS, and those that may have no TLS.
func TestKindsOfHosts(t *testing.T) {
	for host, want := range map[string]struct{ ecr, local bool }{
		"1.dkr.ecr.eu-west-1.amazonaws.com":         {true, false},
		"1.dkr.ecr-fips.us-gov-1.amazonaws.com":     {true, false},
		"https://1.dkr.ecr.cn-1.amazonaws.com.cn/a": {true, false},
		"public.ecr.aws":                            {true, false},
		"1.dkr.ecr.test":                            {false, false},
		"s3.amazonaws.com":                          {false, false},
		"localhost:5000":                            {false, true},
		"a.localhost":                               {false, true},
		"127.0.0.1":                                 {false, true},
		"[::1]:5000":                                {false, true},
		"10.0.0.1":                                  {false, true},
		"10.0.0.1:5000":                             {false, true},
		"192.0.2.1":                                 {false, false},
		"[fd00::1]:5000":                            {false, false},
		"one.test":                                  {false, false},
	} {
		if ecr, local := IsECR(host), IsLocal(host); ecr != want.ecr || local != want.local {
			t.Errorf("%s: ECR %t, local %t", host, ecr, local)
		}
	}
}

// TestTextsOfADefinition counts each text once, and its own ones more.
func TestTextsOfADefinition(t *testing.T) {
	auth := &regcheck.Auth{Username: "1", Password: "22", Token: "4444", TLS: regcheck.TLS{CA: "88888888", Certificate: "aaaaaaaaaaaaaaaa",
		Key: "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}}
	r := model.Registry{Definition: regcheck.Definition{Endpoint: "1", BasePath: "22", BaseContentPath: "4444", Auth: auth},
		Detail: "88888888", Notices: []model.Notice{{Message: "aaaaaaaaaaaaaaaa"}}}
	if got := textOf(&r); got != 63+31*costOfOwnText {
		t.Errorf("%d bytes", got)
	}
}

// TestBudgetGrowsWithTheFiles, as its problems say.
func TestBudgetGrowsWithTheFiles(t *testing.T) {
	s := New(model.Options{})
	s.bytes = 1 << 20
	s.Afford(model.Source{}, 2_000_000)
	r := &model.Registry{Sources: make([]model.Source, 1), Definition: regcheck.Definition{Auth: &regcheck.Auth{}}}
	s.budget.exceeded, s.budget.text = false, 100<<20
	s.affordDefinition(r)
	for i, want := range []string{"more than 1148576 times", "more than 48 MiB"} {
		if i >= len(s.result.Problems) || !strings.Contains(s.result.Problems[i].Message, want) {
			t.Errorf("problems %v, want %q", s.result.Problems, want)
		}
	}
}

// TestBudgetUpToTheLimit: as much as the size of the files allows, and then nothing more.
func TestBudgetUpToTheLimit(t *testing.T) {
	for more, want := range map[int]bool{0: true, 1: false} {
		s := New(model.Options{})
		s.bytes = 100
		if got := s.Afford(model.Source{}, baseLookups+s.bytes+more); got != want || len(s.result.Problems) != more {
			t.Errorf("%d more: %t, %v", more, got, s.result.Problems)
		}
		r := &model.Registry{Sources: make([]model.Source, 1), Definition: regcheck.Definition{Auth: &regcheck.Auth{Username: "x"}}}
		s = New(model.Options{})
		s.bytes, s.budget.text = 100, baseText+textPerByte*100-1+more
		if got := s.affordDefinition(r); got != want || len(s.result.Problems) != more {
			t.Errorf("%d more bytes: %t, %v", more, got, s.result.Problems)
		}
	}
}
