package definitions

import (
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
)

// githubFormats reads GitHub workflows and composite actions.
var githubFormats = []format{{GitHubWorkflow, isWorkflow, readWorkflow}}

func isWorkflow(f *file) bool {
	root := f.root()
	if root.Get("runs", "using").Text() == "composite" {
		return true
	}
	for _, job := range root.Get("jobs").Pairs() {
		if root.Get("on") != nil && (job.Value.Get("steps").IsArray() || job.Value.Get("runs-on") != nil || job.Value.Get("uses").IsText()) {
			return true
		}
	}
	return false
}

func readWorkflow(f *file) {
	for _, root := range f.readable() {
		f.workflow(root)
	}
}

func (f *file) workflow(root *node.Node) {
	f.workflowSteps(root.Get("runs"), "action")
	for _, job := range root.Get("jobs").Pairs() {
		object := "job " + dockerauth.Show(job.Key)
		f.workflowSteps(job.Value, object)
		f.containerCredentials(job.Value.Get("container"), object+" container")
		for _, service := range job.Value.Get("services").Pairs() {
			f.containerCredentials(service.Value, object+" service "+dockerauth.Show(service.Key))
		}
	}
}

// isExpression reports whether a value is computed when the workflow runs.
func isExpression(text string) bool { return strings.Contains(text, "${{") }

// workflowAuth sets the credentials of a registry in a workflow.
func (f *file) workflowAuth(e *entry, username, password string) {
	e.Definition.Auth = basicAuth(username, password)
	switch {
	case isExpression(username + password):
		e.Reason, e.Detail = UnresolvedTemplate, "The credentials are expressions, such as secrets of the repository. Check the registry with the values themselves."
	case isECR(e.address):
		e.Reason, e.Detail = UnresolvedCloudIdentity, "The password comes from AWS. Check the registry with a password of AWS."
	case username == "" != (password == ""):
		e.Reason, e.Detail = UnresolvedIncomplete, "The username or the password is missing."
	case password != "":
		e.Notices = append(e.Notices, secretNotice("Use a secret of the repository (${{ secrets.NAME }})."))
	}
}

// containerCredentials reads a container that is pulled with credentials. Without credentials it is not a registry of the user.
func (f *file) containerCredentials(container *node.Node, object string) {
	credentials := container.Get("credentials")
	if !credentials.IsObject() {
		return
	}
	image := container.Get("image").Text()
	e := entry{at: f.at(credentials.Line, object)}
	e.Format, e.Consumer = GitHubWorkflow, Docker
	if isExpression(image) {
		f.scanner.skip(e.at, SkipTemplate, "%s", addressMessages[SkipTemplate])
		return
	}
	host, path := splitReference(strings.TrimPrefix(image, "docker://"))
	e.address = host + "/" + path
	f.workflowAuth(&e, credentials.Get("username").Text(), credentials.Get("password").Text())
	e.add(f.scanner)
}

// workflowSteps reads the steps of a job or composite action in their order: a region that one step sets is used by later ones.
func (f *file) workflowSteps(job *node.Node, object string) {
	region := ""
	for _, step := range job.Get("steps").Items() {
		uses := step.Get("uses")
		action, _, _ := strings.Cut(uses.Text(), "@")
		action = strings.ToLower(action)
		if read := loginActions[action]; read != nil {
			f.loginStep(step, object, read)
		}
		switch {
		case action == "aws-actions/configure-aws-credentials":
			region = step.Get("with", "aws-region").Text()
		case action == "aws-actions/amazon-ecr-login":
			f.ecrLoginStep(step, object, region)
		case strings.HasPrefix(action, "./"):
			f.scanner.skip(f.at(uses.Line, object), SkipLocalAction, "The action %.80q is in the repository, and is read where its own file is.", uses.Text())
		}
		if run := step.Get("run"); run != nil {
			f.readScript(GitHubWorkflow, run, object, "Use a secret of the repository (${{ secrets.NAME }}) with --password-stdin.")
		}
	}
}

// loginInputs are the names of an action's inputs.
type loginInputs struct{ registry, username, password string }

var loginActions = map[string]*loginInputs{
	"docker/login-action":         {"registry", "username", "password"},
	"azure/docker-login":          {"login-server", "username", "password"},
	"redhat-actions/podman-login": {"registry", "username", "password"},
}

