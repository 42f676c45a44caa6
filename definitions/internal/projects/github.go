package projects

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/lazyregexp"
)

// GitHubFormats reads GitHub workflows and composite actions.
var GitHubFormats = []scanner.Reader{{Name: model.GitHubWorkflow,
	Names: []string{".github/workflows/*.yml", ".github/workflows/*.yaml", "action.yml",
		"action.yaml"}, Is: isWorkflow, Keys: []string{"runs using", "on jobs"},
	Read: readWorkflow}}

func isWorkflow(f *scanner.File) bool {
	root := f.Root()
	if root.Get("runs", "using").Text() == "composite" {
		return true
	}
	return root.Get("on") != nil && slices.ContainsFunc(root.Get("jobs").Pairs(), func(job node.Pair) bool {
		return job.Value.Get("steps").IsArray() || job.Value.Get("runs-on") != nil || job.Value.Get("uses").IsText()
	})
}

func readWorkflow(f *scanner.File) {
	for _, root := range f.Readable() {
		workflow(f, root)
	}
}

func workflow(f *scanner.File, root *node.Node) {
	ofFile := scripts{File: f, format: model.GitHubWorkflow, set: map[string]bool{},
		instead: "Use a secret of the repository (${{ secrets.NAME }}) with --password-stdin."}
	if bytes.Contains(f.Data, []byte("GITHUB_ENV")) {
		for _, found := range assignment.Get().FindAllSubmatch(f.Data, -1) {
			ofFile.set[string(found[1])] = true
		}
		for line := range bytes.Lines(f.Data) {
			ofFile.unknown = ofFile.unknown || bytes.Contains(line, []byte("GITHUB_ENV")) && !written.Get().Match(line)
		}
	}
	ofFile.unknown = ofFile.unknown || bytes.Contains(f.Data, []byte("exportVariable"))
	ofFile = ofFile.with(root.Get("env"))
	ofFile.steps(root.Get("runs"), "action")
	for _, job := range root.Get("jobs").Pairs() {
		object := "job " + dockerauth.Show(job.Key)
		ofFile.with(job.Value.Get("env")).steps(job.Value, object)
		containerCredentials(f, job.Value.Get("container"), object+" container")
		for _, service := range job.Value.Get("services").Pairs() {
			containerCredentials(f, service.Value, object+" service "+dockerauth.Show(service.Key))
		}
	}
}

// assignment matches what steps may append to GITHUB_ENV, which sets a variable for later steps.
var assignment = lazyregexp.New(`([A-Za-z_]\w*)(?:=|<<)`)

// written matches a line that appends a variable with a name to GITHUB_ENV.
var written = lazyregexp.New(`["'\s][A-Za-z_]\w*(?:=|<<).*GITHUB_ENV`)

// with returns the scripts within a workflow, a job or a step that sets variables.
func (s scripts) with(env *node.Node) scripts {
	pairs := env.Pairs()
	if len(pairs) == 0 {
		return s
	}
	s.Scanner.CheckLimits()
	all := map[string]string{}
	if len(pairs) <= maxVariables {
		maps.Copy(all, s.variables)
	}
	for _, p := range pairs[:min(len(pairs), maxVariables)] {
		if delete(all, p.Key); plain.Get().MatchString(p.Value.Text()) && !s.set[p.Key] && !s.unknown {
			all[p.Key] = p.Value.Text()
		}
	}
	s.variables = all
	return s
}

// maxVariables limits the variables of a workflow, a job or a step.
const maxVariables = 50

// text returns a value with the values of the variables in it.
func (s scripts) text(n *node.Node) string {
	return pipelineExpression.Get().ReplaceAllStringFunc(n.Text(), func(found string) string {
		return cmp.Or(variableIn(found, s.variables), found)
	})
}

// isExpression reports whether a value is computed when the workflow runs.
func isExpression(text string) bool { return strings.Contains(text, "${{") }

