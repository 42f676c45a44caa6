package engine_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/getter"
	"helm.sh/helm/v3/pkg/repo"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
)

func (r matrixRow) isChartRepository() bool {
	var d regcheck.Definition
	return json.Unmarshal(r.Definition, &d) == nil && d.Kind == regcheck.KindChartRepository
}

// Each row of the matrix with a chart repository is tried with Helm: it can use the valid ones only, unless the row has the reason why our
// result is right. Helm decides by the same index, URLs and credentials.
func TestMatrixAgainstHelm(t *testing.T) {
	for _, row := range readMatrix(t) {
		if !row.isChartRepository() || row.Server == "charts-too-large" { // Helm reads an index of any size
			continue
		}
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			used := useByHelm(t, row)
			agree := (used == nil) == row.Want.Valid
			switch {
			case agree && row.Truer != "":
				t.Errorf("Helm agrees, but the row has the reason %q", row.Truer)
			case !agree && row.Truer == "":
				t.Errorf("on %s valid is %t, but Helm: %v", row.Server, row.Want.Valid, used)
			}
		})
	}
}

// useByHelm adds the repository and pulls the charts of the definition, or any if it names none.
func useByHelm(t *testing.T, row matrixRow) error {
	g, err := regchecktest.Open(row.Server)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	d := definitionOf(t, g, row)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: g.Roots()}, DialContext: dialIn(g), DisableCompression: true}
	defer transport.CloseIdleConnections()
	getters := getter.Providers{{Schemes: []string{"http", "https"}, New: func(options ...getter.Option) (getter.Getter, error) {
		return getter.NewHTTPGetter(append(options, getter.WithTransport(transport), getter.WithTimeout(30*time.Second))...)
	}}}
	entry := &repo.Entry{Name: "x", URL: strings.TrimSuffix(withScheme(d.Endpoint)+"/"+d.BasePath, "/"), Username: d.Auth.Username,
		Password: d.Auth.Password.Reveal() + d.Auth.Token.Reveal(), PassCredentialsAll: d.Auth.PassCredentials}
	r, err := repo.NewChartRepository(entry, getters)
	if err != nil {
		return err
	}
	r.CachePath = t.TempDir()
	path, err := r.DownloadIndexFile()
	if err != nil {
		return err
	}
	index, err := repo.LoadIndexFile(path)
	if err != nil || row.Want.Content == string(regcheck.Unknown) { // nothing is promised of archives then
		return err
	}
	return pullAll(r, index, d)
}

// pullAll pulls what a definition names, or the newest version of any chart.
func pullAll(r *repo.ChartRepository, index *repo.IndexFile, d regcheck.Definition) error {
	names := slices.DeleteFunc(append([]string{d.BaseContentPath}, d.References...), func(name string) bool { return name == "" })
	for _, name := range names {
		chart, version, _ := strings.Cut(name, ":")
		if err := pull(r, index, chart, version); err != nil {
			return err
		}
	}
	if len(names) > 0 {
		return nil
	}
	err := errors.New("there is no chart")
	for chart := range index.Entries {
		if err = pull(r, index, chart, ""); err == nil {
			return nil
		}
	}
	return err
}

func pull(r *repo.ChartRepository, index *repo.IndexFile, chart, version string) error {
	found, err := index.Get(chart, version)
	if err != nil {
		return err
	}
	if len(found.URLs) == 0 {
		return errors.New("no URL")
	}
	url, err := repo.ResolveReferenceURL(r.Config.URL, found.URLs[0])
	if err != nil {
		return err
	}
	archive, err := r.Client.Get(url, getter.WithURL(r.Config.URL), getter.WithBasicAuth(r.Config.Username, r.Config.Password),
		getter.WithPassCredentialsAll(r.Config.PassCredentialsAll))
	if err != nil {
		return err
	}
	_, err = loader.LoadArchive(archive)
	return err
}

