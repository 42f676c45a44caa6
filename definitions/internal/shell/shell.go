// Package shell splits a script into its simple commands, to find those that are known. It runs nothing and expands nothing: a word with an
// expansion is not literal.
package shell

import (
	"bytes"
	"iter"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/internal/lazyregexp"
)

// Limits of what is read.
const (
	MaxScript = 1 << 20 // bytes of a script that are read
	maxWords  = 200     // of a command that can be recognized
)

// Word is a word of a command. Text is what is literal of it.
type Word struct {
	Text    string
	Literal bool
}

// Command is a simple command. Methods accept nil.
type Command struct {
	Words      []Word
	Line       int      // in the script, from 0
	Input      *Command // whose output it reads, nil if there is none
	HereString *Word    // text that it reads, of a here-string or a here-document, nil if there is none
}

// Is reports whether the command begins with these words. The program may have a path.
func (c *Command) Is(words string) bool {
	fields := strings.Fields(words)
	if c == nil || len(c.Words) < len(fields) || len(c.Words) > maxWords {
		return false
	}
	for i, field := range fields {
		text := c.Words[i].Text
		if i == 0 {
			text = text[strings.LastIndexByte(text, '/')+1:]
		}
		if !c.Words[i].Literal || text != field {
			return false
		}
	}
	return true
}

// CutOptions removes the options between the program and its subcommand, which is one of a list. One of them may have a value.
func (c *Command) CutOptions(subcommands ...string) {
	if len(c.Words) > maxWords {
		return
	}
	at := slices.IndexFunc(c.Words, func(w Word) bool { return w.Literal && slices.Contains(subcommands, w.Text) })
	if at > 1 && at+1 < len(c.Words) && c.Words[at+1] == c.Words[at] { // the first one is the value of an option
		at++
	}
	for i := 1; i < at; i++ {
		isValue := i > 1 && strings.HasPrefix(c.Words[i-1].Text, "-") && !strings.Contains(c.Words[i-1].Text, "=")
		if !strings.HasPrefix(c.Words[i].Text, "-") && !isValue {
			return
		}
	}
	if at > 1 {
		c.Words = slices.Delete(slices.Clone(c.Words), 1, at)
	}
}

// Scripts returns the texts that the command runs as scripts of a shell, and the number of lines before each of them.
func (c *Command) Scripts() iter.Seq2[string, int] {
	isShell := c.Is("bash") || c.Is("sh") || c.Is("ssh")
	return func(yield func(string, int) bool) {
		if !isShell {
			return
		}
		if last := c.Words[len(c.Words)-1]; last.Literal && (c.Is("ssh") || hasScript(c.Words)) && !yield(last.Text, 0) {
			return
		}
		if c.HereString != nil && c.HereString.Literal {
			yield(c.HereString.Text, 1)
		} else if c.HereString != nil {
			yield(expanded(c.HereString.Text), 1)
		}
	}
}

// expansion matches what the shell expands or quotes in a here-document, also between quotes.
var expansion = lazyregexp.New("\\\\[\\\\$`]|\\$\\{[^{}\\n]*\\}|\\$\\([^()\\n]*\\)|`[^`\\n]*`|\\$\\w+|\\$\\S|`")

// expanded returns the text of a here-document as a script: an expansion in it is in no literal word.
func expanded(text string) string {
	return expansion.Get().ReplaceAllStringFunc(text, func(found string) string {
		if found[0] == '\\' {
			return found[1:]
		}
		return "${{}}"
	})
}

// hasScript reports whether the last word of a shell's command is a script.
func hasScript(words []Word) bool {
	return len(words) > 2 && strings.HasPrefix(words[len(words)-2].Text, "-") && strings.HasSuffix(words[len(words)-2].Text, "c")
}

// Options are the options of a command by their names, such as -u and --username. One without a value is empty.
type Options map[string]Word

// Get returns the option with one of the names, nil if the command has none.
func (o Options) Get(names ...string) *Word {
	for _, name := range names {
		if value, ok := o[name]; ok {
			return &value
		}
	}
	return nil
}

// Parse returns the arguments and the options behind the first skip words. flags are the options that have no value.
func (c *Command) Parse(skip int, flags []string) (arguments []Word, options Options) {
	options = Options{}
	for i := min(skip, len(c.Words)); i < len(c.Words); i++ {
		word := c.Words[i]
		name, value, assigned := strings.Cut(word.Text, "=")
		switch {
		case !strings.HasPrefix(word.Text, "-") || word.Text == "-":
			arguments = append(arguments, word)
		case slices.Contains(flags, word.Text):
			options[word.Text] = Word{Literal: true}
		case !strings.HasPrefix(word.Text, "--") && (len(word.Text) > 2 || !word.Literal): // -pVALUE, -p=VALUE
			short := word.Text[:min(2, len(word.Text))]
			options[short] = Word{strings.TrimPrefix(word.Text[len(short):], "="), word.Literal}
		case assigned || !word.Literal:
			options[name] = Word{value, word.Literal}
		case i+1 < len(c.Words):
			i++
			options[name] = c.Words[i]
		}
	}
	return arguments, options
}