// workflowAuth sets the credentials of a registry in a workflow.
func workflowAuth(e *scanner.Entry, username, password string) {
	e.Definition.Auth = scanner.BasicAuth(username, password)
	switch {
	case isExpression(username + password):
		e.Reason, e.Detail = model.UnresolvedTemplate, "The credentials are expressions, such as secrets of the repository. Check the "+
			"registry with the values themselves."
	case scanner.IsECR(e.Address):
		e.Reason, e.Detail = model.UnresolvedCloudIdentity, "The password comes from AWS. Check the registry with a password of AWS."
	case username == "" != (password == ""):
		e.Reason, e.Detail = model.UnresolvedIncomplete, "The username or the password is missing."
	case password != "":
		e.Notices = append(e.Notices, scanner.SecretNotice("Use a secret of the repository (${{ secrets.NAME }})."))
	}
}

// containerCredentials reads a container. Without credentials it is a reference.
func containerCredentials(f *scanner.File, container *node.Node, object string) {
	credentials := container.Get("credentials")
	image := container.Get("image").Text()
	if !credentials.IsObject() {
		if container.IsText() {
			image = container.Text()
		}
		if container != nil {
			f.Scanner.Reference(f.At(container.Line, object), model.GitHubWorkflow, model.Docker, image)
		}
		return
	}
	e := scanner.Entry{At: f.At(credentials.Line, object)}
	e.Format, e.Consumer = model.GitHubWorkflow, model.Docker
	if isExpression(image) {
		workflowAuth(&e, credentials.Get("username").Text(), credentials.Get("password").Text())
		addComputed(f, e, computedAddress)
		return
	}
	host, path := scanner.SplitReference(strings.TrimPrefix(image, "docker://"))
	e.Address = host + "/" + path
	workflowAuth(&e, credentials.Get("username").Text(), credentials.Get("password").Text())
	e.Add(f.Scanner)
}

// steps reads the steps of a job or composite action in their order: a region that one step sets is used by later ones.
func (s scripts) steps(job *node.Node, object string) {
	f, region := s.File, ""
	for _, step := range job.Get("steps").Items() {
		uses := step.Get("uses")
		action, _, _ := strings.Cut(uses.Text(), "@")
		action = strings.ToLower(action)
		if read := loginActions[action]; read != nil {
			s.loginStep(step, object, read)
		}
		switch {
		case action == "aws-actions/configure-aws-credentials":
			if region = s.text(step.Get("with", "aws-region")); len(region) > maxRegion {
				region = ""
			}
		case action == "aws-actions/amazon-ecr-login":
			ecrLoginStep(f, step, object, region)
		case strings.HasPrefix(action, "./"):
			f.Scanner.Skip(f.At(uses.Line, object), model.SkipLocalAction,
				"The action %.80q is in the repository, and is read where its own file is.", uses.Text())
		}
		if run := step.Get("run"); run != nil {
			s.with(step.Get("env")).read(run, object)
		}
	}
}

// maxRegion is more than the length of any region's name, which is a part of each address.
const maxRegion = 64

// loginInputs are the names of an action's inputs.
type loginInputs struct{ registry, username, password string }

var loginActions = map[string]*loginInputs{
	"docker/login-action":         {"registry", "username", "password"},
	"azure/docker-login":          {"login-server", "username", "password"},
	"redhat-actions/podman-login": {"registry", "username", "password"},
}

// loginStep reads a step that logs in: at one registry, or at those that registry-auth lists as YAML.
func (s scripts) loginStep(step *node.Node, object string, inputs *loginInputs) {
	f, s := s.File, s.with(step.Get("env"))
	with := step.Get("with")
	list := with.Get("registry-auth")
	if list == nil {
		s.login(with, f.At(step.Get("uses").Line, object), inputs, step.Get("env", "DOCKERHUB_OIDC_CONNECTIONID") != nil)
		return
	}
	documents, _ := node.YAML([]byte(list.Text()))
	for _, document := range documents {
		for _, item := range document.Items() {
			s.login(item, f.At(list.TextLine()+item.Line-1, object), inputs, false)
		}
	}
}

