package chartindex

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/process/cputime"
)

const entry = `apiVersion: v1
entries:
  nginx:
  - name: nginx
    version: 1.2.3
    created: "2026-03-01T00:00:00Z"
    digest: aa
    urls:
    - https://charts.test/nginx-1.2.3.tgz
    description: |
      - name: fake
      version: 9.9.9

      # no comment
  - name: nginx
    version: 2.0.0-rc.1
    urls: [nginx-2.0.0-rc.1.tgz]
  "redis":
    - name: redis
      version: v18.0.0
      created: "2026-04-01T00:00:00Z"
      urls:
        - redis.tgz
      maintainers:
        - name: ada
      dependencies:
        - {name: common, version: 2.x.x, repository: "oci://registry.test"}
generated: "2026-03-01T00:00:00Z"
`

// byLine reads an index as if it were large.
func byLine(text string, want []Chart) (*Index, error) {
	c := newCollector(want)
	return c.result((&stream{collector: c}).read(bufio.NewReaderSize(strings.NewReader(text), maxWhole+1)))
}

// Both ways of reading find the same.
func TestRead(t *testing.T) {
	want := []Chart{{"nginx", ""}, {"nginx", "2.0.0-rc.1"}, {"redis", "18.0.0"}, {"nginx", "7.0.0"}, {"mysql", ""}}
	for name, read := range map[string]func() (*Index, error){
		"whole":   func() (*Index, error) { return Read(strings.NewReader(entry), want, 0) },
		"by line": func() (*Index, error) { return byLine(entry, want) },
		"CRLF":    func() (*Index, error) { return byLine(strings.ReplaceAll(entry, "\n", "\r\n"), want) },
	} {
		i, err := read()
		if err != nil || i.Unread != "" {
			t.Fatalf("%s: %v %v", name, err, i)
		}
		got := fmt.Sprint(i.Charts, i.Versions, i.Names)
		for _, m := range i.Found {
			got += fmt.Sprintf(" %v", m.Chart)
			if m.Version != nil {
				got += "=" + m.Version.Version + "=" + m.Version.URL
			}
		}
		for _, v := range i.Newest {
			got += " " + v.String() + v.Digest
		}
		const expected = "2 3 [nginx redis] true=1.2.3=https://charts.test/nginx-1.2.3.tgz true=2.0.0-rc.1=nginx-2.0.0-rc.1.tgz " +
			"true=v18.0.0=redis.tgz true false redis:v18.0.0 nginx:1.2.3aa"
		if got != expected {
			t.Errorf("%s: %s\nwant %s", name, got, expected)
		}
	}
}

// What Helm does not accept. A large index is not evaluated where it is not in the style of generators.
func TestReadRejects(t *testing.T) {
	for _, row := range []struct{ text, problem, large string }{
		{"", "empty", "no apiVersion"},
		{"<html>", "web page", "not a field"},
		{"<<<<<<< HEAD\n" + entry, "not valid YAML", "not a field"},
		{strings.Replace(entry, "  \"redis\"", "=======\n  \"redis\"", 1), "not valid YAML", "not a field"},
		{"[]", "not an object", "not a field"},
		{"just text", "not an object", "not a field"},
		{strings.TrimPrefix(entry, "apiVersion: v1\n"), "no apiVersion", "no apiVersion"},
		{entry + "apiVersion: v1\n", "apiVersion twice", "apiVersion twice"},
		{entry + "extra: 1\n", "field extra", "field extra"},
		{strings.Replace(entry, `"redis"`, "nginx", 1), "twice", "twice"},
		{strings.Replace(entry, "digest: aa", "sha: aa", 1), "entries.nginx.sha", "entries.nginx.sha"},
		{strings.Replace(entry, "digest: aa", "version: 1.2.3", 1), "entries.nginx.version twice", "entries.nginx.version twice"},
		{strings.Replace(entry, "digest: aa", "deprecated: perhaps", 1), "not true or false", "not true or false"},
		{strings.Replace(entry, "digest: aa", `deprecated: "true"`, 1), "not true or false", "not true or false"},
		{strings.Replace(entry, "2026-04-01T00:00:00Z", "1.4.2026", 1), "not a time", "not a time"},
		{strings.Replace(entry, "urls: [nginx-2.0.0-rc.1.tgz]", "urls: x", 1), "not a list", "not a list"},
		{strings.Replace(entry, "- name: ada", "- nick: ada", 1), "maintainers.nick", "maintainers.nick"},
		{strings.Replace(entry, "- name: ada", "- ada", 1), "not an object", "not an object"},
		{"apiVersion: v1\nentries: []\n", "not an object", "unread"},
		{"apiVersion: v1\nentries:\n  nginx: {}\n", "not a list", "unread"},
		{"apiVersion: v1\nentries:\n  nginx:\n    name: x\n", "not a list", "unread"},
	} {
		for way, read := range map[string]func() (*Index, error){
			row.problem: func() (*Index, error) { return Read(strings.NewReader(row.text), nil, 0) },
			row.large:   func() (*Index, error) { return byLine(row.text, nil) },
		} {
			i, err := read()
			if way == "unread" && err == nil && i.Unread != "" {
				continue
			}
			if problem, ok := errors.AsType[*Error](err); !ok || !strings.Contains(problem.Problem, way) {
				t.Errorf("%.60q: %v, want %q", row.text, err, way)
			}
		}
	}
}

