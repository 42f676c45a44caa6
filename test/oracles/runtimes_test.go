package oracles_test

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/containerd/v2/core/remotes/docker"
	containerd "github.com/containerd/containerd/v2/core/remotes/docker/config"
	"github.com/containerd/log"
	"github.com/regwarden/regwarden/definitions"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/test/testca"
	"go.podman.io/image/v5/docker/reference"
	"go.podman.io/image/v5/pkg/sysregistriesv2"
	"go.podman.io/image/v5/types"
	"pgregory.net/rapid"
)

const generatedFiles = 300

// readTree reads a directory as a scan does, without the definitions that the consumer does not use.
func readTree(t *testing.T, dir string) model.Result {
	t.Helper()
	result, err := definitions.Read(t.Context(), os.DirFS(dir), model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	result.Registries = slices.DeleteFunc(result.Registries, func(r model.Registry) bool {
		return notice(r, model.NoticeNotUsedByConsumer) != "" &&
			!strings.Contains(notice(r, model.NoticeNotUsedByConsumer), "hosts.toml is in the same")
	})
	return result
}

// notice returns the message of a notice, "" if the definition has none.
func notice(r model.Registry, code model.NoticeCode) string {
	for _, n := range r.Notices {
		if n.Code == code {
			return n.Message
		}
	}
	return ""
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// maybe returns one of the texts, or "" with about the given probability in percent.
func maybe(t *rapid.T, none int, texts ...string) string {
	if rapid.IntRange(0, 99).Draw(t, "none") < none {
		return ""
	}
	return rapid.SampledFrom(texts).Draw(t, "text")
}

// hostsTable generates the settings of a host of hosts.toml. About one in ten is wrong.
func hostsTable(t *rapid.T) string {
	if wrong := maybe(t, 85, `capabilities = ["pull", "lis"]`, `ca = [["ca.crt"]]`, `client = [["client.cert"]]`, `client = 1`,
		`skip_verify = "no"`, `header = {x = 1}`,
		`dial_timeout = "5"`, `capabilities`, `ca = "missing.crt"`, `client = "ca.crt"`); wrong != "" {
		return wrong + "\n"
	}
	return lines(
		maybe(t, 50, `capabilities = ["pull", "resolve"]`, `capabilities = ["Pull"]`, `capabilities = []`),
		maybe(t, 50, `ca = "ca.crt"`, `ca = ["ca.crt", "other.pem"]`, `ca = []`),
		maybe(t, 60, `client = "both.pem"`, `client = ["both.pem"]`, `client = [["client.cert", "client.key"]]`, `client = []`),
		maybe(t, 60, `skip_verify = true`, `skip_verify = false`),
		maybe(t, 70, `override_path = true`),
		maybe(t, 80, `header = {x-a = "b", x-c = ["d"]}`),
		maybe(t, 90, `dial_timeout = "5s"`),
	)
}

// lines joins the lines that are not empty.
func lines(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "\n") + "\n"
}

// hostsTOML generates a directory's name and its hosts.toml.
var hostsTOML = rapid.Custom(func(t *rapid.T) [2]string {
	addresses := []string{"https://a.test", "http://b.test", "https://c.test:5000/path", "https://d.test/v2/proxy/", "http://e.test:80",
		"f.test", "http://g.test:8080/v2",
		"https://h.test/x/../y", "localhost:5000", "http://127.0.0.1:5000", "https://user@i.test", "httpd.test", "ftp://j.test",
		"https://", "httpx://l.test"}
	text := maybe(t, 40, `server = "https://a.test"`, `server = "http://server.test:5000"`, `server = "server.test/base"`,
		maybe(t, 90, `server = "https://%"`)) + "\n"
	if rapid.Bool().Draw(t, "settings of the server") {
		text += hostsTable(t)
	}
	if rapid.IntRange(0, 19).Draw(t, "wrong address") == 0 {
		addresses = []string{"https://k test", "https://m.test"}
	}
	chosen := rapid.Permutation(addresses).Draw(t, "order")
	for _, address := range chosen[:rapid.IntRange(0, min(3, len(addresses))).Draw(t, "hosts")] {
		switch rapid.IntRange(0, 9).Draw(t, "form") {
		case 0:
			text += fmt.Sprintf("[host]\n%q = {capabilities = [\"pull\"]}\n", address)
		case 1:
			text += fmt.Sprintf("[host.%q.header]\nx-a = \"b\"\n[host.%q]\n%s", address, address, hostsTable(t))
		default:
			text += fmt.Sprintf("[host.%q]\n%s", address, hostsTable(t))
		}
	}
	return [2]string{rapid.SampledFrom([]string{"docker.io", "registry.test", "registry.test_5000_", "registry.test:5000", "localhost:5000",
		"localhost:80", "127.0.0.1"}).Draw(t, "directory"), text}
})

// Every generated hosts.toml is read by containerd's own package. Where both know a host, they agree on the address, its path, TLS and its
// order. The differences that are meant: our definitions have no host of a scheme that is not HTTP and none without a name, which
// containerd accepts and fails to use; and where containerd fails to load a certificate, ours is unresolved.
func TestHostsLikeContainerd(t *testing.T) {
	if err := log.SetLevel("fatal"); err != nil {
		t.Fatal(err)
	}
	ca := testca.New(t, "oracle")
	client := ca.Issue(t, testca.Options{Client: true})
	rejected, failed, compared := 0, 0, 0
	for seed := range generatedFiles {
		made := hostsTOML.Example(seed)
		root := t.TempDir()
		dir := filepath.Join(root, "certs.d", made[0])
		for name, text := range map[string]string{"hosts.toml": made[1], "ca.crt": ca.PEM(), "other.pem": ca.PEM(),
			"client.cert": client.Certificate, "client.key": client.Key, "both.pem": client.Certificate + client.Key} {
			write(t, filepath.Join(dir, name), text)
		}
		ours := readTree(t, root)
		host := made[0]
		if name, ok := strings.CutSuffix(host, "_5000_"); ok {
			host = name + ":5000"
		}
		theirs, err := containerd.ConfigureHosts(t.Context(),
			containerd.HostOptions{HostDir: func(string) (string, error) { return dir, nil }})(host)
		if err != nil {
			failed++
			// containerd reads certificates that it does not use.
			plain := strings.Contains(made[0]+made[1], "test:80\"") || made[0] == "localhost:80"
			if !plain && !slices.ContainsFunc(ours.Registries, func(r model.Registry) bool { return r.Resolution == model.Unresolved }) &&
				len(ours.Problems) == 0 {
				t.Errorf("containerd: %v; ours has no problem\n%s", err, made[1])
			}
			continue
		}
		var want, got []string
		for _, h := range theirs {
			if text := describeHost(h); text != "" && !slices.Contains(want, text) {
				want = append(want, text)
			}
		}
		for _, r := range ours.Registries {
			if text := describeDefinition(r); !slices.Contains(got, text) {
				got = append(got, text)
			}
		}
		compared++
		if slices.ContainsFunc(ours.Problems,
			func(p model.Problem) bool { return strings.Contains(p.Message, "containerd only logs this") }) {
			rejected++
		}
		if !slices.Equal(want, got) {
			t.Errorf("directory %s\n%s\ncontainerd:\n  %s\nours:\n  %s\nproblems: %v", made[0], made[1], strings.Join(want, "\n  "),
				strings.Join(got, "\n  "), ours.Problems)
		}
	}
	t.Logf("%d files compared, %d of them rejected by both, and %d with which containerd fails", compared, rejected, failed)
	if compared < 200 || rejected < 20 || failed < 5 {
		t.Error("too few files of a kind")
	}
}

// describeHost describes how containerd connects, "" if it cannot.
func describeHost(h docker.RegistryHost) string {
	if h.Scheme != "http" && h.Scheme != "https" || h.Host == "" {
		return ""
	}
	text := h.Scheme + "://" + h.Host + strings.TrimSuffix(h.Path, "/")
	transport, direct := h.Client.Transport.(*http.Transport)
	switch {
	case !direct:
		text += " fallback"
	case h.Scheme == "https":
		text += fmt.Sprintf(" skip=%v ca=%v client=%v", transport.TLSClientConfig.InsecureSkipVerify,
			trustsMore(transport.TLSClientConfig.RootCAs),
			len(transport.TLSClientConfig.Certificates) > 0)
	}
	return text
}

// trustsMore reports whether a pool has more than the CAs of the system.
func trustsMore(pool *x509.CertPool) bool {
	system, err := x509.SystemCertPool()
	return pool != nil && (err != nil || !pool.Equal(system))
}

func describeDefinition(r model.Registry) string {
	d := r.Definition
	path := strings.TrimSuffix("/"+d.BasePath, "/")
	if !strings.Contains(notice(r, model.NoticeOverridePath), "without adding /v2") {
		path += "/v2"
	}
	if d.BaseContentPath != "" {
		path += "/" + d.BaseContentPath
	}
	text := d.Endpoint + path
	tls := d.Auth.TLS
	switch {
	case notice(r, model.NoticePlainHTTPFallback) != "":
		text += " fallback"
	case strings.HasPrefix(d.Endpoint, "https:"):
		text += fmt.Sprintf(" skip=%v ca=%v client=%v", tls.InsecureSkipVerify, tls.CA != "", tls.Certificate != "")
	}
	return text
}

// registriesConf generates a registries.conf of version 2. Some are allowed to have wrong values.
var registriesConf = rapid.Custom(func(t *rapid.T) string {
	mayBeWrong := rapid.IntRange(0, 2).Draw(t, "wrong") == 0
	with := func(values []string, wrong ...string) []string {
		if mayBeWrong {
			return append(slices.Clone(values), wrong...)
		}
		return values
	}
	locations := []string{"a.test", "b.test:5000", "c.test/team", "d.test/team/", "docker.io/library", "localhost",
		"localhost:5000", "e.test", "f.test/a/b"}
	prefixes := []string{"a.test", "p.test/x", "*.w.test", "p.test/", "r.test:1", "s.test/a", "t.test"}
	text := lines(
		maybe(t, 60, with([]string{`unqualified-search-registries = ["a.test", "docker.io"]`, `unqualified-search-registries = []`},
			`unqualified-search-registries = ["a.test/x"]`,
			`unqualified-search-registries = ["https://a.test"]`, `unqualified-search-registries = [""]`,
			`unqualified-search-registries = ["-a.test"]`)...),
		maybe(t, 80, with([]string{`short-name-mode = "enforcing"`}, `short-name-mode = "maybe"`)...))
	for range rapid.IntRange(0, 4).Draw(t, "registries") {
		text += "[[registry]]\n" + lines(
			maybe(t, len(with(nil, "", "", "")), quoted("location", with(locations, "http://g.test"))...),
			maybe(t, 60, quoted("prefix", with(prefixes, "*.w.test/x", "http://q.test"))...),
			maybe(t, 90, with([]string{"insecure = true", "insecure = false"}, `insecure = "yes"`)...),
			maybe(t, 90, "blocked = true", "blocked = false"),
			maybe(t, 100-len(with(nil, "", "", "", "")), `pull-from-mirror = "all"`, `location = 1`, "mirror-by-digest-only = true"),
		)
		for range rapid.IntRange(0, 2).Draw(t, "mirrors") {
			text += "[[registry.mirror]]\n" + lines(
				maybe(t, len(with(nil, "", "", "")), quoted("location", append(locations, "m.test/x"))...),
				maybe(t, 70, "insecure = true"),
				maybe(t, 85, with([]string{`pull-from-mirror = "all"`, `pull-from-mirror = "digest-only"`, `pull-from-mirror = "tag-only"`},
					`pull-from-mirror = "never"`)...),
			)
		}
	}
	if alias := maybe(t, 70, with([]string{`"x" = "a.test/x"`, `"x/y" = "docker.io/x"`, `"x" = ""`, `"x" = "localhost/x"`},
		`"x:1" = "a.test/x"`, `"x" = "a/x"`,
		`"a.test/x" = "b.test/x"`, `"x" = "a.test/x:1"`, `"X" = "a.test/x"`, `"x" = "a.test"`)...); alias != "" {
		text += "[aliases]\n" + alias + "\n"
	}
	return text
})

func quoted(key string, values []string) (lines []string) {
	for _, value := range values {
		lines = append(lines, fmt.Sprintf("%s = %q", key, value))
	}
	return lines
}

// Every generated registries.conf is read by containers/image's own package, alone and with a drop-in. Both reject the same files.
// Otherwise our definitions are what it contacts for images of each prefix, and for short names. Version 1 is not generated: that package
// rejects it, and our definitions have its hosts for older programs.
func TestRegistriesConfLikeContainersImage(t *testing.T) {
	rejected, compared := 0, 0
	for seed := range generatedFiles {
		root := t.TempDir()
		conf, dropIns := filepath.Join(root, "registries.conf"), filepath.Join(root, "registries.conf.d")
		text := registriesConf.Example(seed)
		write(t, conf, text)
		write(t, filepath.Join(dropIns, "50-more.conf"), "")
		if seed%2 == 1 {
			more := registriesConf.Example(seed + generatedFiles)
			write(t, filepath.Join(dropIns, "50-more.conf"), more)
			text += "\n--- drop-in\n" + more
		}
		system := &types.SystemContext{SystemRegistriesConfPath: conf, SystemRegistriesConfDirPath: dropIns}
		ours := readTree(t, root)
		_, err := sysregistriesv2.TryUpdatingCache(system)
		if (err != nil) != (len(ours.Problems) > 0) {
			t.Errorf("%s\ncontainers/image: %v\nours: %v", text, err, ours.Problems)
		}
		if err != nil {
			rejected++
			continue
		}
		compared++
		want, got := contacted(t, system), located(ours)
		if !slices.Equal(want, got) {
			t.Errorf("%s\ncontainers/image:\n  %s\nours:\n  %s", text, strings.Join(want, "\n  "), strings.Join(got, "\n  "))
		}
	}
	t.Logf("%d files rejected by both, %d compared", rejected, compared)
	if rejected < 50 || compared < 100 {
		t.Error("too few files of a kind")
	}
}

// contacted returns what containers/image contacts for the images of each prefix and for short names.
func contacted(t *testing.T, system *types.SystemContext) (places []string) {
	t.Helper()
	registries, err := sysregistriesv2.GetRegistries(system)
	if err != nil {
		t.Fatal(err)
	}
	search, err := sysregistriesv2.UnqualifiedSearchRegistries(system)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range search {
		if !slices.ContainsFunc(registries, func(r sysregistriesv2.Registry) bool { return r.Prefix == host }) {
			places = append(places, place(host, false))
		}
	}
	for _, r := range registries {
		if r.Blocked {
			continue
		}
		endpoints := r.Mirrors
		if r.Location != "" {
			endpoints = append(endpoints, r.Endpoint)
		}
		for _, e := range endpoints {
			places = append(places, place(e.Location, e.Insecure))
		}
		checkRewriting(t, r)
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// checkRewriting holds that an image of a prefix is requested below the location, as our definitions have it.
func checkRewriting(t *testing.T, r sysregistriesv2.Registry) {
	t.Helper()
	if strings.HasPrefix(r.Prefix, "*") || !strings.ContainsAny(r.Prefix, ".:") {
		return
	}
	image, err := reference.ParseNamed(r.Prefix + "/image:tag")
	if err != nil {
		return
	}
	sources, err := r.PullSourcesFromReference(image)
	if err != nil {
		t.Fatal(image, r, err)
	}
	for _, source := range sources {
		if want := source.Endpoint.Location + "/image:tag"; source.Reference.String() != want {
			t.Errorf("%s is requested as %s, not %s", image, source.Reference, want)
		}
	}
}

func place(location string, insecure bool) string {
	host, path, _ := strings.Cut(location, "/")
	if host == "docker.io" {
		host = "registry-1.docker.io"
	}
	return fmt.Sprintf("%s %s insecure=%v", host, path, insecure)
}

func located(ours model.Result) (places []string) {
	for _, r := range ours.Registries {
		places = append(places, fmt.Sprintf("%s %s insecure=%v", strings.TrimPrefix(r.Definition.Endpoint, "https://"),
			r.Definition.BaseContentPath,
			notice(r, model.NoticePlainHTTPFallback) != ""))
	}
	slices.Sort(places)
	return slices.Compact(places)
}
