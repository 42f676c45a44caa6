package projects

import (
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/docker"
	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/kubernetes"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/lazyregexp"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// TerraformFormats returns the readers of terraform show -json, terraform.tfstate and .tf. Manifests in them are objects of the cluster.
func TerraformFormats(cluster *kubernetes.Cluster) []scanner.Reader {
	t := terraform{cluster}
	return []scanner.Reader{
		{Name: model.Terraform, Files: []string{"*.tf"}, Is: isTerraformFile, Read: t.read},
		{Name: model.Terraform, Is: isTerraformJSON, Read: t.read, Keys: []string{
			"lineage terraform_version", "format_version values", "format_version planned_values", "format_version resource_changes"}}}
}

type terraform struct{ cluster *kubernetes.Cluster }

// terraformFile matches the beginning of a block that defines a registry.
var terraformFile = lazyregexp.New(`(?m)^[ \t]*(` +
	`resource[ \t]+"?(spectrocloud_registry_oci|harbor_registry|helm_release|kubernetes_secret(_v1)?|kubernetes_manifest)"?[ \t]` +
	`|provider[ \t]+"?(docker|helm)"?[ \t]*\{)`)

func isTerraformFile(f *scanner.File) bool {
	return !f.LooksLikeJSON() && terraformFile.Get().Match(f.Data)
}

func isTerraformJSON(f *scanner.File) bool {
	if !f.LooksLikeJSON() {
		return false
	}
	root := f.Root()
	if root.Get("lineage") != nil && root.Get("terraform_version") != nil {
		return true
	}
	return root.Get("format_version") != nil && (root.Get("values") != nil || root.Get("planned_values") != nil ||
		root.Get("resource_changes") != nil)
}

func (t terraform) read(f *scanner.File) {
	if !f.LooksLikeJSON() {
		t.readHCL(f)
		return
	}
	for _, root := range f.Readable() {
		t.readJSON(f, root)
	}
}

func (t terraform) readJSON(f *scanner.File, root *node.Node) {
	for _, resource := range root.Get("resources").Items() { // terraform.tfstate
		address := stateAddress(resource)
		for _, instance := range resource.Get("instances").Items() {
			t.resource(f, resource, tfValues{values: instance.Get("attributes")}, address+stateIndex(instance))
		}
	}
	t.module(f, root.Get("values", "root_module"))
	changes := root.Get("resource_changes").Items()
	for _, resource := range changes {
		change := resource.Get("change")
		if after := change.Get("after"); after.IsObject() { // null if it will be deleted
			t.resource(f, resource, tfValues{values: after, unknown: change.Get("after_unknown")}, resource.Get("address").Text())
		}
	}
	if len(changes) == 0 {
		t.module(f, root.Get("planned_values", "root_module"))
	}
	for _, config := range root.Get("configuration", "provider_config").Pairs() {
		terraformProvider(f, config.Value.Get("name").Text(), config.Value.Get("expressions"), "provider "+config.Key, nil)
	}
}

// stateAddress returns the address of a resource in terraform.tfstate, of a long one the beginning.
func stateAddress(resource *node.Node) string {
	address := resource.Get("type").Text() + "." + resource.Get("name").Text()
	if module := resource.Get("module").Text(); module != "" {
		address = module + "." + address
	}
	return scanner.Short(address)
}

// stateIndex returns the index of an instance as it follows the address of its resource.
func stateIndex(instance *node.Node) string {
	index := instance.Get("index_key")
	switch {
	case index.IsText():
		return `["` + index.Text() + `"]`
	case index.Text() != "":
		return "[" + index.Text() + "]"
	}
	return ""
}

// module reads the resources of a module and its child modules. The depth of the file is limited.
func (t terraform) module(f *scanner.File, module *node.Node) {
	for _, resource := range module.Get("resources").Items() {
		t.resource(f, resource, tfValues{values: resource.Get("values")}, resource.Get("address").Text())
	}
	for _, child := range module.Get("child_modules").Items() {
		t.module(f, child)
	}
}

// resource reads a resource of Terraform's JSON. Data sources have no credentials.
func (t terraform) resource(f *scanner.File, resource *node.Node, v tfValues, address string) {
	if resource.Get("mode").Text() != "data" {
		t.known(f, resource.Get("type").Text(), v, address)
	}
}

// known reads a resource of a type that defines a registry.
func (t terraform) known(f *scanner.File, name string, v tfValues, address string) {
	switch strings.TrimSuffix(name, "_v1") {
	case "spectrocloud_registry_oci":
		spectrocloudRegistry(f, v, address)
	case "harbor_registry":
		harborResource(f, v, address)
	case "helm_release":
		helmRelease(f, v, address)
	case "kubernetes_secret":
		kubernetesSecret(f, v, address)
	case "kubernetes_manifest":
		if manifest := v.get("manifest"); manifest.IsObject() && !manifest.HasExpression() {
			t.cluster.AddObject(f, manifest)
		}
	}
}

// helmRelease adds the chart of a release in an OCI registry or a chart repository, with the credentials of the release.
func helmRelease(f *scanner.File, v tfValues, address string) {
	attribute, chart := "repository", v.text("chart")
	e := scanner.Entry{At: v.at(f, attribute, address), Address: strings.TrimSuffix(v.text(attribute), "/") + "/" + chart}
	if strings.HasPrefix(chart, "oci://") {
		attribute, e.Address = "chart", chart
		e.At = v.at(f, attribute, address)
	}
	e.Consumer = model.Helm
	e.Definition.Auth = scanner.BasicAuth(v.text("repository_username"), v.text("repository_password"))
	anonymous := scanner.HelmAnonymous
	switch scheme, _, _ := strings.Cut(e.Address, "://"); scheme {
	case "oci":
		e.Version = v.text("version")
	case "https", "http":
		anonymous = scanner.HelmRepositoryAnonymous
		e.Address = v.text(attribute)
		e.OfCharts(chart, v.text("version"))
		e.Definition.Auth.PassCredentials = v.get("pass_credentials").Bool()
		helmTLS(f, &e, false, v.text("repository_ca_file"), v.text("repository_cert_file"), v.text("repository_key_file"))
	default:
		return // a directory, or an expression
	}
	if v.get("repository_username") == nil && v.get("repository_password") == nil {
		e.Notices = append(e.Notices, anonymous)
	}
	v.entry(f, e, attribute, "chart", "repository_username", "repository_password")
}

// kubernetesSecret adds the entries of a pull Secret, whose values are not in base64 here.
func kubernetesSecret(f *scanner.File, v tfValues, address string) {
	key := map[string]string{"kubernetes.io/dockerconfigjson": ".dockerconfigjson", "kubernetes.io/dockercfg": ".dockercfg"}[v.text("type")]
	value := v.get("data").Get(key)
	switch {
	case key == "" || v.get("data") == nil:
		return
	case !value.IsText():
		f.Scanner.Skip(v.at(f, "data", address), model.SkipTemplate,
			"The data of the pull Secret are an expression. Read the output of terraform show -json instead.")
		return
	}
	format := model.DockerConfig
	if key == ".dockercfg" {
		format = model.Dockercfg
	}
	at := v.at(f, "data", address)
	c, err := docker.NewCredentialFile(f.Scanner, []byte(value.Text()), format, func(int, string) model.Source { return at })
	if err != nil {
		f.Scanner.Problem(at, model.ProblemNotJSON, "Kubernetes rejects the Secret: the value %s is not valid JSON.", key)
		return
	}
	c.Reader, c.Consumer, c.Cluster = model.Terraform, f.Scanner.Consumer(model.Kubelet), true
	c.Rules = docker.RulesOf(c.Consumer, model.Kubernetes)
	if v.literal != nil {
		c.Notices = []model.Notice{*v.literal}
	}
	c.Add(f.Scanner)
}

func (t terraform) readHCL(f *scanner.File) {
	root, err := node.HCL(f.Data)
	if err != nil {
		f.Scanner.Problem(f.At(0, ""), model.ProblemWrongShape, "The file is not in Terraform's language: %v.", err)
		return
	}
	inRepository := scanner.SecretNotice("Use a variable that is marked as sensitive, and set it from the secrets of the pipeline.")
	for _, block := range root.Pairs() {
		for _, first := range block.Value.Pairs() {
			switch block.Key {
			case "provider":
				terraformProvider(f, first.Key, first.Value, "provider."+first.Key, &inRepository)
			case "resource":
				for _, resource := range first.Value.Pairs() {
					t.known(f, first.Key, tfValues{values: resource.Value, literal: &inRepository}, first.Key+"."+resource.Key)
				}
			}
		}
	}
}

// terraformProvider reads the credentials of the providers docker and helm.
func terraformProvider(f *scanner.File, name string, config *node.Node, address string, literal *model.Notice) {
	switch name {
	case "docker":
		for _, block := range tfBlocks(config, "registry_auth") {
			dockerProvider(f, tfValues{values: block, literal: literal}, address)
		}
	case "helm":
		for _, key := range []string{"registry", "registries"} {
			for _, block := range tfBlocks(config, key) {
				helmProvider(f, tfValues{values: block, literal: literal}, address)
			}
		}
	}
}

// tfBlocks returns the blocks of a name, or the elements of the list of this name.
func tfBlocks(config *node.Node, name string) (blocks []*node.Node) {
	for _, member := range config.Pairs() {
		value := member.Value
		if constant := value.Get("constant_value"); constant != nil {
			value = constant
		}
		switch {
		case member.Key != name:
		case value.IsArray():
			blocks = append(blocks, value.Items()...)
		default:
			blocks = append(blocks, value)
		}
	}
	return blocks
}

// tfValues are the attributes of a resource or block.
type tfValues struct {
	values  *node.Node
	unknown *node.Node    // of the same shape: true where the value is known only after apply
	literal *model.Notice // for secrets that are literals, nil if the file is not one of a repository
}

// block returns the first block of a name, of those that occur once.
func (v tfValues) block(name string) tfValues {
	first := tfValues{literal: v.literal}
	if blocks := tfBlocks(v.values, name); len(blocks) > 0 {
		first.values = blocks[0]
	}
	if unknown := v.unknown.Get(name); unknown.IsArray() && len(unknown.Items()) > 0 {
		first.unknown = unknown.Items()[0]
	} else {
		first.unknown = unknown
	}
	return first
}

// get returns the value of an attribute; a plan's configuration has constants in "constant_value".
func (v tfValues) get(name string) *node.Node {
	value := v.values.Get(name)
	if constant := value.Get("constant_value"); constant != nil {
		return constant
	}
	return value
}

func (v tfValues) text(name string) string { return v.get(name).Text() }

// at returns the line of an attribute, or of the block if it has none.
func (v tfValues) at(f *scanner.File, name, address string) model.Source {
	address = dockerauth.Show(address)
	line := v.get(name)
	if line == nil {
		line = v.values
	}
	if line == nil {
		return f.At(0, address)
	}
	return f.At(line.Line, address)
}

// missing returns why one of the attributes has no value here, "" if all have one or are not set.
func (v tfValues) missing(names ...string) (model.UnresolvedReason, model.Detail) {
	for _, name := range names {
		value := v.get(name)
		switch {
		case v.unknown.Bool() || v.unknown.Get(name).Bool():
			return model.UnresolvedUnknownUntilApply, model.Detail("Terraform knows " + name + " only after apply. Read the state instead.")
		case v.values.IsExpression() || value.IsExpression() || value.Get("references") != nil:
			return model.UnresolvedTemplate, model.Detail("The value of " + name +
				" is an expression. Read the output of terraform show -json instead.")
		}
	}
	return "", ""
}

// entry adds what all kinds have: the address in one attribute, the values that must be known, and a notice for a literal secret.
func (v tfValues) entry(f *scanner.File, e scanner.Entry, address string, needed ...string) {
	e.Format = model.Terraform
	if auth := e.Definition.Auth; v.literal != nil && auth != nil && auth.Password+auth.Token != "" {
		e.Notices = append(e.Notices, *v.literal)
	}
	if _, detail := v.missing(address); detail != "" {
		addComputed(f, e, detail)
		return
	}
	if e.Address == "" {
		e.Address = v.text(address)
	}
	if e.Reason == "" {
		e.Reason, e.Detail = v.missing(needed...)
	}
	if e.Reason == model.UnresolvedTemplate && scanner.IsECR(e.Address) {
		e.Reason, e.Detail = model.UnresolvedCloudIdentity, "Terraform gets the password from AWS when it runs."
	}
	e.Add(f.Scanner)
}

// spectrocloudRegistry follows the provider: TLS settings are always enabled, a certificate without a key is a trusted one, and noAuth
// drops username and password.
func spectrocloudRegistry(f *scanner.File, v tfValues, address string) {
	e := scanner.Entry{At: v.at(f, "endpoint", address), Path: scanner.PathOfAPI}
	credentials := v.block("credentials")
	tls := credentials.block("tls_config")
	auth := &regcheck.Auth{Type: regcheck.NoAuth, TLS: regcheck.TLS{
		Enabled: true, CA: tls.text("certificate"), InsecureSkipVerify: tls.get("insecure_skip_verify").Bool()}}
	e.Definition = regcheck.Definition{ProviderType: regcheck.ProviderType(v.text("provider_type")),
		BasePath: v.text("endpoint_suffix"), BaseContentPath: v.text("base_content_path"), Auth: auth}
	if auth.TLS.CA == "" && !auth.TLS.InsecureSkipVerify {
		auth.TLS = regcheck.TLS{}
	}
	if v.text("type") == "ecr" {
		spectrocloudECR(f, v, credentials, e)
		return
	}
	if e.Reason, e.Detail = credentials.missing("credential_type", "username", "password"); e.Reason == "" {
		e.Reason, e.Detail = tls.missing("certificate")
	}
	if credentials.text("credential_type") == "basic" {
		auth.Type, auth.Username, auth.Password = regcheck.Basic, credentials.text("username"), secret.String(credentials.text("password"))
		if auth.Password == "" && e.Reason == "" {
			e.Reason, e.Detail = model.UnresolvedIncomplete, "The state has no password: the resource was imported. Run terraform apply, "+
				"then read the state again."
		}
	}
	v.entry(f, e, "endpoint", "type", "endpoint_suffix", "base_content_path", "provider_type")
}

// spectrocloudECR adds a registry for which Palette obtains a password from AWS: with a key of the resource, or by a role.
func spectrocloudECR(f *scanner.File, v, credentials tfValues, e scanner.Entry) {
	key := &regcheck.AWSKey{AccessKey: credentials.text("access_key"), SecretKey: secret.String(credentials.text("secret_key"))}
	e.Reason, e.Detail = credentials.missing("credential_type", "access_key", "secret_key")
	switch {
	case e.Reason != "":
	case credentials.text("credential_type") == "secret" && key.AccessKey != "" && key.SecretKey != "":
		e.Definition.Auth.Type, e.Definition.Auth.AWS = regcheck.ECR, key
		if v.literal != nil {
			e.Notices = append(e.Notices, *v.literal)
		}
	default:
		e.Reason, e.Detail = model.UnresolvedCloudIdentity, "Palette uses a role of AWS to get a password."
	}
	v.entry(f, e, "endpoint")
}

// dockerProvider follows the provider docker: a username takes precedence over the configuration in the block, and that over a file.
func dockerProvider(f *scanner.File, v tfValues, address string) {
	e := scanner.Entry{At: v.at(f, "address", address), Path: scanner.PathIgnored}
	e.Consumer = model.Docker
	switch content := v.get("config_file_content"); {
	case v.get("auth_disabled").Bool():
	case v.get("username") != nil:
		e.Definition.Auth = scanner.BasicAuth(v.text("username"), v.text("password"))
	case content.IsText():
		dockerProviderContent(f, &e, content.Text(), v.text("address"))
	case content == nil && v.get("config_file") != nil:
		e.Reason, e.Detail = model.UnresolvedConfigFile, "The credentials are in config_file. Read that file."
	case content == nil:
		e.Reason, e.Detail = model.UnresolvedConfigFile, "The provider uses its environment variables or ~/.docker/config.json. Read "+
			"that file."
	}
	v.entry(f, e, "address", "username", "password", "config_file_content", "auth_disabled")
}

// dockerProviderContent chooses the credentials of a file that is in a text.
func dockerProviderContent(f *scanner.File, e *scanner.Entry, content, address string) {
	c, err := docker.NewCredentialFile(f.Scanner, []byte(content), model.DockerConfig, nil)
	if err != nil {
		e.Reason, e.Detail = model.UnresolvedIncomplete, "The text in config_file_content is not valid JSON."
		return
	}
	docker.Choose(f.Scanner, &e.Registry, c.Config, c.Rules, scanner.HostOf(address))
}

// helmProvider follows the provider helm, which logs in to the host of the URL.
func helmProvider(f *scanner.File, v tfValues, address string) {
	e := scanner.Entry{At: v.at(f, "url", address), Path: scanner.PathIgnored}
	e.Consumer = model.Helm
	e.Definition.Auth = scanner.BasicAuth(v.text("username"), v.text("password"))
	v.entry(f, e, "url", "username", "password")
}

func harborResource(f *scanner.File, v tfValues, address string) {
	e := scanner.Entry{At: v.at(f, "endpoint_url", address)}
	e.Definition.Auth = scanner.BasicAuth(v.text("access_id"), v.text("access_secret"))
	e.Definition.Auth.TLS = harborTLS(v.get("insecure"), v.text("ca_certificate"))
	kind := v.text("provider_name")
	if name := harborKinds[kind]; name != "" {
		kind = name
	}
	if skipHarborKind(f, e.At, kind) {
		return
	}
	e.Address = harborAddress(kind, v.text("endpoint_url"))
	v.entry(f, e, "endpoint_url", "provider_name", "access_id", "access_secret", "insecure", "ca_certificate")
}
