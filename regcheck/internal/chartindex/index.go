// Package chartindex reads the index.yaml of a chart repository, and decides as Helm does whether it can be used. Generated indexes have
// tens of megabytes, and hostile ones any shape: a large index is read line by line, in memory of fixed size.
package chartindex

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	constraints "github.com/Masterminds/semver/v3"
	"go.yaml.in/yaml/v3"
	"golang.org/x/mod/semver"
)

// MaxSize is the maximum size of an index in bytes. Helm has no limit; the largest public indexes have about 50 MiB.
const MaxSize = 64 << 20

const (
	maxWhole       = 256 << 10 // bytes of an index that is parsed at once, and of one version in a larger index
	maxJSON        = 8 << 20   // bytes of an index in JSON
	maxParsed      = 4 << 20   // bytes of versions of a large index that are examined completely
	maxParsedInAll = 16 << 20  // bytes of versions that are parsed
	maxCharts      = 100_000   // charts whose names are compared with the others
	maxNames       = 1000      // names and versions that are retained for hints
	candidates     = 3         // charts that are retained if none is asked for
)

// Chart is what is looked for: a version of a chart, the newest one if Version is empty, or the newest one of a range.
type Chart struct{ Name, Version string }

func (c Chart) String() string {
	if c.Version == "" {
		return c.Name
	}
	return c.Name + ":" + c.Version
}

// Version is one version of a chart.
type Version struct {
	Chart
	URL     string // the first one, which Helm uses; empty if there is none
	Digest  string
	created string
}

// Match is what an index has for a Chart.
type Match struct {
	Version  *Version // nil if there is none
	Chart    bool     // the index has the chart
	Versions []string // of the chart; the first ones
}

// Index is what was read.
type Index struct {
	Charts, Versions int
	Found            []Match   // for each Chart that was looked for
	Newest           []Version // the newest versions of the charts that changed last
	Names            []string  // of charts; the first ones
	All              []Version // as many as Read was asked for, without URLs
	// Unread is why a part could not be examined, although Helm may be able to read it: the rest is of the part before.
	Unread string
}

// Error is why Helm cannot use an index.
type Error struct {
	Page    bool // it is a web page
	Problem string
}

func (e *Error) Error() string { return e.Problem }

func invalid(format string, args ...any) error { return &Error{Problem: fmt.Sprintf(format, args...)} }

// unread is why the rest of an index is not examined.
type unread string

func (u unread) Error() string { return string(u) }

// Read reads an index and looks for charts in it. It lists at most the first versions. The error is an *Error, or that of the reader.
func Read(from io.Reader, want []Chart, list int) (*Index, error) {
	buffered := bufio.NewReaderSize(from, maxWhole+1)
	head, err := buffered.Peek(maxWhole + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	c := newCollector(want)
	c.most = list
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	switch {
	case len(text) == 0:
		return nil, invalid("it is empty")
	case isPage(text):
		return nil, &Error{Page: true, Problem: "it is a web page"}
	case len(head) <= maxWhole:
		err = c.readWhole(head)
	case text[0] == '{':
		err = c.readJSON(buffered)
	default:
		err = (&stream{collector: c}).read(buffered)
	}
	return c.result(err)
}

// isPage reports whether a text is HTML or XML, and no conflict of git.
func isPage(text []byte) bool {
	return len(text) > 1 && text[0] == '<' && bytes.ContainsAny(text[1:2], "!?abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
}

func (c *collector) result(err error) (*Index, error) {
	if reason, ok := errors.AsType[unread](err); ok {
		c.Unread, err = string(reason), nil
	}
	if err == nil {
		err = c.complete()
	}
	if err != nil {
		return nil, err
	}
	return &c.Index, nil
}

func (c *collector) readJSON(from io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(from, maxJSON+1))
	if err != nil {
		return err
	}
	if len(data) > maxJSON {
		return unread(fmt.Sprintf("an index in JSON of more than %d MiB is not examined", maxJSON>>20))
	}
	if !json.Valid(data) {
		return unread("it is not JSON, and not YAML in block style")
	}
	return c.readWhole(data)
}

// readWhole reads an index that is parsed at once. As in Helm, JSON may have unknown and repeated members, YAML may not.
func (c *collector) readWhole(data []byte) error {
	c.lax = json.Valid(data)
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return invalid("it is not valid YAML: %s", yamlProblem(err))
	}
	root := &document
	if document.Kind == yaml.DocumentNode {
		root = document.Content[0]
	}
	if root.Kind != yaml.MappingNode {
		return invalid("it is not an object with apiVersion and entries")
	}
	return c.members(root, "", func(key string, value *yaml.Node) error {
		if key != "entries" {
			return c.topLevel(key, value)
		}
		if isNull(value) {
			return nil
		}
		if value.Kind != yaml.MappingNode {
			return invalid("its entries are not an object")
		}
		return c.members(value, "entries", c.chartNode)
	})
}

