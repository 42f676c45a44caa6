//go:build !race && unix

package definitions

import (
	"strings"
	"testing"
)

const (
	podOfContainers = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n"
	secretOfPackage = pullSecret + `,"one.test":` + credentials + endOfSecret
	fluxInstances   = "---\napiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata: {namespace: a}\n" +
		"spec: {distribution: {registry: one.test/a#, imagePullSecret: p}}\n"
)

// What files of references, scripts and kustomize cost.
func TestCostOfReferencesAndScripts(t *testing.T) {
	testCosts(t, []hostileFile{
		{name: "images", file: "a.yaml", generate: many(podOfContainers, "  - image: one.test/a#\n", "")},
		{name: "the same image", file: "a.yaml", generate: many(podOfContainers, "  - image: one.test/a\n", "")},
		{name: "Dockerfile", file: "Dockerfile", generate: many("", "FROM a#\n", "")},
		{name: "Dockerfile of stages", file: "Dockerfile", generate: many("", "FROM a# AS b#\n", "")},
		{name: "Dockerfile of words", file: "Dockerfile", generate: many("FROM", " a", "\n")},
		{name: "Dockerfile of here-documents", file: "Dockerfile", generate: many("", "RUN a <<A#\n", "")},
		{name: "Compose", file: "compose.yaml", generate: many("services:\n", "  s#: {image: a#}\n", "")},
		{name: "mirrors of OpenShift", file: "a.yaml", generate: many(
			"apiVersion: config.openshift.io/v1\nkind: ImageDigestMirrorSet\nspec:\n  imageDigestMirrors:\n  - mirrors:\n",
			"    - one.test/a#\n", "")},
		{name: "FluxInstances", file: "a.yaml", generate: many(secretOfPackage, fluxInstances, "")},
		{name: "Secrets of a package", file: "a.yaml", generate: many(
			"apiVersion: pkg.crossplane.io/v1\nkind: Provider\nspec:\n  package: one.test/a\n  packagePullSecrets:\n",
			"  - {name: a#}\n", "")},
		{name: "ResourceSet", file: "a.yaml", generate: many(
			"apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nspec:\n  resources:\n",
			"  - {apiVersion: source.toolkit.fluxcd.io/v1, kind: OCIRepository, spec: {url: oci://one.test/a#}}\n", "")},
		{name: "texts of ResourceSets", file: "a.yaml", generate: many("", "---\n"+
			"apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\n"+
			"spec: {resourcesTemplate: '"+
			"{apiVersion: source.toolkit.fluxcd.io/v1, kind: OCIRepository, spec: {url: oci://one.test/a#}}'}\n",
			"")},
		{name: "Secrets and mounts", file: "a.yaml", generate: halves(
			"", "---\napiVersion: v1\nkind: Secret\nmetadata: {name: a#}\nstringData: {.dockerconfigjson: '{}'}\n",
			"---\napiVersion: v1\nkind: Pod\nspec:\n  volumes:\n", "  - secret: {secretName: a#}\n", "")},
		{name: "kustomize resources", file: "kustomization.yaml", generate: many("namespace: a\nresources:\n", "- a#.yaml\n", "")},
		{name: "kustomize literals", file: "kustomization.yaml", generate: many(
			"secretGenerator:\n- name: a\n  literals:\n", "  - a#=b\n", "")},
		{name: "kustomize files", file: "kustomization.yaml", generate: many("secretGenerator:\n- name: a\n  files:\n", "  - a#\n", "")},
		{name: "kustomize generators", file: "kustomization.yaml", generate: many("secretGenerator:\n",
			"- {name: a#, type: kubernetes.io/dockerconfigjson, literals: ['.dockerconfigjson={}']}\n", "")},
		{name: "scripts in scripts", file: "a.sh", generate: many("", "bash <<A#\ndocker login r#.test\n", "")},
		{name: "variables of a script", file: "a.sh", generate: many("", "A#=a\ndocker login $A#\n", "")},
		{name: "variables of a workflow", file: "action.yml", generate: many(
			"runs: {using: composite}\non: push\nenv: {a: b, c: d}\njobs:\n",
			"  a#: {env: {e: f}, steps: [{env: {g: h}, run: \"docker login $a -u $e -p ${{ env.g }}\"}]}\n", "")},
		{name: "logins of a script", file: "a.sh", generate: many("", "docker login a# -u b -p c\n", "")},
		{name: "logins of a Jenkinsfile", file: "Jenkinsfile", generate: many("", "sh 'docker login a# -u b -p c'\n", "")},
		{name: "a Jenkinsfile without ends", file: "Jenkinsfile", generate: many("login ", "sh '''", "")},
		{name: "recipes", file: "Makefile", generate: many("", "\t@-docker login a# -u b -p c\n", "")},
		{name: "a pipeline", file: ".drone.yml", generate: many("steps:\n", "- {name: a, commands: [docker login a# -u b -p c]}\n", "")},
		{name: "a nested pipeline", file: ".drone.yml", generate: many("# login\na: ", "[{a: 1}, ", "1"+strings.Repeat("]", 10))},
		{name: "Talos", file: "a.yaml", generate: many(
			"machine:\n  registries:\n    config:\n", "      a#: {auth: {username: u, password: p}}\n", "")},
		{name: "documents of Talos", file: "a.yaml", generate: halves(
			"", "---\napiVersion: v1alpha1\nkind: RegistryAuthConfig\nname: a#.test\nusername: u\npassword: p\n",
			"", "---\napiVersion: v1alpha1\nkind: RegistryTLSConfig\nname: a#.test\nca: YQ==\n", "")},
		{name: "files in a text", file: "user-data.yaml", generate: many("write_files:\n",
			"- {path: /root/.docker/config.json, content: '{\"auths\": {\"a#.test\": {}}}'}\n", "")},
		{name: "files of Cluster API", file: "a.yaml", generate: many(
			"apiVersion: bootstrap.cluster.x-k8s.io/v1beta1\nkind: KubeadmConfig\nspec:\n  files:\n",
			"  - {path: /etc/registries.yaml, content: 'mirrors: {a#.test: {endpoint: [b#.test]}}'}\n", "")},
		{name: "Nomad", file: "a.nomad", generate: many("job \"a\" {\n",
			"group \"a\" { task \"b\" { config { image = \"one.test/a#\" } } }\n", "}\n")},
		{name: "ECS", file: "a.json", generate: many(`{"containerDefinitions": [{}`, `, {"image": "one.test/a#"}`, "]}")},
		{name: "environments of GitLab Runner", file: "config.toml", generate: many("",
			"[[runners]]\nenvironment = ['DOCKER_AUTH_CONFIG={}']\n", "")},
		{name: "jobs of CircleCI", file: ".circleci/config.yml", generate: many("jobs:\n", "  a#: {docker: [{image: one.test/a#}]}\n", "")},
		{name: "helmwave", file: "helmwave.yml", generate: many("registries:\n", "- {host: a#, username: u, password: p}\n", "")},
		{name: "vendir", file: "vendir.yml", generate: many(
			"directories:\n- contents:\n", "  - {imgpkgBundle: {image: one.test/a#}}\n", "")},
		{name: "releases of Terraform", file: "a.tf", generate: many("",
			"resource \"helm_release\" \"a#\" {\n  chart = \"oci://one.test/a#\"\n}\n", "")},
		{name: "manifests of Terraform", file: "a.tf", generate: many("", "resource \"kubernetes_manifest\" \"a#\" {\n  manifest = {\n"+
			"    apiVersion = \"source.toolkit.fluxcd.io/v1\"\n    kind = \"HelmRepository\"\n"+
			"    spec = { type = \"oci\", url = \"oci://a#.test\" }\n"+
			"  }\n}\n", "")},
	})
}
