package projects

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
)

// ImageFormats reads files that name images without credentials: Compose and Dockerfiles.
var ImageFormats = []scanner.Reader{
	{Name: model.Compose, Files: composeNames, Is: isCompose, Read: readCompose, Keys: []string{"services image"}},
	{Name: model.Dockerfile, Is: isDockerfile, Read: readDockerfile},
}

var composeNames = strings.Fields("compose*.yml compose*.yaml docker-compose*.yml docker-compose*.yaml *.compose.yml *.compose.yaml")

func isCompose(f *scanner.File) bool {
	return (!f.IsWalked() || f.HasName(composeNames...)) && slices.ContainsFunc(f.Root().Get("services").Pairs(), func(p node.Pair) bool {
		return p.Value.Get("image").IsText()
	})
}

// readCompose adds the images of services. One that is built has the name under which it is stored, for other services too.
func readCompose(f *scanner.File) {
	services := f.Root().Get("services").Pairs()
	built := map[string]bool{}
	for _, service := range services {
		if service.Value.Get("build") != nil {
			built[service.Value.Get("image").Text()] = true
		}
	}
	for _, service := range services {
		image, policy := service.Value.Get("image"), service.Value.Get("pull_policy").Text()
		if image.IsText() && !built[image.Text()] && policy != "never" && policy != "build" {
			f.Scanner.Reference(f.At(image.Line, "service "+dockerauth.Show(service.Key)), model.Compose, model.Docker, image.Text())
		}
	}
}

var dockerfileNames = []string{"Dockerfile", "Containerfile", "Dockerfile.*", "*.Dockerfile", "*.dockerfile"}

func isDockerfile(f *scanner.File) bool { return f.HasName(dockerfileNames...) }

// maxStages limits the stages of a Dockerfile.
const maxStages = 1000

// readDockerfile adds the images that the stages of a build begin with.
func readDockerfile(f *scanner.File) {
	stages, count := map[string]bool{"scratch": true}, 0
	for line, instruction := range instructions(string(f.Data)) {
		words := slices.DeleteFunc(strings.Fields(instruction), func(word string) bool { return strings.HasPrefix(word, "--") })
		if len(words) < 2 || !strings.EqualFold(words[0], "FROM") {
			continue
		}
		if count++; count > maxStages {
			f.Scanner.Problem(f.At(line, ""), model.ProblemWrongShape,
				"The file has more than %d stages; the others are not read.", maxStages)
			return
		}
		if !stages[strings.ToLower(words[1])] {
			f.Scanner.Reference(f.At(line, ""), model.Dockerfile, model.Docker, words[1])
		}
		if len(words) > 3 && strings.EqualFold(words[2], "AS") {
			stages[strings.ToLower(words[3])] = true
		}
	}
}

// instructions returns the instructions of a Dockerfile with the lines in which they begin, each as one line, without the texts of
// here-documents. As BuildKit reads it, an instruction that ends with a backslash, or what the file names instead, goes on in the next
// line; empty lines and comments between them do not count.
func instructions(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		following := hereDocuments{text: text}
		var instruction strings.Builder
		escape, first, line, goesOn := `\`, 0, 0, false
		for text := range strings.Lines(text) {
			line++
			text = strings.TrimRight(text, "\r\n")
			trimmed := strings.TrimSpace(text)
			switch {
			case following.have(line, text):
				continue
			case strings.HasPrefix(trimmed, "#") && first == 0 && strings.ReplaceAll(strings.ToLower(trimmed), " ", "") == "#escape=`":
				escape = "`"
				continue
			case trimmed == "" || strings.HasPrefix(trimmed, "#"):
				continue
			case !goesOn:
				first = line
			}
			text, goesOn = cutContinuation(text, escape)
			instruction.WriteString(text)
			if goesOn {
				continue
			}
			following.begun = hereDocumentsOf(instruction.String())
			if !yield(first, instruction.String()) {
				return
			}
			instruction.Reset()
		}
		if instruction.Len() > 0 {
			yield(first, instruction.String())
		}
	}
}

