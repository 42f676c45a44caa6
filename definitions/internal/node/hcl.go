package node

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// HCL reads the blocks and the literal values of a file in HashiCorp's configuration language. The tree is that of the language's JSON
// form: block "a" "b" { } is {"block": {"a": {"b": {}}}}, and what occurs several times is a key that occurs several times. Values that are
// not literals are expressions, without their text.
func HCL(data []byte) (*Node, error) {
	r := hclReader{text: string(data), line: 1, most: maxNodesOf(len(data), bytesPerNode)}
	root := newObject(1)
	if err := r.body(root, 0); err != nil {
		return nil, fmt.Errorf("line %d: %w", r.line, err)
	}
	return root, nil
}

type hclReader struct {
	text  string // what is left
	line  int
	nodes int
	most  int // nodes

	unterminated bool // whether a text in quotes has no end
}

// advance moves behind the next n bytes, and returns them.
func (r *hclReader) advance(n int) string {
	n = min(n, len(r.text))
	skipped := r.text[:n]
	r.line += strings.Count(skipped, "\n")
	r.text = r.text[n:]
	return skipped
}

func (r *hclReader) accept(prefix string) bool {
	if !strings.HasPrefix(r.text, prefix) {
		return false
	}
	r.advance(len(prefix))
	return true
}

// blank moves behind comments and white space: newlines too if it may be several lines.
func (r *hclReader) blank(newlines bool) {
	for {
		switch {
		case strings.HasPrefix(r.text, "/*"):
			r.advance(2)
			end := strings.Index(r.text, "*/")
			if end < 0 {
				end = len(r.text)
			}
			r.advance(end + 2)
		case strings.HasPrefix(r.text, "#") || strings.HasPrefix(r.text, "//"):
			end := strings.IndexByte(r.text, '\n')
			if end < 0 {
				end = len(r.text)
			}
			r.advance(end)
		case r.text != "" && (strings.IndexByte(" \t\r", r.text[0]) >= 0 || newlines && r.text[0] == '\n'):
			r.advance(1)
		case strings.HasPrefix(r.text, "\ufeff"):
			r.advance(len("\ufeff"))
		default:
			return
		}
	}
}

func (r *hclReader) identifier() string {
	end := strings.IndexFunc(r.text, func(c rune) bool { return c != '_' && c != '-' && !unicode.IsLetter(c) && !unicode.IsDigit(c) })
	if end < 0 {
		end = len(r.text)
	}
	return r.advance(end)
}

// limit counts a value.
func (r *hclReader) limit(depth int) error {
	if r.nodes++; r.nodes > r.most || depth > maxDepth {
		return fmt.Errorf("%w: more than %d values, or nested more than %d times", ErrLimit, r.most, maxDepth)
	}
	return nil
}

// body reads attributes and blocks up to the end of the file, or behind the brace that ends a block.
func (r *hclReader) body(into *Node, depth int) error {
	if err := r.limit(depth); err != nil {
		return err
	}
	for {
		r.blank(true)
		switch {
		case r.text == "" && depth == 0:
			return nil
		case r.text == "":
			return errors.New("a block has no end")
		case depth > 0 && r.accept("}"):
			return nil
		}
		line := r.line
		name := r.identifier()
		if name == "" {
			return errors.New("the name of an attribute or block is expected")
		}
		r.blank(false)
		err := r.member(into, line, name, depth)
		if r.unterminated {
			err = errors.New("a text in quotes has no end")
		}
		if err != nil {
			return err
		}
	}
}

// member reads what follows the name of an attribute or block.
func (r *hclReader) member(object *Node, line int, name string, depth int) error {
	var value *Node
	var err error
	if strings.HasPrefix(r.text, "=") && !strings.HasPrefix(r.text, "==") {
		r.advance(1)
		value, err = r.value("\n}", depth+1)
	} else {
		value, err = r.block(line, depth+1)
	}
	if err == nil {
		object.addMember(line, name, value)
	}
	return err
}