// helmIndex is as "helm repo index" writes it.
const helmIndex = `apiVersion: v1
entries:
  nginx:
  - annotations:
      category: web
    apiVersion: v2
    appVersion: "1.27"
    created: "2026-03-01T10:00:00.123456789Z"
    dependencies:
    - name: common
      repository: https://charts.test
      tags:
      - extra
      version: 2.x.x
    description: |-
      A server:
        fast
    digest: 0d5d4a2c6a0f4a1f8d2f0c9d3c5b7c3e6c1c9a7e5f1b2a3d4e5f60718293a4b5
    keywords:
    - http
    maintainers:
    - email: ada@charts.test
      name: ada
    name: nginx
    type: application
    urls:
    - charts/nginx-1.2.3.tgz
    version: 1.2.3
  - created: "2026-01-01T00:00:00Z"
    deprecated: true
    name: nginx
    urls:
    - nginx-1.2.0.tgz
    version: 1.2.0
  redis:
  - created: "2026-02-01T00:00:00Z"
    name: redis
    urls:
    - redis-18.0.0.tgz
    version: 18.0.0
generated: "2026-03-01T00:00:00Z"
`

// Helm and the check agree on which indexes can be used: the one above with each line removed, repeated, indented, or changed.
func TestIndexAgainstHelm(t *testing.T) {
	texts := []string{helmIndex, "", "{}", "[]", "null", "apiVersion: v1", "apiVersion: v1\nentries:\n", "apiVersion: v1\nentries: []\n",
		`{"apiVersion":"v1","entries":{},"other":1}`, `{"apiVersion":"v1","entries":{"a":null}}`, "apiVersion: 1\nentries: {}\n",
		"apiVersion: v1\nentries: {}\nserverInfo:\n  contextPath: /x\npublicKeys: []\nannotations:\n  a: 1\n"}
	lines := strings.SplitAfter(helmIndex, "\n")
	for i, line := range lines[:len(lines)-1] {
		field, _, _ := strings.Cut(line, ":")
		for _, changed := range []string{"", line + line, " " + line, field + ": [a, b]\n", field + ": {a: b}\n", field + ": 7\n",
			field + ":\n", field + ": true\n", "  unknown: 1\n" + line, "<<<<<<< HEAD\n" + line, "\t" + line, line + "      unknown: 1\n"} {
			texts = append(texts, strings.Join(lines[:i], "")+changed+strings.Join(lines[i+1:], ""))
		}
	}
	var text string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }))
	defer server.Close()
	plan, problems := regcheck.Parse(regcheck.Definition{Kind: regcheck.KindChartRepository, Endpoint: server.URL, Auth: &regcheck.Auth{}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	names := regchecktest.Start(t, "none") // no name of a changed index is looked up in the DNS
	checker := &regcheck.Checker{Egress: egress.ForCommandLine(), Resolver: names}
	file, accepted := filepath.Join(t.TempDir(), "index.yaml"), 0
	for _, text = range texts {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, helm := repo.LoadIndexFile(file)
		report, err := checker.Check(t.Context(), plan, nil)
		if err != nil {
			t.Fatal(err)
		}
		api := report.Stages[slices.IndexFunc(report.Stages, func(s regcheck.StageResult) bool { return s.Name == regcheck.StageAPI })]
		if helm == nil {
			accepted++
		}
		if api.Status != regcheck.Unknown && (helm == nil) != (api.Status == regcheck.OK) {
			t.Errorf("Helm: %v\nregcheck: %s %s\n%s", helm, api.Status, api.Detail, different(text))
		}
	}
	t.Logf("%d indexes, of which Helm accepts %d", len(texts), accepted)
}

// different returns the part of an index that differs from helmIndex.
func different(text string) string {
	same := 0
	for same < min(len(text), len(helmIndex)) && text[same] == helmIndex[same] {
		same++
	}
	begin := max(0, bytes.LastIndexByte([]byte(text[:same]), '\n'))
	return fmt.Sprintf("…%.120q", text[begin:])
}
