package definitions

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/regwarden/regwarden/definitions/model"
)

const opaque = `
apiVersion: v1
kind: Secret
metadata: {name: push}
type: Opaque
stringData: {.dockerconfigjson: '{"auths": {"one.test": {"username": "ada", "password": "hunter2"}}}'}
---
apiVersion: batch/v1
kind: Job
metadata: {name: build}
spec: {template: {spec: {volumes: [{name: a, secret: {secretName: push}}]}}}
`

const argoTemplate = `
apiVersion: v1
kind: Secret
metadata: {name: a, namespace: argocd, labels: {argocd.argoproj.io/secret-type: repo-creds}}
stringData: {url: "oci://one.test/", type: oci, username: ada, password: hunter2, insecure: "true"}
`

const zarfState = `
apiVersion: v1
kind: Secret
metadata: {name: pull, namespace: a}
type: kubernetes.io/dockerconfigjson
stringData: {.dockerconfigjson: '{"auths": {"127.0.0.1:31999": {"username": "ada", "password": "hunter2"}}}'}
`

// What programs make of an entry, as words of the result: "notice", "skipped", "problem" or "unresolved" before each.
func TestRulesOfConsumers(t *testing.T) {
	auth := func(host string) string {
		return fmt.Sprintf(`{"auths": {"%s": {"username": "ada", "password": "hunter2"}}}`, host)
	}
	for _, tt := range []struct{ name, file, text, want string }{
		{"docker connects to localhost without TLS", "config.json", auth("localhost:5000"), "notice plainHttpFallback"},
		{"docker connects to 127.0.0.2 without TLS", "config.json", auth("127.0.0.2:5000"), "notice plainHttpFallback"},
		{"IPv6 is not a pattern", "config.json", auth("[2001:db8::1]:5000"), ""},
		{"podman reads no password of an old file", "old", `{"one.test": {"username": "a", "password": "b"}}`, "skipped emptyEntry"},
		{"an old file without credentials", "old", `{"one.test": {"email": "a"}}`, ""},
		{"docker uses the same key", "config.json",
			`{"auths": {"one.test": {"auth": "YTpi"}, "https://one.test": {"auth": "YTpj"}}}`, "skipped shadowed"},
		{"a Service", "config.json", auth("registry.a.svc:5000"), "notice onlyFromTheCluster"},
		{"a pull Secret for the node", "secret.yaml", zarfState, "notice onlyFromTheNode,notice plainHttpFallback"},
		{"a Secret that a pod mounts", "all.yaml", opaque, "notice notUsedByConsumer"},
		{"a Secret that no pod mounts", "all.yaml", opaque[:strings.Index(opaque, "---")], "problem wrongShape"},
		{"a template of Argo CD", "secret.yaml", argoTemplate, "notice ignoredField"},
		{"k3s", "k3s/registries.yaml", `{"configs": {"one.test": {"auth": {"token": "hunter2"}}}}`, "notice ignoredField"},
		{"hosts.toml", "certs.d/one.test/hosts.toml",
			"server = 'https://one.test'\n[header]\nx = 'y'\n[host.'https://two.test']\n", "notice ignoredField"},
		{"registries.conf", "registries.conf",
			"[registries.block]\nregistries = ['one.test/']\n[registries.search]\nregistries = ['one.test']\n",
			"skipped blocked"},
		{"a host to be replaced", "config.json", auth("REGISTRY_HOST:5000"), "skipped placeholder"},
		{"a printed address", "helmfile.yaml", "repositories:\n- {name: a, url: 'one.test/%s', oci: true}", "skipped template"},
		{"Renovate at ECR", "renovate.json",
			`{"hostRules": [{"matchHost": "1.dkr.ecr.eu-west-1.amazonaws.com", "username": "AWS", "password": "hunter2"}]}`,
			"notice secretInRepository,notice shortLivedCredentials"},
		{"Renovate's prefix", "renovate.json",
			`{"hostRules": [{"matchHost": "https://one.test", "username": "a", "encrypted": {"password": "x"}}]}`,
			"notice prefixWithoutBoundary,unresolved encrypted"},
		{"Renovate's host", "renovate.json",
			`{"hostRules": [{"matchHost": "https://one.test/", "username": "a", "encrypted": {"password": "x"}}]}`,
			"unresolved encrypted"},
		{"ECR without a region", ".github/workflows/a.yml", ecrLogin("", "registries: '123456789012'"), "skipped template"},
		{"ECR without an account", ".github/workflows/a.yml", ecrLogin("eu-west-1", "a: b"), "skipped template"},
		{"ECR with both", ".github/workflows/a.yml", ecrLogin("eu-west-1", "registries: '123456789012'"), "unresolved cloudIdentity"},
		{"ECR, a region that is too long", ".github/workflows/a.yml", ecrLogin(strings.Repeat("a", 65), "registries: '123456789012'"),
			"skipped template"},
		{"Dependabot at AWS", ".github/dependabot.yml", dependabotOf("aws-role-name: a"), "unresolved cloudIdentity"},
		{"Dependabot at Azure", ".github/dependabot.yml", dependabotOf("tenant-id: a"), "unresolved cloudIdentity"},
		{"Dependabot without an identity", ".github/dependabot.yml", dependabotOf("username: a"), "unresolved incomplete"},
		{"helm pull", "a.sh", helmPull, ""},
		{"helm pull with a username", "a.sh", helmPull + " --username u", "unresolved incomplete"},
		{"helm pull with a password", "a.sh", helmPull + " --password p", "notice secretInRepository,unresolved incomplete"},
		{"helm pull with both", "a.sh", helmPull + " --username u --password p", "notice secretInRepository"},
		{"helm pull without TLS", "a.sh", helmPull + " --plain-http", "notice plainHttp"},
		{"helm pull with a file", "a.sh", helmPull + " --ca-file a", "unresolved configFile"},
		{"helm pull with a file and a username", "a.sh", helmPull + " --ca-file a --username u", "unresolved incomplete"},
		{"helm pull with everything", "a.sh", helmPull + " --ca-file a --username u --password p",
			"notice secretInRepository,unresolved configFile"},
		{"two repositories of a name", "helmfile.yaml",
			"repositories:\n- {name: a, url: one.test, oci: true}\n- {name: a, url: two.test, oci: true}\n",
			"notice conflictingEntries,notice noMatchingCredentials"},
	} {
		s := NewScanner(model.Options{})
		if err := s.AddFile("", fstest.MapFS{tt.file: {Data: []byte(tt.text)}}, tt.file); err != nil {
			t.Fatal(err)
		}
		if got := words(s.Result()); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

const helmPull = "#!/bin/sh\nhelm pull oci://one.test/a"

// ecrLogin returns a workflow that sets a region, and logs in at ECR.
func ecrLogin(region, with string) string {
	return "on: push\njobs:\n  a:\n    steps:\n    - {uses: aws-actions/configure-aws-credentials@v5, with: {aws-region: '" + region +
		"'}}\n    - {uses: aws-actions/amazon-ecr-login@v2, with: {" + with + "}}\n"
}

func dependabotOf(member string) string {
	return "version: 2\nupdates: []\nregistries: {a: {type: docker-registry, url: one.test, " + member + "}}\n"
}

// words returns the words of a result, each once.
func words(r model.Result) string {
	all := map[string]bool{}
	for _, found := range r.Registries {
		for _, notice := range found.Notices {
			all["notice "+string(notice.Code)] = true
		}
		if found.Reason != "" {
			all["unresolved "+string(found.Reason)] = true
		}
	}
	for _, skipped := range r.Skipped {
		all["skipped "+string(skipped.Reason)] = true
	}
	for _, problem := range r.Problems {
		all["problem "+string(problem.Reason)] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(all)), ",")
}
