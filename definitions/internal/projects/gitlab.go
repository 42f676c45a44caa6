package projects

import (
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/docker"
	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
)

// GitLabFormats reads .gitlab-ci.yml.
var GitLabFormats = []scanner.Reader{{Name: model.GitLabCI, Names: []string{".gitlab-ci.yml"}, Is: isGitLabCI, Read: readGitLabCI,
	Keys: append(scriptKeys,
		"DOCKER_AUTH_CONFIG")}}

// scriptKeys are the keys of a job whose values are scripts.
var scriptKeys = []string{"before_script", "script", "after_script"}

func isGitLabCI(f *scanner.File) bool {
	documents, _ := f.Nodes()
	return slices.ContainsFunc(documents, func(root *node.Node) bool {
		return root.Get("apiVersion") == nil && root.Get("jobs") == nil && (isGitLabJob(root) || slices.ContainsFunc(root.Pairs(),
			func(job node.Pair) bool {
				return isGitLabJob(job.Value)
			}))
	})
}

func isGitLabJob(n *node.Node) bool {
	return slices.ContainsFunc(scriptKeys, func(key string) bool { return n.Get(key).IsArray() || n.Get(key).IsText() }) ||
		n.Get("variables", "DOCKER_AUTH_CONFIG") != nil
}

func readGitLabCI(f *scanner.File) {
	for _, root := range f.Readable() {
		config := gitlabJob(f, root, "", nil)
		for _, job := range root.Pairs() {
			if job.Key != "variables" {
				gitlabJob(f, job.Value, "job "+dockerauth.Show(job.Key), config)
			}
		}
	}
}

// gitlabJob reads a job, or the defaults of all jobs. It returns the credentials for images, which the job may have from the defaults.
func gitlabJob(f *scanner.File, job *node.Node, object string, config *docker.CredentialFile) *docker.CredentialFile {
	own := scripts{File: f, format: model.GitLabCI, instead: "Use a masked variable of the project with --password-stdin."}
	for _, key := range scriptKeys {
		own.read(job.Get(key), object)
	}
	variable := job.Get("variables", "DOCKER_AUTH_CONFIG")
	if value := variable.Get("value"); value != nil {
		variable = value
	}
	if variable != nil {
		config = dockerAuthConfig(f, variable, object)
	}
	for _, image := range append([]*node.Node{job.Get("image")}, job.Get("services").Items()...) {
		gitlabImage(f, image, object, config)
	}
	return config
}

// dockerAuthConfig adds the credentials that the runner uses for images, and returns them, nil if they cannot be used.
func dockerAuthConfig(f *scanner.File, variable *node.Node, object string) *docker.CredentialFile {
	place := func(line int, key string) model.Source {
		return f.At(variable.TextLine()+max(line-1, 0), strings.TrimSpace(object+" DOCKER_AUTH_CONFIG "+dockerauth.Show(key)))
	}
	if strings.Contains(variable.Text(), "$") {
		f.Scanner.Skip(place(0, ""), model.SkipTemplate, "The value of DOCKER_AUTH_CONFIG has variables, whose values are not in the file.")
		return nil
	}
	c, err := docker.NewCredentialFile(f.Scanner, []byte(variable.Text()), model.GitLabCI, place)
	if err != nil {
		f.Scanner.Problem(place(0, ""), model.ProblemNotJSON, "The value of DOCKER_AUTH_CONFIG is not valid JSON.")
		return nil
	}
	c.Config = c.Config.Only(c.Rules)
	c.Notices = []model.Notice{scanner.SecretNotice("Define DOCKER_AUTH_CONFIG as a masked variable of the project.")}
	c.Add(f.Scanner)
	if c.Config.Rejected(c.Rules) != nil {
		return nil
	}
	return &c
}

// gitlabImage adds the image of a job. Without credentials it is a reference.
func gitlabImage(f *scanner.File, image *node.Node, object string, c *docker.CredentialFile) {
	if name := image.Get("name"); name != nil {
		image = name
	}
	if !image.IsText() || strings.Contains(image.Text(), "$") {
		return
	}
	at := f.At(image.Line, strings.TrimSpace(object+" image"))
	if c == nil {
		f.Scanner.Reference(at, model.GitLabCI, model.Docker, image.Text())
		return
	}
	host, path := scanner.SplitReference(image.Text())
	r := model.Registry{Sources: []model.Source{at}, Format: model.GitLabCI,
		Consumer: c.Consumer}
	r.Definition.Endpoint, r.Definition.BaseContentPath = scanner.EndpointOf(host), path
	choice := docker.Choose(f.Scanner, &r, c.Config, c.Rules, host+"/"+path)
	if r.Definition.Registry() == "" || choice.FromStore || choice.Helper == "" && len(choice.Entries) == 0 {
		f.Scanner.Reference(at, model.GitLabCI, model.Docker, image.Text())
		return
	}
	r.Notices = append(r.Notices, c.Notices...)
	f.Scanner.Found(r)
}
