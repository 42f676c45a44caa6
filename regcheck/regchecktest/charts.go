package regchecktest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// Chart repositories: an index.yaml and archives, as ChartMuseum, Artifactory, Nexus, Pages and others serve them.

// packedCharts has the archives by their Chart.yaml: each server of the table has some, and compressing takes longer than a check.
var packedCharts sync.Map

// packedChart returns a small archive of a chart.
func packedChart(name, version string) []byte {
	text := fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %s\n", name, version)
	if known, ok := packedCharts.Load(text); ok {
		return known.([]byte)
	}
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	files := tar.NewWriter(packed)
	_ = files.WriteHeader(&tar.Header{Name: name + "/Chart.yaml", Mode: 0o644, Size: int64(len(text))})
	_, _ = files.Write([]byte(text))
	_, _ = files.Close(), packed.Close()
	packedCharts.Store(text, out.Bytes())
	return out.Bytes()
}

// chartEntry returns a version in an index.
func chartEntry(name, version, created, url string) string {
	digest := sha256.Sum256(packedChart(name, version))
	return fmt.Sprintf("  - apiVersion: v2\n    created: %q\n    digest: %s\n    name: %s\n    urls:\n    - %s\n    version: %s\n", created,
		hex.EncodeToString(digest[:]), name, url, version)
}

// chartIndex is the index of a repository whose archives are at a base, which is empty or ends in a slash.
func chartIndex(base string) string {
	return "apiVersion: v1\nentries:\n  nginx:\n" +
		chartEntry("nginx", "1.2.3", "2026-03-01T00:00:00Z", base+"nginx-1.2.3.tgz") +
		chartEntry("nginx", "1.2.0", "2026-01-01T00:00:00Z", base+"nginx-1.2.0.tgz") +
		chartEntry("nginx", "2.0.0-rc.1", "2026-02-01T00:00:00Z", base+"nginx-2.0.0-rc.1.tgz") +
		"  redis:\n" + chartEntry("redis", "18.0.0", "2026-02-02T00:00:00Z", base+"redis-18.0.0.tgz") +
		"generated: \"2026-03-01T00:00:00Z\"\n"
}

// charts is a chart repository.
type charts struct {
	index    string                                   // chartIndex("") if empty
	base     string                                   // path of the index and the archives, with its slash; "/" if empty
	missing  string                                   // archives whose path contains this do not exist
	other    map[string]http.Handler                  // paths with another response
	admit    func(r *http.Request, archive bool) bool // nil: everybody
	refuse   func(w http.ResponseWriter, known bool)  // known: the caller sent credentials
	notFound http.Handler
}

func (c charts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	base := c.base
	if base == "" {
		base = "/"
	}
	if other := c.other[r.URL.Path]; other != nil {
		other.ServeHTTP(w, r)
		return
	}
	path, inside := strings.CutPrefix(r.URL.Path, base)
	archive := strings.HasSuffix(path, ".tgz")
	if !inside || path != "index.yaml" && !archive || archive && c.missing != "" && strings.Contains(path, c.missing) {
		if c.notFound != nil {
			c.notFound.ServeHTTP(w, r)
			return
		}
		http.NotFound(w, r)
		return
	}
	if c.admit != nil && !c.admit(r, archive) {
		c.refuse(w, r.Header.Get("Authorization") != "")
		return
	}
	body := []byte(c.index)
	if archive {
		name, version, _ := strings.Cut(strings.TrimSuffix(path[strings.LastIndexByte(path, '/')+1:], ".tgz"), "-")
		body = packedChart(name, version)
	} else if c.index == "" {
		body = []byte(chartIndex(""))
	}
	(&visit{w: w, r: r}).send(http.StatusOK, "application/octet-stream", string(body))
}

// basicOnly admits the accounts, and refuses as ChartMuseum does.
func basicOnly(c charts) charts {
	c.admit = func(r *http.Request, _ bool) bool { _, _, good := basicCaller(r); return good }
	return refusing(c, `Basic realm="ChartMuseum"`, http.StatusUnauthorized)
}

// refusing refuses with a challenge, and known callers with a status.
func refusing(c charts, challenge string, known int) charts {
	c.refuse = func(w http.ResponseWriter, isKnown bool) {
		status := http.StatusUnauthorized
		if isKnown {
			status = known
		}
		if challenge != "" && status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", challenge)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"error":"unauthorized"}`))
	}
	return c
}

// notFoundPage serves a page with headers and the status 404.
func notFoundPage(body string, headers ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(body))
	})
}

// chartsOnOtherHost puts archives onto https://other.test, and the index onto the endpoint.
func (g *Registry) chartsOnOtherHost(index, archives http.Handler, trusted bool) {
	config := g.tls(leaf{names: []string{"other.test"}})
	g.start(&site{host: "other.test:443", tls: config, handler: archives, trusted: trusted})
	g.at(index)
}