// block reads the labels and the body of a block.
func (r *hclReader) block(line, depth int) (*Node, error) {
	object := newObject(line)
	if r.accept("{") {
		return object, r.body(object, depth)
	}
	if err := r.limit(depth); err != nil {
		return nil, err
	}
	label, literal := "", true
	if strings.HasPrefix(r.text, `"`) {
		label, literal = r.quoted()
	} else {
		label = r.identifier()
	}
	if label == "" || !literal {
		return nil, errors.New("an attribute or block is expected")
	}
	r.blank(false)
	labeled, err := r.block(line, depth+1)
	if err == nil {
		object.addMember(line, label, labeled)
	}
	return object, err
}

// value reads the value of an attribute or element up to one of the bytes in end. A value that is not one literal is an expression.
func (r *hclReader) value(end string, depth int) (*Node, error) {
	if err := r.limit(depth); err != nil {
		return nil, err
	}
	r.blank(false)
	line := r.line
	literal, err := r.literal(depth)
	if err != nil {
		return nil, err
	}
	r.blank(false)
	if literal != nil && (r.text == "" || strings.IndexByte(end, r.text[0]) >= 0) {
		return literal, nil
	}
	if err := r.skipExpression(end); err != nil {
		return nil, err
	}
	return newScalar(line, expression, ""), nil
}

// literal reads a value, nil if it is not a literal.
func (r *hclReader) literal(depth int) (*Node, error) {
	line := r.line
	switch {
	case r.text == "":
		return nil, errors.New("a value is expected")
	case r.text[0] == '"':
		value, literal := r.quoted()
		if !literal {
			return nil, nil
		}
		return newScalar(line, text, value), nil
	case strings.HasPrefix(r.text, "<<"):
		return r.heredoc()
	case r.text[0] == '[':
		return r.list(depth)
	case r.text[0] == '{':
		return r.object(depth)
	case r.text[0] >= '0' && r.text[0] <= '9':
		return newScalar(line, number, r.number()), nil
	}
	switch word := r.identifier(); word {
	case "true", "false":
		return newScalar(line, boolean, word), nil
	case "null":
		return newScalar(line, null, ""), nil
	default:
		return nil, nil
	}
}

func (r *hclReader) number() string {
	end := strings.IndexFunc(r.text, func(c rune) bool { return c != '.' && !unicode.IsDigit(c) })
	if end < 0 {
		end = len(r.text)
	}
	return r.advance(end)
}

// list reads [a, b]. A list with "for" is an expression.
func (r *hclReader) list(depth int) (*Node, error) {
	list := newList(r.line, array)
	r.advance(1)
	for {
		r.blank(true)
		if r.accept("]") {
			return list, nil
		}
		item, err := r.value(",\n]", depth+1)
		if err != nil {
			return nil, err
		}
		list.size += item.size
		list.items = append(list.items, item)
		r.blank(true)
		r.accept(",")
	}
}

// object reads { a = 1, "b" : 2 }. Where a key is not literal, the object has no such member.
func (r *hclReader) object(depth int) (*Node, error) {
	object := newObject(r.line)
	r.advance(1)
	for {
		r.blank(true)
		if r.accept("}") {
			return object, nil
		}
		line := r.line
		key, literal := "", true
		if strings.HasPrefix(r.text, `"`) {
			key, literal = r.quoted()
		} else {
			key = r.identifier()
		}
		r.blank(false)
		if key == "" || !literal || !r.accept("=") && !r.accept(":") {
			return nil, r.skipExpression("}")
		}
		value, err := r.value(",\n}", depth+1)
		if err != nil {
			return nil, err
		}
		object.addMember(line, key, value)
		r.blank(true)
		r.accept(",")
	}
}

// quoted reads a quoted text. With ${ or %{ in it, it is not literal.
func (r *hclReader) quoted() (text string, literal bool) {
	var b strings.Builder
	r.advance(1)
	literal = true
	for r.text != "" && r.text[0] != '\n' {
		switch {
		case r.accept(`"`):
			return b.String(), literal
		case r.accept("$${"):
			b.WriteString("${")
		case r.accept("%%{"):
			b.WriteString("%{")
		case strings.HasPrefix(r.text, "${") || strings.HasPrefix(r.text, "%{"):
			literal = false
			r.skipTemplate()
		case r.text[0] == '\\':
			b.WriteString(r.escape())
		default:
			b.WriteString(r.advance(1))
		}
	}
	r.unterminated = true
	return "", false
}

