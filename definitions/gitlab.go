package definitions

import (
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
)

// gitlabFormats reads .gitlab-ci.yml.
var gitlabFormats = []format{{GitLabCI, isGitLabCI, readGitLabCI}}

// scriptKeys are the keys of a job whose values are scripts.
var scriptKeys = []string{"before_script", "script", "after_script"}

func isGitLabCI(f *file) bool {
	documents, _ := f.nodes()
	return slices.ContainsFunc(documents, func(root *node.Node) bool {
		return root.Get("apiVersion") == nil && root.Get("jobs") == nil && (isGitLabJob(root) || slices.ContainsFunc(root.Pairs(), func(job node.Pair) bool {
			return isGitLabJob(job.Value)
		}))
	})
}

func isGitLabJob(n *node.Node) bool {
	return slices.ContainsFunc(scriptKeys, func(key string) bool { return n.Get(key).IsArray() || n.Get(key).IsText() }) ||
		n.Get("variables", "DOCKER_AUTH_CONFIG") != nil
}

func readGitLabCI(f *file) {
	for _, root := range f.readable() {
		config := f.gitlabJob(root, "", nil)
		for _, job := range root.Pairs() {
			if job.Key != "variables" {
				f.gitlabJob(job.Value, "job "+dockerauth.Show(job.Key), config)
			}
		}
	}
}

// gitlabJob reads a job, or the defaults of all jobs. It returns the credentials for images, which the job may have from the defaults.
func (f *file) gitlabJob(job *node.Node, object string, config *credentialFile) *credentialFile {
	for _, key := range scriptKeys {
		f.readScript(GitLabCI, job.Get(key), object, "Use a masked variable of the project with --password-stdin.")
	}
	variable := job.Get("variables", "DOCKER_AUTH_CONFIG")
	if value := variable.Get("value"); value != nil {
		variable = value
	}
	if variable != nil {
		config = f.dockerAuthConfig(variable, object)
	}
	if config != nil {
		for _, image := range append([]*node.Node{job.Get("image")}, job.Get("services").Items()...) {
			f.gitlabImage(image, object, config)
		}
	}
	return config
}

// dockerAuthConfig adds the credentials that the runner uses for images, and returns them, nil if they cannot be used.
func (f *file) dockerAuthConfig(variable *node.Node, object string) *credentialFile {
	place := func(line int, key string) Source {
		return f.at(variable.TextLine()+max(line-1, 0), strings.TrimSpace(object+" DOCKER_AUTH_CONFIG "+dockerauth.Show(key)))
	}
	if strings.Contains(variable.Text(), "$") {
		f.scanner.skip(place(0, ""), SkipTemplate, "The value of DOCKER_AUTH_CONFIG has variables, whose values are not in the file.")
		return nil
	}
	c, err := f.scanner.newCredentialFile([]byte(variable.Text()), GitLabCI, place)
	if err != nil {
		f.scanner.problem(place(0, ""), ProblemNotJSON, "The value of DOCKER_AUTH_CONFIG is not valid JSON.")
		return nil
	}
	c.notices = []Notice{secretNotice("Define DOCKER_AUTH_CONFIG as a masked variable of the project.")}
	f.scanner.addCredentials(c)
	if c.config.Rejected(c.rules) != nil {
		return nil
	}
	return &c
}

// maxLookups limits how often an entry of DOCKER_AUTH_CONFIG is compared with an image.
const maxLookups = 1_000_000

// gitlabImage adds the image of a job for which there are credentials. Others are not registries of the user.
func (f *file) gitlabImage(image *node.Node, object string, c *credentialFile) {
	if name := image.Get("name"); name != nil {
		image = name
	}
	if !image.IsText() || strings.Contains(image.Text(), "$") || c.lookups > maxLookups {
		return
	}
	c.lookups += 1 + len(c.config.Entries(c.rules))
	host, path := splitReference(image.Text())
	r := Registry{Sources: []Source{f.at(image.Line, strings.TrimSpace(object+" image"))}, Format: GitLabCI, Consumer: c.consumer}
	r.Definition.Endpoint, r.Definition.BaseContentPath = endpointOf(host), path
	choice := f.scanner.choose(&r, c.config, c.rules, host+"/"+path)
	if r.Definition.Registry() == "" || choice.FromStore || choice.Helper == "" && len(choice.Entries) == 0 {
		return
	}
	r.Notices = append(r.Notices, c.notices...)
	f.scanner.found(r)
}
