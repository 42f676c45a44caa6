package chartindex

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// stream reads a large index line by line. It relies on what all generators write: block style, one version of a chart after the other.
// What it does not understand, it does not evaluate.
type stream struct {
	*collector
	section     string // the top-level member that is being read
	seen        map[string]bool
	part        bytes.Buffer // lines of the member, or of one version of a chart
	chartIndent int          // of the names of charts; 0: not known yet
	itemIndent  int          // of the versions of the current chart; -1: not known yet, -2: it has none
	inItem      bool
	parsed      int // bytes of versions that were examined completely
}

// errEnd ends the first document.
var errEnd = errors.New("end of the document")

func (s *stream) read(from *bufio.Reader) error {
	s.seen = map[string]bool{}
	for {
		line, err := from.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return unread(fmt.Sprintf("it has a line of more than %d KiB", maxWhole>>10))
		}
		if len(line) > 0 {
			if err := s.line(bytes.TrimRight(line, "\r\n")); errors.Is(err, errEnd) {
				return s.endSection()
			} else if err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return s.endSection()
		}
		if err != nil {
			return err
		}
	}
}

func (s *stream) line(line []byte) error {
	body := bytes.TrimLeft(line, " ")
	indent := len(line) - len(body)
	switch {
	case len(body) == 0 || body[0] == '#':
		return s.keep(line)
	case indent == 0 && !isItem(body):
		return s.topLevelLine(line)
	case s.section == "entries":
		return s.entryLine(indent, body, line)
	default:
		return s.keep(line)
	}
}

func isItem(body []byte) bool { return bytes.HasPrefix(body, []byte("- ")) || string(body) == "-" }

// keep adds a line to the current part.
func (s *stream) keep(line []byte) error {
	if s.section == "entries" && !s.inItem {
		return nil
	}
	if s.part.Len()+len(line) >= maxWhole {
		return unread(fmt.Sprintf("a part of %s has more than %d KiB", s.section, maxWhole>>10))
	}
	s.part.Write(line)
	s.part.WriteByte('\n')
	return nil
}

// topLevelLine begins a member of the index.
func (s *stream) topLevelLine(line []byte) error {
	text := string(bytes.TrimPrefix(line, []byte("\ufeff")))
	if text == "---" && s.section == "" || strings.HasPrefix(text, "%") {
		return nil
	}
	if text == "---" || text == "..." {
		return errEnd
	}
	if err := s.endSection(); err != nil {
		return err
	}
	key, rest, ok := splitKey(text)
	if !ok {
		return invalid("it has a line that is not a field: %.40q", text)
	}
	if s.seen[key] {
		return invalid("it has %s twice", key)
	}
	s.seen[key], s.section = true, key
	if key != "entries" {
		return s.keep(line)
	}
	if rest != "" && rest != "{}" && rest != "null" && rest != "~" {
		return unread("its entries are not in block style")
	}
	return nil
}

// splitKey splits "key: value". A quoted key must have no escapes.
func splitKey(text string) (key, rest string, ok bool) {
	if len(text) > 1 && (text[0] == '"' || text[0] == '\'') {
		end := strings.IndexByte(text[1:], text[0])
		if end < 0 || !strings.HasPrefix(text[end+2:], ":") {
			return "", "", false
		}
		key, rest = text[1:end+1], text[end+3:]
	} else if key, rest, ok = strings.Cut(text, ": "); !ok {
		if key, ok = strings.CutSuffix(strings.TrimRight(text, " "), ":"); !ok {
			return "", "", false
		}
	}
	rest = strings.TrimSpace(rest)
	if strings.HasPrefix(rest, "#") {
		rest = ""
	}
	return key, rest, key != ""
}

// endSection examines the member that ends.
func (s *stream) endSection() error {
	if s.section == "entries" {
		return s.endEntry()
	}
	if s.section == "" {
		return nil
	}
	node, err := s.parse("the field " + s.section)
	if err != nil {
		return err
	}
	return s.members(node, "", s.topLevel)
}