// escape reads an escape sequence of a quoted text.
func (r *hclReader) escape() string {
	r.advance(1)
	switch c := r.advance(1); c {
	case "n":
		return "\n"
	case "r":
		return "\r"
	case "t":
		return "\t"
	case "u":
		return r.codePoint(4)
	case "U":
		return r.codePoint(8)
	default:
		return c
	}
}

func (r *hclReader) codePoint(digits int) string {
	var c rune
	if _, err := fmt.Sscanf(r.advance(digits), "%x", &c); err != nil {
		c = utf8.RuneError
	}
	return string(c)
}

// skipTemplate moves behind a ${ } or %{ } of a text, in which texts with further ones may be.
func (r *hclReader) skipTemplate() {
	inText := []bool{false} // for each open brace: whether it is in a text
	r.advance(2)
	for r.text != "" && len(inText) > 0 {
		last := len(inText) - 1
		switch c := r.advance(1); {
		case inText[last] && c == `\`:
			r.advance(1)
		case c == `"` && inText[last]:
			inText = inText[:last]
		case c == `"`:
			inText = append(inText, true)
		case c == "{" && (!inText[last]):
			inText = append(inText, false)
		case inText[last] && (c == "$" || c == "%") && r.accept("{"):
			inText = append(inText, false)
		case c == "}" && !inText[last]:
			inText = inText[:last]
		}
	}
}

// heredoc reads <<END or <<-END up to END in a line of its own.
func (r *hclReader) heredoc() (*Node, error) {
	line := r.line
	r.advance(2)
	indented := r.accept("-")
	end := r.identifier()
	if newline := strings.IndexByte(r.text, '\n'); newline >= 0 {
		r.advance(newline + 1)
	}
	var lines []string
	for end != "" && r.text != "" {
		length := strings.IndexByte(r.text, '\n') + 1
		if length == 0 {
			length = len(r.text)
		}
		if strings.TrimSpace(r.text[:length]) == end {
			r.advance(len(strings.TrimRight(r.text[:length], "\r\n")))
			value := joinHeredoc(lines, indented)
			if strings.Contains(value, "${") || strings.Contains(value, "%{") {
				return nil, nil
			}
			return newScalar(line, text, value), nil
		}
		lines = append(lines, r.advance(length))
	}
	return nil, errors.New("a text that begins with << has no end")
}

// joinHeredoc removes the indentation that all lines have, if it is not part of the text.
func joinHeredoc(lines []string, indented bool) string {
	if !indented {
		return strings.Join(lines, "")
	}
	least := len(strings.Join(lines, ""))
	for _, line := range lines {
		if trimmed := strings.TrimLeft(line, " \t"); strings.TrimSpace(trimmed) != "" {
			least = min(least, len(line)-len(trimmed))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(line[min(least, len(line)-len(strings.TrimLeft(line, " \t"))):])
	}
	return b.String()
}

// skipExpression moves to the first of the bytes in end that is not within brackets, texts or comments. An end of "}" is passed, too.
func (r *hclReader) skipExpression(end string) error {
	for open := 0; r.text != ""; {
		c := r.text[0]
		switch {
		case open == 0 && strings.IndexByte(end, c) >= 0:
			if end == "}" {
				r.advance(1)
			}
			return nil
		case strings.HasPrefix(r.text, "<<") && len(r.text) > 2 && (r.text[2] == '-' || unicode.IsLetter(rune(r.text[2]))):
			if _, err := r.heredoc(); err != nil {
				return err
			}
		case c == '"':
			r.quoted()
		case c == '#' || strings.HasPrefix(r.text, "//") || strings.HasPrefix(r.text, "/*"):
			r.blank(false)
		default:
			if strings.IndexByte("([{", c) >= 0 {
				open++
			}
			if strings.IndexByte(")]}", c) >= 0 {
				if open--; open < 0 {
					return errors.New("a bracket has no beginning")
				}
			}
			r.advance(1)
		}
	}
	return nil
}
