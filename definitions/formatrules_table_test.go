package definitions

import (
	"strconv"
	"testing"
)

func bitbucketStep(name string) string {
	return "{step: {image: {name: one.test/" + name + ", username: u, password: p}, script: []}}"
}

func runnerWith(auths string) string {
	return "[[runners]]\nenvironment = ['DOCKER_AUTH_CONFIG={\"auths\": {" + auths + "}}']\n"
}

func droneStep(settings string) string {
	return "steps: [{name: a, image: plugins/docker, settings: {" + settings + ", username: u, password: p}}]\n"
}

// TestRulesOfTheTable: the registry to which a program sends the credentials of an entry.
func TestRulesOfTheTable(t *testing.T) {
	const (
		regctl    = ".regctl/config.json"
		image     = ",reference https://registry-1.docker.io plugins/docker,notice secretInRepository"
		concourse = "resources: [{name: a, type: registry-image, source: {username: u, password: p, repository: "
		nomad     = "job \"a\" {\n group \"a\" {\n task \"a\" {\n config {\n image = \"one.test/app\"\n" +
			"auth {\n username = \"u\"\n password = \"p\"\n}\n}\n}\n}\n}\n"
		anonymous = "resources: [{name: a, type: registry-image, source: {repository: one.test/app, "
	)
	for _, rule := range []formatRule{
		{name: "a job of Nomad", file: "nomad.job", text: nomad, want: "https://one.test app u p,notice secretInRepository"},
		{name: "a registry of one word", file: ".drone.yml", text: droneStep("registry: 'registry:5000', repo: 'registry:5000/team/app'"),
			want: "https://registry:5000 u p" + image},
		{name: "a registry on the machine itself", file: ".drone.yml", text: droneStep("registry: 'localhost:5000'"),
			want: "https://localhost:5000 u p,reference https://registry-1.docker.io plugins/docker," +
				"notice plainHttpFallback,notice secretInRepository"},
		{name: "the index of Docker Hub", file: ".drone.yml", text: droneStep("registry: 'https://index.docker.io/v1/', repo: acme/app"),
			want: "https://registry-1.docker.io u p" + image},
		{name: "a repository", file: ".drone.yml", text: droneStep("repo: 'one.test/team/app'"),
			want: "https://one.test team/app u p" + image},
		{name: "a registry in a secret", file: ".drone.yml", text: droneStep("registry: {from_secret: registry}, repo: team/app"),
			want: "reference https://registry-1.docker.io plugins/docker,skipped noHost"},
		{name: "a server of Kamal that is a list", file: "config/deploy.yml",
			text: "registry: {server: [SERVER], username: u, password: p}\n", want: "skipped noHost"},
		{name: "a registry without credentials", file: ".drone.yml",
			text: "steps: [{name: a, settings: {registry: 'registry:5000', repo: 'registry:5000/team/app'}}]\n",
			want: "reference https://registry:5000 team/app"},
		{name: "a registry in a secret, without credentials", file: ".drone.yml",
			text: "steps: [{name: a, settings: {registry: {from_secret: registry}, repo: one.test/app}}]\n",
			want: "reference https://one.test app"},
		{name: "an image that some plugins look for in the registry", file: ".drone.yml",
			text: "steps: [{name: a, settings: {access_key: k, registry: one.test, repo: team/app}}]\n"},
		{name: "a registry without credentials and content", file: ".drone.yml",
			text: "steps: [{name: a, settings: {registry: one.test}}]\n"},
		{name: "a registry in a variable", file: ".drone.yml", text: droneStep("repo: '${registry}/team/app'"),
			want: "reference https://registry-1.docker.io plugins/docker,skipped noHost"},
		{name: "a registry in a variable of Concourse", file: "pipeline.yml", text: concourse + "((registry))/team/app}}]\n",
			want: "skipped noHost"},
		{name: "a tag in a variable", file: "pipeline.yml", text: concourse + "'app:${tag}'}}]\n",
			want: "https://registry-1.docker.io library/app u p,notice secretInRepository"},
		{name: "woodpecker", file: ".woodpecker.yaml", text: droneStep("registry: one.test"), want: "https://one.test u p" + image},
		{name: "the host of a registry of regsync", file: "regsync.yml",
			text: "creds: [{registry: docker.io, hostname: 'one.test:5000', user: u, pass: p}]\n",
			want: "https://one.test:5000 u p,notice secretInRepository"},
		{name: "regsync without TLS", file: "regsync.yml",
			text: "creds: [{registry: 'one.test:5000', tls: Disabled, regcert: x, user: u, pass: p}]\n",
			want: "http://one.test:5000 u p,notice plainHttp,notice secretInRepository"},
		{name: "regsync without verification", file: "regsync.yml",
			text: "creds: [{registry: one.test, tls: insecure, user: u, pass: p}]\n",
			want: "https://one.test u p,notice insecureSkipVerify,notice secretInRepository"},
		{name: "the host of a registry of regctl", file: regctl,
			text: `{"hosts": {"docker.io": {"hostname": "one.test:5000", "user": "u", "pass": "p"}}}`,
			want: "https://one.test:5000 u p,notice secretInRepository"},
		{name: "regctl", file: regctl, text: `{"hosts": {"one.test:5000": {"user": "u", "pass": "p"}}}`,
			want: "https://one.test:5000 u p,notice secretInRepository"},
		{name: "Concourse without TLS", file: "pipeline.yml", text: concourse + "one.test/app, insecure: true}}]\n",
			want: "https://one.test app u p,notice plainHttpFallback,notice secretInRepository"},
		{name: "Concourse without TLS and credentials", file: "pipeline.yml",
			text: anonymous + "insecure: true}}]\n", want: "https://one.test app,notice plainHttpFallback"},
		{name: "a CA of Concourse without credentials", file: "pipeline.yml",
			text: anonymous + "ca_certs: [" + strconv.Quote(exampleCert) + "]}}]\n", want: "https://one.test app"},
		{name: "a CA of Concourse in a variable, without credentials", file: "pipeline.yml", text: anonymous + "ca_certs: [((ca))]}}]\n",
			want: "reference https://one.test app"},
		{name: "no CA of Concourse", file: "pipeline.yml", text: anonymous + "insecure: false, ca_certs: ['']}}]\n",
			want: "reference https://one.test app"},
		{name: "a CA in a variable of Concourse", file: "pipeline.yml", text: concourse + "one.test/app, ca_certs: [((ca))]}}]\n",
			want: "https://one.test app u p,unresolved template"},
		{name: "paths in a configuration of GitLab Runner", file: "config.toml",
			text: runnerWith(`"one.test/a": {"auth": "dTpw"}, "one.test/b": {"auth": "eDp5"}, "docker.io": {"auth": "dTpw"}`),
			want: "https://one.test a u p,https://one.test b x y,https://registry-1.docker.io u p,notice secretInRepository"},
		{name: "steps of Bitbucket", file: "bitbucket-pipelines.yml",
			text: "pipelines:\n  branches: {main: [" + bitbucketStep("a") + "]}\n" +
				"  custom: {b: [{variables: [{name: x}]}, {parallel: [" + bitbucketStep("b") + "]}]}\n" +
				"  tags: {v1: [{parallel: {steps: [" + bitbucketStep("c") + "]}}]}\n" +
				"  pull-requests: {'**': [{stage: {steps: [" + bitbucketStep("d") + "]}}]}\n",
			want: "https://one.test a u p,https://one.test d u p,https://one.test c u p,https://one.test b u p,notice secretInRepository"},
		{name: "the repository that vendir cuts from a name", file: "vendir.yml", text: "kind: Config\ndirectories: [{path: a, contents: " +
			"[{path: b, helmChart: {name: stable/redis, repository: {url: 'https://one.test'}}}]}]\n",
			want: "https://one.test redis,notice noMatchingCredentials"},
		{name: "a path with a repository", file: "fleet.yaml", text: "helm: {repo: 'https://one.test', chart: ./chart}\n",
			want: "problem wrongShape"},
	} {
		rule.check(t)
	}
}