func chartServers() map[string]builder {
	all := map[string]builder{}
	for name, c := range chartHandlers() {
		all["charts-"+name] = func(g *Registry) { g.at(c) }
	}
	all["charts-http"] = func(g *Registry) { g.plainAt(basicOnly(charts{})) }
	all["charts-http2"] = func(g *Registry) {
		config := g.tls(leaf{})
		g.start(&site{host: "registry.test:443", tls: config, handler: basicOnly(charts{}), trusted: true, endpoint: true,
			http2: true})
	}
	all["charts-on-registry"] = func(g *Registry) { g.at(g.htpasswdRegistry("Registry Realm")) }
	otherHost := charts{index: chartIndex("https://other.test/")}
	all["charts-archives-other-host"] = func(g *Registry) { g.chartsOnOtherHost(basicOnly(otherHost), charts{}, false) }
	all["charts-archives-misnamed"] = func(g *Registry) {
		g.start(&site{host: "other.test:443", tls: g.tls(leaf{names: []string{"cdn.test"}}), handler: charts{}})
		g.at(basicOnly(otherHost))
	}
	all["charts-archives-other-host-private"] = func(g *Registry) {
		g.chartsOnOtherHost(basicOnly(otherHost), basicOnly(charts{}), true)
	}
	all["charts-archives-redirected"] = func(g *Registry) {
		storage := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://other.test"+r.URL.Path+"?X-Amz-Signature=s", http.StatusFound)
		})
		index := basicOnly(charts{other: map[string]http.Handler{"/nginx-1.2.3.tgz": storage}})
		g.chartsOnOtherHost(index, charts{}, false)
	}
	all["charts-archives-redirected-denied"] = func(g *Registry) {
		bucket := status(http.StatusForbidden, "application/xml", "<Error><Code>AccessDenied</Code></Error>")
		index := basicOnly(charts{other: map[string]http.Handler{"/nginx-1.2.3.tgz": http.HandlerFunc(moved)}})
		g.chartsOnOtherHost(index, bucket, false)
	}
	all["charts-archives-other-host-denied"] = func(g *Registry) {
		g.chartsOnOtherHost(basicOnly(otherHost), refusing(charts{admit: func(*http.Request, bool) bool { return false }}, "", 403), true)
	}
	all["charts-moved"] = func(g *Registry) {
		g.chartsOnOtherHost(http.HandlerFunc(moved), charts{}, false)
	}
	all["charts-moved-private"] = func(g *Registry) {
		g.chartsOnOtherHost(http.HandlerFunc(moved), basicOnly(charts{}), false)
	}
	return all
}

// moved redirects to the same path on another host.
func moved(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "https://other.test"+r.URL.Path, http.StatusMovedPermanently)
}

