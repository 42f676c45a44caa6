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

// dockerAuthConfig reads the credentials that the runner uses for images, by docker's rules.
func (f *file) dockerAuthConfig(config *node.Node, object string) {
	place := func(line int, key string) Source {
		return f.at(config.TextLine()+max(line-1, 0), strings.TrimSpace(object+" DOCKER_AUTH_CONFIG "+dockerauth.Show(key)))
	}
	if strings.Contains(config.Text(), "$") {
		f.scanner.skip(place(0, ""), SkipTemplate, "The value of DOCKER_AUTH_CONFIG has variables, whose values are not in the file.")
		return
	}
	c, err := f.scanner.newCredentialFile([]byte(config.Text()), DockerConfig, place)
	if err != nil {
		f.scanner.problem(place(0, ""), ProblemNotJSON, "The value of DOCKER_AUTH_CONFIG is not valid JSON.")
		return
	}
	c.format = GitLabCI
	c.notices = []Notice{secretNotice("Define DOCKER_AUTH_CONFIG as a masked variable of the project.")}
	f.scanner.addCredentials(c)
}