func (c *collector) chartNode(name string, list *yaml.Node) error {
	if err := c.beginChart(name); err != nil {
		return err
	}
	defer c.endChart()
	if isNull(list) {
		return nil
	}
	if list.Kind != yaml.SequenceNode {
		return invalid("entries.%s is not a list", name)
	}
	for _, node := range list.Content {
		if err := c.add(node); err != nil {
			return err
		}
	}
	return nil
}

// yamlProblem returns the error of a parser without its prefix.
func yamlProblem(err error) string { return strings.TrimPrefix(err.Error(), "yaml: ") }

// collector collects what is found.
type collector struct {
	Index
	want       []Chart
	most       int  // versions to list
	lax        bool // unknown and repeated members are allowed
	apiVersion string
	names      map[string]bool
	chart      string
	wanted     []int                      // places in want of the current chart
	ranges     []*constraints.Constraints // of the versions in want
	best       *Version                   // of the current chart
	deprecated bool                       // best
}

// complete checks what an index must have.
func (c *collector) complete() error {
	if c.apiVersion == "" && c.Unread == "" {
		return invalid("it has no apiVersion")
	}
	return nil
}

func (c *collector) topLevel(key string, value *yaml.Node) error {
	if key == "apiVersion" && value.Kind == yaml.ScalarNode && !isNull(value) {
		c.apiVersion = value.Value
	}
	return c.member(indexMembers, key, "", value)
}

func (c *collector) beginChart(name string) error {
	if c.names[name] && !c.lax {
		return invalid("it has %q twice in entries", name)
	}
	if c.Charts++; c.Charts <= maxCharts {
		c.names[name] = true
	}
	if len(c.Names) < maxNames {
		c.Names = append(c.Names, name)
	}
	c.chart, c.best, c.wanted = name, nil, c.wanted[:0]
	for i, w := range c.want {
		if w.Name == name {
			c.wanted = append(c.wanted, i)
			c.Found[i].Chart = true
		}
	}
	return nil
}

// add adds a version of the current chart.
func (c *collector) add(node *yaml.Node) error {
	if isNull(node) {
		return nil // Helm skips it
	}
	if node.Kind == yaml.AliasNode {
		return errAnchors
	}
	where := "entries." + c.chart
	if node.Kind != yaml.MappingNode {
		return invalid("%s has an element that is not an object", where)
	}
	v := Version{Chart: Chart{Name: c.chart}}
	item := map[string]string{}
	err := c.members(node, where, func(key string, value *yaml.Node) error {
		switch {
		case value.Kind == yaml.ScalarNode && !isNull(value):
			item[key] = value.Value
		case key == "urls" && value.Kind == yaml.SequenceNode && len(value.Content) > 0:
			v.URL = value.Content[0].Value
		}
		return c.member(versionMembers, key, where, value)
	})
	if err != nil {
		return err
	}
	v.Version, v.Digest, v.created = item["version"], item["digest"], item["created"]
	if usable(item) {
		c.consider(v, item["deprecated"] == "true")
	}
	return nil
}

// usable reports whether Helm does not skip a version.
func usable(item map[string]string) bool {
	name := item["name"]
	return name != "" && name != "." && name != ".." && !strings.Contains(name, "/") && canonical(item["version"]) != "" &&
		slices.Contains([]string{"", "application", "library"}, item["type"])
}

func newCollector(want []Chart) *collector {
	c := &collector{want: want, names: map[string]bool{}, Index: Index{Found: make([]Match, len(want))}}
	for _, chart := range want {
		c.ranges = append(c.ranges, readRange(chart.Version))
	}
	return c
}

// consider keeps a version of the current chart if it is looked for.
func (c *collector) consider(v Version, deprecated bool) {
	c.count(v)
	for _, i := range c.wanted {
		if c.fits(i, v) {
			c.Found[i].Version = &v
		}
	}
	if newer(v, c.best) {
		c.best, c.deprecated = &v, deprecated
	}
}

// count counts a version of the current chart, and lists it.
func (c *collector) count(v Version) {
	c.Versions++
	for _, i := range c.wanted {
		if match := &c.Found[i]; len(match.Versions) < maxNames {
			match.Versions = append(match.Versions, strings.Clone(v.Version))
		}
	}
	if len(c.All) < c.most {
		c.All = append(c.All, Version{Chart: Chart{c.chart, strings.Clone(v.Version)}, Digest: strings.Clone(v.Digest)})
	}
}

// fits reports whether a version is a better match for what is looked for than the one that was found.
func (c *collector) fits(i int, v Version) bool {
	want, found := c.want[i].Version, c.Found[i].Version
	switch {
	case want == "":
		return newer(v, found)
	case c.ranges[i] != nil:
		return includes(c.ranges[i], v.Version) && (found == nil || semver.Compare(canonical(v.Version), canonical(found.Version)) > 0)
	}
	return matches(want, v.Version, found)
}

// endChart keeps the newest version of the current chart if it is one of the charts that changed last.
func (c *collector) endChart() {
	if c.best == nil || c.deprecated {
		return
	}
	c.Newest = append(c.Newest, *c.best)
	slices.SortStableFunc(c.Newest, func(a, b Version) int { return cmp.Compare(b.created, a.created) })
	c.Newest = c.Newest[:min(len(c.Newest), candidates)]
}