// parse parses the current part.
func (s *stream) parse(what string) (*yaml.Node, error) {
	var document yaml.Node
	err := yaml.Unmarshal(s.part.Bytes(), &document)
	s.part.Reset()
	switch {
	case err != nil && strings.Contains(err.Error(), "unknown anchor"):
		return nil, unread("it has anchors")
	case err != nil:
		return nil, invalid("it is not valid YAML in %s: %s", what, yamlProblem(err))
	case len(document.Content) == 0:
		return &yaml.Node{}, nil
	}
	return document.Content[0], nil
}

func (s *stream) entryLine(indent int, body, line []byte) error {
	item := isItem(body)
	if s.chartIndent == 0 {
		s.chartIndent, s.itemIndent = indent, -2
	}
	if s.itemIndent == -1 && item {
		s.itemIndent = indent
	}
	switch {
	case item && indent == s.itemIndent:
		if err := s.endItem(); err != nil {
			return err
		}
		s.inItem = true
		return s.keep(line)
	case s.inItem && indent > s.itemIndent:
		return s.keep(line)
	case indent == s.chartIndent && !item:
		return s.chartLine(string(body))
	}
	return unread(fmt.Sprintf("the indentation after %s is not that of a list of versions", s.chart))
}

// chartLine begins a chart.
func (s *stream) chartLine(body string) error {
	if err := s.endEntry(); err != nil {
		return err
	}
	name, rest, ok := splitKey(body)
	if !ok {
		return invalid("entries has a line that is not the name of a chart: %.40q", body)
	}
	s.itemIndent = -1
	switch rest {
	case "":
	case "[]", "null", "~":
		s.itemIndent = -2
	default:
		return unread("the versions of " + name + " are not in block style")
	}
	return s.beginChart(name)
}

// endEntry ends the current chart.
func (s *stream) endEntry() error {
	if err := s.endItem(); err != nil {
		return err
	}
	if s.chart != "" {
		s.endChart()
	}
	s.chart = ""
	return nil
}

// endItem examines a version: completely as long as the index is not too large, and later only the versions that may be used.
func (s *stream) endItem() error {
	if !s.inItem {
		return nil
	}
	s.inItem = false
	if text := s.part.String(); s.parsed > maxParsed && !s.mayBeUsed(text) {
		s.count(Version{Chart: Chart{Version: field(text, "version")}, Digest: field(text, "digest")})
		s.part.Reset()
		return nil
	}
	if s.parsed += s.part.Len(); s.parsed > maxParsedInAll {
		return unread(fmt.Sprintf("only %d MiB of it were examined", maxParsedInAll>>20))
	}
	list, err := s.parse("entries." + s.chart)
	if err != nil {
		return err
	}
	for _, node := range list.Content {
		if err := s.add(node); err != nil {
			return err
		}
	}
	return nil
}

// mayBeUsed reports whether a version, by the text of its fields, is looked for or is the newest one of its chart. Its chart is one of
// those that changed last only if it changed after these.
func (s *stream) mayBeUsed(text string) bool {
	v := Version{Chart: Chart{Version: field(text, "version")}, created: field(text, "created")}
	if v.Version == "" {
		return true
	}
	for _, i := range s.wanted {
		if s.fits(i, v) {
			return true
		}
	}
	recent := len(s.Newest) < candidates || v.created > s.Newest[candidates-1].created
	return recent && newer(v, s.best)
}

// field returns the value of a field of a version that is written in one line.
func field(text, name string) string {
	indent := strings.IndexByte(text, '-') + 1
	indent += len(text[indent:]) - len(strings.TrimLeft(text[indent:], " "))
	for i, line := range strings.Split(text, "\n") {
		if i > 0 && len(line)-len(strings.TrimLeft(line, " ")) != indent || len(line) < indent {
			continue
		}
		if value, ok := strings.CutPrefix(line[indent:], name+": "); ok {
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return ""
}
