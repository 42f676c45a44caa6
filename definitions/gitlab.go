package definitions

import (
	"slices"

	"github.com/regwarden/regwarden/definitions/internal/node"
)

// gitlabFormats reads .gitlab-ci.yml.
var gitlabFormats = []format{{GitLabCI, isGitLabCI, readGitLabCI}}

// scriptKeys are the keys of a job whose values are scripts.
var scriptKeys = []string{"before_script", "script", "after_script"}

func isGitLabCI(f *file) bool {
	documents, err := f.nodes()
	return err == nil && slices.ContainsFunc(documents, func(root *node.Node) bool {
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
	documents, err := f.nodes()
	if err != nil {
		f.unrecognized()
		return
	}
	for _, root := range documents {
		f.gitlabJob(root, "")
		for _, job := range root.Pairs() {
			if job.Key != "variables" {
				f.gitlabJob(job.Value, "job "+job.Key)
			}
		}
	}
}

// gitlabJob reads a job, or the defaults of all jobs.
func (f *file) gitlabJob(job *node.Node, object string) {
	for _, key := range scriptKeys {
		f.readScript(GitLabCI, job.Get(key), object, "Use a masked variable of the project with --password-stdin.")
	}
	config := job.Get("variables", "DOCKER_AUTH_CONFIG")
	if value := config.Get("value"); value != nil {
		config = value
	}
	if config != nil {
		f.dockerAuthConfig(config, object)
	}
}

// dockerAuthConfig reads the credentials that the runner uses for images.
func (f *file) dockerAuthConfig(config *node.Node, object string) {
	at := f.at(config.TextLine(), object+" DOCKER_AUTH_CONFIG")
	f.scanner.skip(at, SkipTemplate, "The value of DOCKER_AUTH_CONFIG is a variable, whose value is not in the file.")
}
