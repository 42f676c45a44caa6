package projects

import (
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

// readCompose adds the images of services. One that is built has the name under which it is stored.
func readCompose(f *scanner.File) {
	for _, service := range f.Root().Get("services").Pairs() {
		if image := service.Value.Get("image"); image.IsText() && service.Value.Get("build") == nil {
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
	stages, line, count := map[string]bool{"scratch": true}, 0, 0
	for text := range strings.Lines(string(f.Data)) {
		line++
		words := slices.DeleteFunc(strings.Fields(text), func(word string) bool { return strings.HasPrefix(word, "--") })
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