// What Helm skips does not count.
func TestReadSkips(t *testing.T) {
	const text = `{"apiVersion":"v1","new":true,"entries":{"a":[null,{"name":"a"},{"version":"1.0.0"},{"name":"a/b","version":"1.0.0"},` +
		`{"name":"a","version":"1.0.0","type":"plugin"},{"name":"a","version":"latest"},{"name":"a","version":"01.2"}],"b":null}}`
	i, err := Read(strings.NewReader(text), []Chart{{"a", ""}}, 0)
	if err != nil || i.Charts != 2 || i.Versions != 1 || i.Found[0].Version.Version != "01.2" {
		t.Errorf("%v: %+v", err, i)
	}
}

// generator is an index of a size, as "helm repo index" writes it. It is written while it is read.
type generator struct {
	bytes.Buffer
	left, chart int
}

func (g *generator) Read(p []byte) (int, error) {
	if g.Len() == 0 && g.left > 0 {
		g.next()
	}
	return g.Buffer.Read(p)
}

func (g *generator) next() {
	g.Reset()
	if g.chart == 0 {
		g.WriteString("apiVersion: v1\nentries:\n")
	}
	fmt.Fprintf(g, "  chart-%05d:\n", g.chart)
	for v := 40; v > 0; v-- {
		fmt.Fprintf(g, "  - annotations:\n      category: %s\n    apiVersion: v2\n    created: \"2026-01-%02dT00:00:00Z\"\n    "+
			"description: %s\n    name: chart-%05d\n    urls:\n    - chart-%05d-1.%d.0.tgz\n    version: 1.%d.0\n",
			strings.Repeat("x", 200), 1+g.chart%28, strings.Repeat("words ", 100), g.chart, g.chart, v, v)
	}
	g.left -= g.Len()
	g.chart++
}

// An index of 50 MiB is read in little memory.
func TestReadLarge(t *testing.T) {
	source := &generator{left: 50 << 20}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	const listed = 50_000
	i, err := Read(source, []Chart{{"chart-00700", "1.7.0"}, {"chart-01000", ""}}, listed)
	took := time.Since(began)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if err != nil || i.Unread != "" || i.Found[0].Version == nil || i.Found[0].Version.URL != "chart-00700-1.7.0.tgz" ||
		i.Found[1].Version == nil || i.Found[1].Version.Version != "1.40.0" || len(i.Newest) != candidates {
		t.Fatalf("%v: %+v", err, i)
	}
	if last := i.All[len(i.All)-1]; len(i.All) != min(i.Versions, listed) || last.Version != "1.1.0" {
		t.Errorf("listed %d versions, at last %v", len(i.All), last)
	}
	t.Logf("%d charts, %d versions in %v, %d MiB retained, %d MiB allocated in all", i.Charts, i.Versions, took,
		(int64(after.HeapAlloc)-int64(before.HeapAlloc))>>20, (after.TotalAlloc-before.TotalAlloc)>>20)
	if retained := int64(after.HeapAlloc) - int64(before.HeapAlloc); retained > 8<<20 {
		t.Errorf("%d bytes are retained", retained)
	}
}