// loginStep reads a step that logs in: at one registry, or at those that registry-auth lists as YAML.
func (f *file) loginStep(step *node.Node, object string, inputs *loginInputs) {
	with := step.Get("with")
	list := with.Get("registry-auth")
	if list == nil {
		f.login(with, f.at(step.Get("uses").Line, object), inputs)
		return
	}
	documents, _ := node.YAML([]byte(list.Text()))
	for _, document := range documents {
		for _, item := range document.Items() {
			f.login(item, f.at(list.TextLine()+item.Line-1, object), inputs)
		}
	}
}

// login reads what logs in at one registry, without a name at Docker Hub.
func (f *file) login(with *node.Node, at Source, inputs *loginInputs) {
	e := entry{at: at, address: with.Get(inputs.registry).Text(), path: pathIgnored}
	e.Format, e.Consumer = GitHubWorkflow, Docker
	switch {
	case isExpression(e.address):
		f.scanner.skip(e.at, SkipTemplate, "%s", addressMessages[SkipTemplate])
		return
	case e.address == "":
		e.address = dockerHub
	}
	f.workflowAuth(&e, with.Get(inputs.username).Text(), with.Get(inputs.password).Text())
	if e.Reason == "" && e.Definition.Auth.Password == "" {
		e.Reason, e.Detail = UnresolvedIncomplete, "The step has no username and no password."
	}
	e.add(f.scanner)
}

// ecrLoginStep reads a login at AWS, with the identity of the workflow. The address has an account and a region.
func (f *file) ecrLoginStep(step *node.Node, object, region string) {
	at := f.at(step.Get("uses").Line, object)
	hosts := strings.FieldsFunc(step.Get("with", "registries").Text(), func(c rune) bool { return c == ',' || c == ' ' })
	public := step.Get("with", "registry-type").Text() == "public"
	if !public && (len(hosts) == 0 || region == "" || isExpression(region) || slices.ContainsFunc(hosts, isExpression)) {
		f.scanner.skip(at, SkipTemplate, "The address has the account and the region of the workflow's identity at AWS, which are not in the file.")
		return
	}
	if public {
		hosts = []string{"public.ecr.aws"}
	}
	for _, host := range hosts {
		if !public {
			host += ".dkr.ecr." + region + ".amazonaws.com"
		}
		e := entry{at: at, address: host}
		e.Format, e.Consumer = GitHubWorkflow, Docker
		e.Reason, e.Detail = UnresolvedCloudIdentity, "The workflow gets the password with its identity at AWS. Check the registry with a password of AWS."
		e.add(f.scanner)
	}
}

// dependabotFormats reads the private registries of dependabot.yml.
var dependabotFormats = []format{{Dependabot, isDependabot, readDependabot}}

func isDependabot(f *file) bool {
	root := f.root()
	return root.Get("updates").IsArray() && root.Get("version") != nil && root.Get("registries").IsObject()
}

func readDependabot(f *file) {
	for _, root := range f.readable() {
		for _, registry := range root.Get("registries").Pairs() {
			f.dependabotRegistry(registry)
		}
	}
}

func (f *file) dependabotRegistry(registry node.Pair) {
	n := registry.Value
	e := entry{at: f.at(registry.KeyLine, "registry "+dockerauth.Show(registry.Key)), address: n.Get("url").Text()}
	e.Format = Dependabot
	kind := n.Get("type").Text()
	if e.address == "" { // the default of docker-registry
		e.address = n.Get("registry").Text()
	}
	switch {
	case kind == "helm-registry" && !strings.HasPrefix(e.address, "oci://"):
		f.scanner.skip(e.at, SkipClassicHelm, "The URL does not begin with oci://, so that it is a classic repository with an index.yaml.")
		return
	case kind != "docker-registry" && kind != "helm-registry":
		f.scanner.skip(e.at, SkipNotARegistry, "The type %.40q is not an OCI registry.", kind)
		return
	case isExpression(e.address):
		f.scanner.skip(e.at, SkipTemplate, "%s", addressMessages[SkipTemplate])
		return
	case e.address == "" && kind == "docker-registry":
		e.address = dockerHub
	}
	if kind == "helm-registry" {
		e.Consumer = Helm
	} else {
		e.Consumer = Docker
	}
	f.workflowAuth(&e, n.Get("username").Text(), n.Get("password").Text())
	if role := n.Get("aws-role-name"); role != nil || n.Get("tenant-id") != nil {
		e.Reason, e.Detail = UnresolvedCloudIdentity, "Dependabot gets the password with its identity at a cloud provider."
	}
	e.add(f.scanner)
}
