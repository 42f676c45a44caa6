package node

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/regwarden/regwarden/internal/lazyregexp"
)

// YAML reads all documents of a file, without empty ones. Documents that cannot be read are a SyntaxErrors; the others are returned with
// it. A file that exceeds a limit has none.
func YAML(data []byte) ([]*Node, error) {
	r := yamlReader{size: len(data)}
	if err := r.read(data); err != nil {
		return nil, err
	}
	if len(r.errors) > 0 {
		return r.documents, r.errors
	}
	return r.documents, nil
}

type yamlReader struct {
	documents []*Node
	errors    SyntaxErrors
	nodes     int // without those of aliases
	repeated  int // values and bytes of text that aliases stand for
	size      int // of the file
}

func (r *yamlReader) read(data []byte) error {
	line, parts := 0, 0
	for len(data) > 0 {
		var part []byte
		part, data = cutDocument(data)
		if parts++; parts > maxDocuments {
			return fmt.Errorf("%w: more than %d documents", ErrLimit, maxDocuments)
		}
		if r.nodes+values(part) > maxNodesOf(r.size, bytesPerNode) {
			return fmt.Errorf("%w: more than %d values", errValues, maxNodesOf(r.size, bytesPerNode))
		}
		if hasTagDirective(part) {
			return fmt.Errorf("%w: it has a line that begins with %%TAG", ErrLimit)
		}
		if err := r.readPart(part, line); errors.Is(err, ErrLimit) {
			return err
		} else if err != nil {
			r.errors = append(r.errors, syntaxError(err, line))
		}
		line += bytes.Count(part, []byte("\n"))
	}
	return nil
}

// readPart reads what is between two lines "---": one document, or several that end with "...".
func (r *yamlReader) readPart(part []byte, line int) error {
	for decoder := yaml.NewDecoder(bytes.NewReader(part)); ; {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(document.Content) == 0 {
			continue
		}
		c := converter{yamlReader: r, anchors: map[*yaml.Node]*anchored{}, line: line}
		root, _, err := c.convert(document.Content[0], 0)
		if err != nil {
			return err
		}
		if root.kind != null {
			r.documents = append(r.documents, root)
		}
	}
}

// cutDocument returns the text before the second line "---", and the rest. Such a line begins a document wherever it is, so that one
// document that cannot be parsed does not hide the next.
func cutDocument(data []byte) (part, rest []byte) {
	start := documentStart(data, 0)
	if start < len(data) && !hasContent(data[:start]) {
		start = documentStart(data, start+3)
	}
	return data[:start], data[start:]
}

// documentStart returns where the first line "---" at or after an offset begins, len(data) if there is none.
func documentStart(data []byte, from int) int {
	for {
		next := bytes.Index(data[from:], []byte("---"))
		if next < 0 {
			return len(data)
		}
		at := from + next
		from = at + 1
		if (at == 0 || data[at-1] == '\n') && (at+3 == len(data) || blank(data[at+3])) {
			return at
		}
	}
}

// hasContent reports whether a text has more than comments and directives, which belong to the document that follows.
func hasContent(data []byte) bool {
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return true
		}
	}
	return false
}

// hasTagDirective reports whether a line begins with %TAG, or whether UTF-16 has it anywhere. The parser compares each such line with all
// others, and puts its text into every tag that uses it. Files of registry definitions have none.
func hasTagDirective(data []byte) bool {
	directive := []byte("%TAG")
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return bytes.Contains(bytes.ReplaceAll(data, []byte{0}, nil), directive)
	}
	for from := 0; ; {
		next := bytes.Index(data[from:], directive)
		if next < 0 {
			return false
		}
		at := from + next
		if at == 0 || bytes.IndexByte([]byte("\n\r\x85\xa8\xa9\xbf"), data[at-1]) >= 0 { // the last byte of a line break or byte order mark
			return true
		}
		from = at + 1
	}
}

// values returns at least how many values the text of a document has, and not many more, without parsing it: the parser would
// store all of a hostile file. Bytes that UTF-16 and Unicode's line breaks have count too.
func values(data []byte) int {
	count := 4
	for i, b := range data {
		switch b {
		case '\n', '\r':
			count++
		case '[', '{':
			count += 2 // a list takes twice the memory
		case 0x85, 0xa8, 0xa9:
			if i > 0 && (data[i-1] == 0xc2 || data[i-1] == 0x80 || data[i-1] == 0) || i+1 < len(data) && data[i+1] == 0 {
				count++
			}
		case ',', '?':
			count += 2
		case '-':
			if i+1 == len(data) || blank(data[i+1]) {
				count++
			}
		case ':':
			if i+1 == len(data) || blank(data[i+1]) || flow(data[i+1]) || i > 0 && (flow(data[i-1]) || data[i-1] == 0) {
				count++
			}
		}
	}
	return count - bytes.Count(data, []byte("\r\n"))
}

func blank(b byte) bool {
	return b == ' ' || b == '\t' || b == '\n' || b == '\r' || b == 0 || b >= 0x80
}

func flow(b byte) bool { return strings.IndexByte(`"'[]{},?:`, b) >= 0 }

var yamlErrorLine = lazyregexp.New(`^(?:yaml: )?(?:line (\d+): )?`)

// syntaxError returns an error of the parser with the line of the file, and without text of the file. before is the number of lines that
// precede the document.
func syntaxError(err error, before int) *SyntaxError {
	message := err.Error()
	found := yamlErrorLine.Get().FindStringSubmatch(message)
	line, _ := strconv.Atoi(found[1]) // no line is the first
	message = message[len(found[0]):]
	if strings.HasPrefix(message, "unknown anchor") {
		message = "an alias refers to an anchor that does not exist; quote a value that begins with *"
	}
	return &SyntaxError{before + max(line, 1), message}
}
