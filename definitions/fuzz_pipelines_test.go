package definitions

import (
	"testing"

	"github.com/regwarden/regwarden/definitions/model"
)

func FuzzTerraform(f *testing.F) {
	fuzzReader(f, model.Terraform, "main.tf",
		"resource \"spectrocloud_registry_oci\" \"a\" {\n  type = \"basic\"\n  endpoint = \"https://a.test/x\"\n  credentials {\n    "+
			"credential_type = \"basic\"\n    username = \"u\"\n    password = \"hunter2secret\"\n    tls_config { certificate = <<-E\n  "+
			"pem\n  E\n }\n  }\n}\n",
		"provider \"docker\" {\n  registry_auth {\n    address = \"a.test\"\n    username = \"u\"\n    password = \"hunter2secret\"\n  "+
			"}\n}\nprovider \"helm\" { registries = [{ url = \"oci://${x}\", password = \"hunter2secret\" }, { url : "+
			"\"oci://b.test\" }] }\n",
		`{"version": 4, "terraform_version": "1", "lineage": "x", "resources": [{"module": "module.m", "type": "harbor_registry", `+
			`"name": "n", "instances": [{"index_key": 0, "attributes": {"provider_name": "quay", "endpoint_url": "https://quay.io", `+
			`"access_id": "u", "access_secret": "hunter2secret"}}]}]}`,
		`{"format_version": "1.2", "resource_changes": [{"address": "a", "type": "spectrocloud_registry_oci", "change": {"after": `+
			`{"endpoint": "a.test", "credentials": [{"credential_type": "basic", "password": "hunter2secret"}]}, "after_unknown": `+
			`{"credentials": [{"username": true}]}}}], "configuration": {"provider_config": {"d": {"name": "docker", "expressions": `+
			`{"registry_auth": [{"address": {"constant_value": "a.test"}, "password": {"references": ["var.x"]}}]}}}}}`)
}

func FuzzHarbor(f *testing.F) {
	fuzzReader(f, model.HarborRegistries, "registries.json",
		`[{"name": "a", "type": "harbor", "url": "https://a.test", "credential": {"access_key": "u", "access_secret": "hunter2secret"}, `+
			`"insecure": true, "ca_certificate": "pem"}, {"type": "aws-ecr"}]`)
}

func FuzzRenovate(f *testing.F) {
	fuzzReader(f, model.Renovate, "renovate.json5",
		`{hostRules: [{hostType: 'docker', matchHost: 'a.test', username: 'u', password: 'hunter2secret'}, // comment
		{matchHost: 'https://a.test/x', token: 'hunter2secret', authType: 'Basic', insecureRegistry: true},
		{hostType: "helm"}, {encrypted: {}}]}`,
		"module.exports = {hostRules: []}")
}

func FuzzDependabot(f *testing.F) {
	fuzzReader(f, model.Dependabot, "dependabot.yml",
		"version: 2\nregistries:\n  a: {type: docker-registry, url: 'https://a.test', username: u, password: hunter2secret}\n  b: {type: "+
			"helm-registry, url: 'oci://a.test/x', password: '${{secrets.X}}'}\nupdates: []\n")
}

func FuzzGitHubWorkflow(f *testing.F) {
	fuzzReader(f, model.GitHubWorkflow, "w.yml",
		"jobs:\n  a:\n    container: {image: a.test/b, credentials: {username: u, password: hunter2secret}}\n    steps:\n    - uses: "+
			"docker/login-action@v3\n      with: {registry: a.test, username: u, password: hunter2secret}\n    - uses: ./x\n    - uses: "+
			"aws-actions/configure-aws-credentials@v5\n      with: {aws-region: r}\n    - uses: aws-actions/amazon-ecr-login@v2\n      "+
			"with: {registries: '1,2'}\n",
		"runs:\n  using: composite\n  steps:\n  - run: |\n      echo hunter2secret | docker login -u u --password-stdin a.test\n      "+
			"oras login -u 'u' -p \"hunter2secret\" $X <<< y\n      az acr login -n x\n")
}

func FuzzGitLabCI(f *testing.F) {
	fuzzReader(f, model.GitLabCI, ".gitlab-ci.yml",
		"variables:\n  DOCKER_AUTH_CONFIG: '{\"auths\": {\"a.test\": {\"username\": \"u\", \"password\": \"hunter2secret\"}}}'\na:\n  "+
			"script: [docker login -uu -phunter2secret a.test]\n")
}

func FuzzDefinition(f *testing.F) {
	fuzzReader(f, model.RegistryDefinition, "definition.yaml",
		"endpoint: https://a.test\nbaseContentPath: x\nauth: {type: basic, username: u, password: hunter2secret, tls: {enabled: true, "+
			"ca: x}}\n---\n- {endpoint: b.test, auth: {token: '${X}'}}\n",
		`{"items": [{"metadata": {"name": "n"}, "spec": {"endpoint": "a.test", "auth": {"type": "basic", "password": "********"}}}, `+
			`{"endpoint": 1}]}`)
}

// FuzzScript reads logins and commands of Helm in a shell script.
func FuzzScript(f *testing.F) { fuzzReader(f, model.Script, "deploy.sh") }