// prefixes are words that may be before a command.
var prefixes = []string{"sudo", "if", "then", "else", "elif", "while", "until", "do", "!", "time", "exec", "command", "env", "{",
	"timeout", "retry", "nice", "nohup"}

// Commands returns the simple commands of a script, in their order. One with more than 200 words has the first ones, and is none that is
// known.
func Commands(script string) iter.Seq[Command] {
	return func(yield func(Command) bool) {
		p := parser{text: script[:min(len(script), MaxScript)], yield: yield}
		for p.text != "" {
			p.next()
		}
		p.endWord()
		p.endCommand(false)
	}
}

type parser struct {
	text    string // what is left
	line    int
	yield   func(Command) bool
	stopped bool // by yield

	command    Command
	word       []byte
	literal    bool // whether all of the word so far is in it
	inWord     bool
	ignored    bool // whether the next word is the value of an option before the command
	redirected bool // whether the next word is the target of a redirection
	hereString bool // whether the next word is the standard input
	heredocs   []heredoc
}

// heredoc is a here-document whose text follows on the next lines.
type heredoc struct {
	delimiter    string
	quoted, tabs bool // whether nothing is expanded, and whether tabs at the begin of lines are removed
	text         *Word
}

func (p *parser) advance(n int) string {
	n = min(n, len(p.text))
	text := p.text[:n]
	p.line += strings.Count(text, "\n")
	p.text = p.text[n:]
	return text
}

// lineLength returns the length of the rest of the line with its newline.
func (p *parser) lineLength() int {
	if end := strings.IndexByte(p.text, '\n'); end >= 0 {
		return end + 1
	}
	return len(p.text)
}

func (p *parser) accept(prefix string) bool {
	if !strings.HasPrefix(p.text, prefix) {
		return false
	}
	p.advance(len(prefix))
	return true
}

// begin begins a word, if there is none yet.
func (p *parser) begin() {
	if !p.inWord {
		p.inWord, p.word, p.literal = true, nil, true
	}
	if len(p.command.Words) == 0 {
		p.command.Line = p.line
	}
}

func (p *parser) endWord() {
	if !p.inWord {
		return
	}
	p.inWord = false
	word := Word{string(p.word), p.literal}
	switch {
	case p.hereString:
		p.command.HereString = &word
	case p.redirected:
	case len(p.command.Words) == 0 && p.ignored:
		p.ignored = false
	case len(p.command.Words) == 0 && isPrefix(word.Text):
		p.ignored = word.Text == "-u" || word.Text == "-g" // of sudo and env
	case len(p.command.Words) > maxWords:
	default:
		p.command.Words = append(p.command.Words, word)
	}
	p.hereString, p.redirected = false, false
}

// isPrefix reports whether the word is before the command: a word of the shell, an assignment, an option of sudo, or a time or number of
// timeout and retry.
func isPrefix(word string) bool {
	if word != "" && strings.Trim(strings.TrimRight(word, "smhd"), "0123456789.") == "" && strings.ContainsAny(word, "0123456789") {
		return true
	}
	name, _, assigned := strings.Cut(word, "=")
	isName := name != "" && strings.IndexFunc(name, func(c rune) bool { return !isNameCharacter(c) }) < 0
	return assigned && isName || slices.Contains(prefixes, word) || strings.HasPrefix(word, "-")
}

func isNameCharacter(c rune) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// endCommand ends a command; piped is whether the next one reads its output.
func (p *parser) endCommand(piped bool) {
	var next Command
	if len(p.command.Words) > 0 {
		if p.stopped = p.stopped || !p.yield(p.command); p.stopped {
			p.text = ""
		}
		if piped {
			command := p.command
			command.Input = nil // of a pipeline, only the command before is of interest
			next.Input = &command
		}
	}
	p.command, p.hereString, p.redirected, p.ignored = next, false, false, false
}