// chartHandlers has the repositories of one host.
func chartHandlers() map[string]http.Handler {
	index := func(text string) http.Handler { return charts{index: text} }
	entry := "apiVersion: v1\nentries:\n  nginx:\n" + chartEntry("nginx", "1.2.3", "2026-03-01T00:00:00Z", "nginx-1.2.3.tgz")
	return map[string]http.Handler{
		"open":         charts{},
		"subpath":      charts{base: "/stable/charts/"},
		"basic":        basicOnly(charts{}),
		"behind-basic": behindBasic(charts{base: "/stable/"}),
		"absolute":     index(chartIndex("https://registry.test/files/")),
		"json": index(`{"apiVersion":"v1","new":1,"entries":{"nginx":[{"name":"nginx","version":"1.2.3",` +
			`"urls":["nginx-1.2.3.tgz"]}]}}`),
		"empty":       index("apiVersion: v1\nentries: {}\ngenerated: \"2026-03-01T00:00:00Z\"\nserverInfo: {}\n"),
		"no-body":     status(http.StatusOK, "text/yaml", ""),
		"no-version":  index(strings.TrimPrefix(chartIndex(""), "apiVersion: v1\n")),
		"conflict":    index("<<<<<<< HEAD\n" + chartIndex("")),
		"merge":       index(strings.Replace(chartIndex(""), "  redis:\n", "=======\n  redis:\n", 1)),
		"unknown":     index(entry + "    chartSource: git\n"),
		"bad-time":    index(strings.Replace(chartIndex(""), "2026-02-02T00:00:00Z", "yesterday", 1)),
		"twice":       index(chartIndex("") + "entries: {}\n"),
		"long-names":  index(entry + longNames()),
		"too-large":   endlessIndex(),
		"cut":         http.HandlerFunc(cutIndex),
		"login-page":  page200("text/html", portalPage),
		"unavailable": status(http.StatusServiceUnavailable, "text/plain", "maintenance"),
		"forbidden":   status(http.StatusForbidden, "application/xml", "<Error><Code>AccessDenied</Code></Error>"),
		"no-content":  status(http.StatusNoContent, "", ""),
		"limited":     limited("120"),

		"chartmuseum": charts{base: "/org/repo/", notFound: notFoundPage(`{"error":"not found"}`, "Content-Type", "application/json")},
		"nexus": charts{base: "/repository/helm/", notFound: notFoundPage("<html><title>404 - Nexus Repository Manager</title>",
			"Server", "Nexus/3.70")},
		"artifactory": charts{base: "/artifactory/api/helm/charts/", notFound: notFoundPage(
			`{"errors":[{"status":404,"message":"Not Found"}]}`, "X-JFrog-Version", "Artifactory/7.90")},
		"pages": notFoundPage("<html><title>Site not found &middot; GitHub Pages</title>There isn't a GitHub Pages site here.", "Server",
			"GitHub.com", "Content-Type", "text/html"),
		"gitlab": charts{base: "/api/v4/projects/7/packages/helm/stable/", notFound: notFoundPage(`{"message":"404 Project Not Found"}`,
			"X-Gitlab-Meta", "{}"), admit: func(r *http.Request, _ bool) bool { _, _, good := basicCaller(r); return good },
			refuse: func(w http.ResponseWriter, known bool) {
				code := 404
				if known {
					code = 401
				}
				http.Error(w, `{"message":"404 Project Not Found"}`, code)
			}},
		"digest": refusing(charts{admit: func(*http.Request, bool) bool { return false }}, `Digest realm="x", nonce="1"`, 401),
		"expired": charts{admit: func(r *http.Request, _ bool) bool { return false }, refuse: func(w http.ResponseWriter, _ bool) {
			http.Error(w, "the token has expired", http.StatusUnauthorized)
		}},
		"robot-only": refusing(charts{admit: func(r *http.Request, _ bool) bool { name, _, _ := r.BasicAuth(); return name == RobotUser }},
			`Basic realm="x"`, http.StatusForbidden),
		"bearer": refusing(charts{admit: func(r *http.Request, _ bool) bool { return bearerText(r) == Token }}, "Bearer", 401),
		"open-checks": refusing(charts{admit: func(r *http.Request, _ bool) bool { _, sent, good := basicCaller(r); return good || !sent }},
			`Basic realm="x"`, 401),
		"private-archives": refusing(charts{admit: func(r *http.Request, archive bool) bool { return !archive }}, `Basic realm="x"`, 403),

		"archive-missing":       charts{missing: "nginx-1.2.3"},
		"archives-missing":      charts{missing: "-"},
		"archive-page":          charts{other: map[string]http.Handler{"/nginx-1.2.3.tgz": page200("text/html", portalPage)}},
		"archive-unavailable":   charts{other: map[string]http.Handler{"/nginx-1.2.3.tgz": status(502, "text/plain", "")}},
		"archive-encoded":       charts{other: map[string]http.Handler{"/nginx-1.2.3.tgz": encoded(packedChart("nginx", "1.2.3"))}},
		"archive-encoded-twice": charts{other: map[string]http.Handler{"/nginx-1.2.3.tgz": encoded(packed(packedChart("nginx", "1.2.3")))}},
		"archive-replaced": charts{other: map[string]http.Handler{"/nginx-1.2.3.tgz": page200("application/gzip",
			string(packedChart("nginx", "9.9.9")))}},
		"archive-host-dead":   index(chartIndex("https://closed.test/")),
		"archive-host-gone":   index(chartIndex("https://no-such-host.test/")),
		"archive-metadata":    index(chartIndex("http://metadata.test/")),
		"archive-in-registry": index(strings.ReplaceAll(chartIndex(""), "- nginx-", "- oci://registry.test/charts/nginx-")),
		"archive-no-url":      index(strings.ReplaceAll(chartIndex(""), "    urls:\n    - nginx-1.2.3.tgz\n", "    urls: []\n")),
	}
}

// longNames continues the entries of an index: a version of more than 128 bytes, and charts of 255 and of more bytes.
func longNames() string {
	const created = "2026-01-01T00:00:00Z"
	other := chartEntry("other", "1.0.0", created, "other-1.0.0.tgz")
	return chartEntry("nginx", "1.2.2-"+strings.Repeat("a", 124), created, "long.tgz") +
		"  ü" + strings.Repeat("a", 253) + ":\n" + other + "  ü" + strings.Repeat("a", 254) + ":\n" + other
}

// encoded serves a body as if it had an encoding.
func encoded(body []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "x-gzip")
		_, _ = w.Write(body)
	})
}

func packed(body []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(body)
	_ = w.Close()
	return out.Bytes()
}

// endlessIndex is an index of more than any limit. It has few and long lines, so that a slow machine also reaches the limit of size and
// not that of time.
func endlessIndex() http.Handler {
	block := []byte(strings.Repeat("# "+strings.Repeat("x", 32<<10)+"\n", 32))
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, err := w.Write([]byte("apiVersion: v1\nentries:\n  nginx:\n"))
		for err == nil {
			_, err = w.Write(block)
		}
	})
}

// cutIndex closes the connection within an index.
func cutIndex(w http.ResponseWriter, _ *http.Request) {
	text := chartIndex("")
	w.Header().Set("Content-Length", fmt.Sprint(len(text)))
	_, _ = w.Write([]byte(text[:len(text)/2]))
	panic(http.ErrAbortHandler)
}