// The versions of all charts are listed, whichever way the index is read.
func TestReadLists(t *testing.T) {
	want := []Version{{Chart: Chart{"nginx", "1.2.3"}, Digest: "aa"}, {Chart: Chart{"nginx", "2.0.0-rc.1"}}}
	for name, read := range map[string]func(most int) (*Index, error){
		"whole": func(most int) (*Index, error) { return Read(strings.NewReader(entry), nil, most) },
		"by line": func(most int) (*Index, error) {
			c := &collector{most: most, names: map[string]bool{}}
			return c.result((&stream{collector: c, parsed: maxParsed + 1}).read(bufio.NewReaderSize(strings.NewReader(entry), maxWhole+1)))
		},
	} {
		for most := range 3 {
			if i, err := read(most); err != nil || len(i.All) != most || most > 0 && i.All[0] != want[0] {
				t.Errorf("%s: %v, %+v, want %d of %v", name, err, i.All, most, want)
			}
		}
	}
}

// A version that is not there is compared with those that are, also where the index is no more examined completely.
func TestVersionsOfAMissingOne(t *testing.T) {
	c := newCollector([]Chart{{"nginx", "9.9.9"}})
	i, err := c.result((&stream{collector: c, parsed: maxParsed + 1}).read(bufio.NewReaderSize(strings.NewReader(entry), maxWhole+1)))
	if err != nil || i.Found[0].Version != nil || !slices.Equal(i.Found[0].Versions, []string{"1.2.3", "2.0.0-rc.1"}) {
		t.Errorf("%+v, %v", i, err)
	}
}

// Hostile bytes neither end the program nor take long, and both ways of reading never disagree on what is found.
func FuzzRead(f *testing.F) {
	f.Add(entry)
	f.Add(`{"apiVersion":"v1","entries":{"a":[{"name":"a","version":"1.0.0"}]}}`)
	f.Add("apiVersion: v1\nentries:\n  a: &x\n  - name: a\n  b: *x\n")
	f.Add("apiVersion: v1\nentries:\n  a:\n  - name: a\n    version: \"1.0.0\n  b\"\n")
	f.Add("entries:\n a:\n -\n -\n- \n")
	f.Fuzz(func(t *testing.T, text string) {
		want := []Chart{{"nginx", ""}, {"a", "1.0.0"}}
		began := cputime.Used()
		defer func() {
			if took := cputime.Used() - began; took > 5*time.Second {
				t.Errorf("reading took %v ", took)
			}
		}()
		whole, err := Read(strings.NewReader(text), want, 0)
		large, largeErr := byLine(text, want)
		if err != nil || largeErr != nil || whole.Unread+large.Unread != "" {
			return
		}
		if whole.Charts != large.Charts || whole.Versions != large.Versions ||
			(whole.Found[0].Version == nil) != (large.Found[0].Version == nil) {
			t.Errorf("whole %+v, by line %+v", whole, large)
		}
	})
}

// Ranges are those of Helm: the newest version in it, and a pre-release only if the range has one. An exact version is none.
func TestRanges(t *testing.T) {
	const index = "apiVersion: v1\nentries:\n  nginx:\n" +
		"  - {name: nginx, version: 2.1.0-rc.1, urls: [a]}\n  - {name: nginx, version: v2.0.3, urls: [a]}\n" +
		"  - {name: nginx, version: 1.4.9, urls: [a]}\n  - {name: nginx, version: 1.4.0, urls: [a]}\n" +
		"  - {name: nginx, version: '1.3', urls: [a]}\n"
	for version, want := range map[string]string{
		"": "v2.0.3", "*": "v2.0.3", "x": "v2.0.3", ">=1.2 <2": "1.4.9", ">=1.2, <2": "1.4.9", "~1.4": "1.4.9", "~>1.4.0": "1.4.9",
		"^1.0": "1.4.9", "1.x": "1.4.9", "1": "1.4.9", "1.3": "1.3", "1.2 - 1.3": "1.3", "<1.4 || >=2": "v2.0.3",
		">=2.1.0-0": "2.1.0-rc.1", "^2.1": "", "^3": "", "1.4.0": "1.4.0", "latest": "", ">=": "",
		"~1.4 " + strings.Repeat(" ", maxRange): "",
	} {
		i, err := Read(strings.NewReader(index), []Chart{{"nginx", version}}, 0)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if found := i.Found[0].Version; found != nil {
			got = found.Version
		}
		if got != want {
			t.Errorf("%q is version %q, want %q", version, got, want)
		}
	}
}
