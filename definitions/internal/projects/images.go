package projects

import (
	"iter"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/lazyregexp"
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

// hereDocument matches a word that begins a here-document, as BuildKit recognizes it.
var hereDocument = lazyregexp.New(`\s\d*<<-?["']?([A-Za-z_][A-Za-z0-9_]*)`)

// instructions returns the instructions of a Dockerfile with the lines in which they begin, each as one line, without the texts of
// here-documents. As BuildKit reads it, an instruction that ends with a backslash, or what the file names instead, goes on in the next
// line; empty lines and comments between them do not count.
func instructions(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		var ends []string // of the here-documents that follow
		var instruction strings.Builder
		escape, first, line := `\`, 0, 0
		for text := range strings.Lines(text) {
			line++
			text = strings.TrimSpace(text)
			switch {
			case len(ends) > 0:
				if text == ends[0] {
					ends = ends[1:]
				}
				continue
			case strings.HasPrefix(text, "#") && first == 0 && strings.ReplaceAll(strings.ToLower(text), " ", "") == "#escape=`":
				escape = "`"
				continue
			case text == "" || strings.HasPrefix(text, "#"):
				continue
			case instruction.Len() == 0:
				first = line
			}
			part, continues := strings.CutSuffix(text, escape)
			instruction.WriteString(" " + part)
			if continues {
				continue
			}
			ends = hereDocumentsOf(instruction.String())
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

// hereDocumentsOf returns the lines that end the here-documents of an instruction, in their order.
func hereDocumentsOf(instruction string) (ends []string) {
	word, _, _ := strings.Cut(strings.TrimSpace(instruction), " ")
	if !slices.Contains([]string{"RUN", "COPY", "ADD"}, strings.ToUpper(word)) {
		return nil
	}
	for _, found := range hereDocument.Get().FindAllStringSubmatch(instruction, -1) {
		ends = append(ends, found[1])
	}
	return ends
}