// next reads one part of the script.
func (p *parser) next() {
	switch c := p.text[0]; {
	case c == ' ' || c == '\t' || c == '\r':
		p.endWord()
		p.advance(1)
	case p.accept("\\\n") || p.accept("\\\r\n"):
	case c == '\n':
		p.endWord()
		p.advance(1)
		p.readHeredocs()
		p.endCommand(false)
	case c == '#' && !p.inWord:
		p.advance(len(strings.TrimSuffix(p.text[:p.lineLength()], "\n")))
	case strings.IndexByte(";&()", c) >= 0:
		p.endWord()
		p.endCommand(false)
		p.advance(1)
	case c == '|':
		p.endWord()
		p.endCommand(!strings.HasPrefix(p.text, "||"))
		p.advance(len(p.text) - len(strings.TrimLeft(p.text, "|&")))
	case c == '<' || c == '>':
		p.redirection()
	default:
		p.begin()
		p.part(c)
	}
}

// redirection reads < and > with what they are part of. The number before them is not a word.
func (p *parser) redirection() {
	if p.inWord && p.literal && len(bytes.Trim(p.word, "0123456789")) == 0 {
		p.inWord = false
	}
	p.endWord()
	switch {
	case p.accept("<<<"):
		p.hereString = true
	case p.accept("<<"):
		tabs := p.accept("-")
		rest := strings.TrimLeft(p.text, " \t")
		delimiter := rest
		if end := strings.IndexAny(rest, " \t\r\n;|&<>"); end >= 0 {
			delimiter = rest[:end]
		}
		p.command.HereString = &Word{}
		p.heredocs = append(p.heredocs,
			heredoc{strings.Trim(delimiter, `'"\`), strings.ContainsAny(delimiter, `'"\`), tabs, p.command.HereString})
		p.redirected = true
	case p.text[0] == '<':
		p.advance(1)
		p.command.Input, p.redirected = &Command{Words: []Word{{"cat", true}}}, true
	default:
		p.advance(len(p.text) - len(strings.TrimLeft(p.text, ">&|")))
		p.redirected = true
	}
}

// readHeredocs reads the here-documents of the line before. The commands that read them have their texts.
func (p *parser) readHeredocs() {
	for _, doc := range p.heredocs {
		var text strings.Builder
		for p.text != "" {
			line := p.advance(p.lineLength())
			if doc.tabs {
				line = strings.TrimLeft(line, "\t")
			}
			if strings.TrimRight(line, "\r\n") == doc.delimiter {
				break
			}
			text.WriteString(line)
		}
		expands := doc.quoted && strings.Contains(text.String(), "${{") || !doc.quoted && strings.ContainsAny(text.String(), "$`\\")
		*doc.text = Word{text.String(), !expands}
	}
	p.heredocs = nil
}

// part reads a part of a word.
func (p *parser) part(c byte) {
	switch {
	case c == '\'':
		p.advance(1)
		quoted, _, _ := strings.Cut(p.text, "'")
		p.advance(len(quoted) + 1)
		text, _, expression := strings.Cut(quoted, "${{") // GitHub replaces it before the shell reads the quotes
		p.add(text, !expression)
	case c == '"':
		p.advance(1)
		for p.text != "" && !p.accept(`"`) {
			if len(p.text) > 1 && p.text[0] == '\\' && strings.IndexByte("$`\"\\\n", p.text[1]) < 0 {
				p.add(p.advance(1), true) // which quotes nothing there
			}
			p.character()
		}
	default:
		p.character()
	}
}

func (p *parser) add(text string, literal bool) {
	if p.literal {
		p.word = append(p.word, text...)
	}
	p.literal = p.literal && literal
}

// character reads a character, an escaped one or an expansion, within double quotes or outside of quotes.
func (p *parser) character() {
	switch {
	case p.accept("\\\n"):
	case p.text[0] == '\\' && len(p.text) > 1:
		p.advance(1)
		p.add(p.advance(1), true)
	case strings.HasPrefix(p.text, "${{"):
		p.skip("}}")
	case strings.HasPrefix(p.text, "$("):
		p.skipNested('(', ')')
	case strings.HasPrefix(p.text, "${"):
		p.skipNested('{', '}')
	case p.text[0] == '`':
		p.advance(1)
		p.skip("`")
	case p.text[0] == '$':
		p.advance(1)
		p.add("", false)
	default:
		p.add(p.advance(1), true)
	}
}

// skip moves behind the next end.
func (p *parser) skip(end string) {
	p.add("", false)
	text, _, _ := strings.Cut(p.text, end)
	p.advance(len(text) + len(end))
}

// skipNested moves behind the bracket that ends an expansion.
func (p *parser) skipNested(open, end byte) {
	p.add("", false)
	p.advance(1)
	for depth := 0; p.text != ""; {
		switch c := p.advance(1)[0]; c {
		case open:
			depth++
		case end:
			if depth--; depth == 0 {
				return
			}
		}
	}
}