// login reads what logs in at one registry, without a name at Docker Hub. byIdentity is whether the action gets the password for the
// identity of the job.
func (s scripts) login(with *node.Node, at model.Source, inputs *loginInputs, byIdentity bool) {
	e := scanner.Entry{At: at, Address: s.text(with.Get(inputs.registry)), Path: scanner.PathIgnored}
	e.Format, e.Consumer = model.GitHubWorkflow, model.Docker
	if e.Address == "" {
		e.Address = scanner.DockerHub
	}
	workflowAuth(&e, s.text(with.Get(inputs.username)), s.text(with.Get(inputs.password)))
	switch {
	case isExpression(e.Address):
		addComputed(s.File, e, computedAddress)
		return
	case byIdentity && e.Definition.Auth.Password == "":
		e.Reason, e.Detail = model.UnresolvedCloudIdentity, "Docker Hub gives the password to the identity of the job (OpenID Connect)."
	case e.Reason == "" && e.Definition.Auth.Password == "":
		e.Reason, e.Detail = model.UnresolvedIncomplete, "The step has no username and no password."
	}
	e.Add(s.Scanner)
}

// ecrLoginStep reads a login at AWS, with the identity of the workflow. The address has an account and a region.
func ecrLoginStep(f *scanner.File, step *node.Node, object, region string) {
	at := f.At(step.Get("uses").Line, object)
	hosts := strings.FieldsFunc(step.Get("with", "registries").Text(), func(c rune) bool { return c == ',' || c == ' ' })
	public := step.Get("with", "registry-type").Text() == "public"
	if !public && (len(hosts) == 0 || region == "" || isExpression(region) || slices.ContainsFunc(hosts, isExpression)) {
		f.Scanner.Skip(at, model.SkipTemplate,
			"The address has the account and the region of the workflow's identity at AWS, which are not in the file.")
		return
	}
	if public {
		hosts = []string{"public.ecr.aws"}
	}
	for _, host := range hosts {
		if !public {
			host += ".dkr.ecr." + region + ".amazonaws.com"
		}
		e := scanner.Entry{At: at, Address: host}
		e.Format, e.Consumer = model.GitHubWorkflow, model.Docker
		e.Reason, e.Detail = model.UnresolvedCloudIdentity, "The workflow gets the password with its identity at AWS. Check the registry "+
			"with a password of AWS."
		e.Add(f.Scanner)
	}
}

// DependabotFormats reads the private registries of dependabot.yml.
var DependabotFormats = []scanner.Reader{{Name: model.Dependabot, Names: []string{".github/dependabot.yml", ".github/dependabot.yaml"},
	Is: isDependabot, Read: readDependabot,
	Keys: []string{"updates version registries"}}}

func isDependabot(f *scanner.File) bool {
	root := f.Root()
	return root.Get("updates").IsArray() && root.Get("version") != nil && root.Get("registries").IsObject()
}

func readDependabot(f *scanner.File) {
	for _, root := range f.Readable() {
		for _, registry := range root.Get("registries").Pairs() {
			dependabotRegistry(f, registry)
		}
	}
}

func dependabotRegistry(f *scanner.File, registry node.Pair) {
	n := registry.Value
	e := scanner.Entry{At: f.At(registry.KeyLine, "registry "+dockerauth.Show(registry.Key)), Address: n.Get("url").Text()}
	e.Format = model.Dependabot
	kind := n.Get("type").Text()
	if e.Address == "" { // the default of docker-registry
		e.Address = n.Get("registry").Text()
	}
	switch {
	case kind != "docker-registry" && kind != "helm-registry":
		f.Scanner.Skip(e.At, model.SkipNotARegistry, "The type %.40q is not an OCI registry.", kind)
		return
	case isExpression(e.Address):
		f.Scanner.Skip(e.At, model.SkipTemplate, computedAddress)
		return
	case e.Address == "" && kind == "docker-registry":
		e.Address = scanner.DockerHub
	}
	if kind == "helm-registry" {
		e.Consumer = model.Helm
		if !strings.HasPrefix(e.Address, "oci://") {
			e.OfCharts("", "")
		}
	} else {
		e.Consumer = model.Docker
	}
	workflowAuth(&e, n.Get("username").Text(), n.Get("password").Text())
	if role := n.Get("aws-role-name"); role != nil || n.Get("tenant-id") != nil {
		e.Reason, e.Detail = model.UnresolvedCloudIdentity, "Dependabot gets the password with its identity at a cloud provider."
	}
	e.Add(f.Scanner)
}