// cutContinuation returns a line without the escape at its end, by which the instruction goes on in the next line. A doubled escape is a
// character of the line.
func cutContinuation(line, escape string) (before string, goesOn bool) {
	before, found := strings.CutSuffix(strings.TrimRight(line, " \t"), escape)
	if !found || strings.HasSuffix(before, escape) {
		return line, false
	}
	return before, true
}

// hereDocument is a text in the lines after an instruction, up to the line that is its name. Before the name there may be tabs if the
// instruction has <<- for it.
type hereDocument struct {
	name string
	tabs bool
}

// hereDocuments are those of the last instruction.
type hereDocuments struct {
	begun []hereDocument // in their order
	text  string         // the file
	last  map[string]lastLine
}

// lastLine is the number of the last line with a text: without tabs before it, and of all.
type lastLine struct{ plain, all int }

// have reports whether a line is in a here-document. One without a line that is its end does not count: BuildKit would not
// read the file.
func (h *hereDocuments) have(line int, text string) bool {
	for len(h.begun) > 0 && h.end(h.begun[0]) < line {
		h.begun = h.begun[1:]
	}
	if len(h.begun) == 0 {
		return false
	}
	if h.begun[0].tabs {
		text = strings.TrimLeft(text, "\t")
	}
	if text == h.begun[0].name {
		h.begun = h.begun[1:]
	}
	return true
}

// end returns the last line of the file that could end a here-document, 0 for none.
func (h *hereDocuments) end(of hereDocument) int {
	if h.last == nil {
		h.last = map[string]lastLine{}
		line := 0
		for text := range strings.Lines(h.text) {
			line++
			text = strings.TrimRight(text, "\r\n")
			name := strings.TrimLeft(text, "\t")
			known := h.last[name]
			if known.all = line; name == text {
				known.plain = line
			}
			h.last[name] = known
		}
	}
	if of.tabs {
		return h.last[of.name].all
	}
	return h.last[of.name].plain
}

// hereDocumentsOf returns the here-documents of an instruction, in their order. As in BuildKit, each is a word outside of quotes, and an
// instruction in the form of JSON has none.
func hereDocumentsOf(instruction string) (all []hereDocument) {
	if !strings.Contains(instruction, "<<") || !mayHaveHereDocuments(instruction) {
		return nil
	}
	for rest := strings.TrimSpace(instruction); rest != ""; rest = strings.TrimSpace(rest) {
		length := wordLength(rest)
		if length < 0 {
			return nil
		}
		name, begins := strings.CutPrefix(strings.TrimLeft(rest[:length], "0123456789"), "<<")
		name, tabs := strings.CutPrefix(name, "-")
		if name = unquoted.Replace(strings.TrimSpace(name)); begins && name != "" && !strings.Contains(name, "<") {
			all = append(all, hereDocument{name, tabs})
		}
		rest = rest[length:]
	}
	return all
}

var unquoted = strings.NewReplacer(`"`, "", "'", "", `\`, "")

func mayHaveHereDocuments(instruction string) bool {
	word, rest := cutWord(instruction)
	if strings.EqualFold(word, "ONBUILD") {
		word, rest = cutWord(rest)
	}
	for strings.HasPrefix(rest, "--") {
		_, rest = cutWord(rest)
	}
	return slices.Contains([]string{"RUN", "COPY", "ADD"}, strings.ToUpper(word)) &&
		(!strings.HasPrefix(rest, "[") || !json.Valid([]byte(rest)))
}

func cutWord(text string) (word, rest string) {
	text = strings.TrimSpace(text)
	if end := strings.IndexAny(text, " \t"); end > 0 {
		return text[:end], strings.TrimSpace(text[end:])
	}
	return text, ""
}

// wordLength returns the length of the first word of a text with its quotes, -1 if one is not closed. Blanks after << do not end a word.
func wordLength(text string) int {
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quote != '\'':
			i++
		case c == quote:
			quote = 0
		case quote != 0:
		case c == '"' || c == '\'':
			quote = c
		case c == ' ' || c == '\t':
			return i
		case strings.HasPrefix(text[i:], "<<"):
			after := text[i+2:]
			i += 1 + len(after) - len(strings.TrimLeft(after, " \t"))
		}
	}
	if quote != 0 {
		return -1
	}
	return len(text)
}
