package definitions

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/regwarden/regwarden/definitions/model"
)

// formatRule is a file, other files next to it, and what they mean, as entries returns it.
type formatRule struct {
	name, file, text, want string
	more                   map[string]string
}

func (r formatRule) check(t *testing.T) {
	t.Helper()
	tree := fstest.MapFS{}
	for name, text := range r.more {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	tree[r.file] = &fstest.MapFile{Data: []byte(r.text)}
	s := NewScanner(model.Options{})
	if err := s.AddFile("", tree, r.file); err != nil {
		t.Fatal(err)
	}
	if got := entries(s.Result()); got != r.want {
		t.Errorf("%s: %s, want %s", r.name, got, r.want)
	}
}

// entries returns the address, content and credentials of each definition, the references, and the words of a result.
func entries(r model.Result) string {
	var all []string
	for _, found := range r.Registries {
		d := found.Definition
		all = append(all, strings.Join(strings.Fields(strings.Join([]string{d.Endpoint, d.BaseContentPath, d.Auth.Username,
			d.Auth.Password.Reveal() + d.Auth.Token.Reveal()}, " ")), " "))
	}
	for _, reference := range r.References {
		all = append(all, "reference "+reference.Definition.Endpoint+" "+reference.Definition.BaseContentPath)
	}
	if found := words(r); found != "" {
		all = append(all, found)
	}
	return strings.Join(all, ",")
}

const exampleCert = "-----BEGIN CERTIFICATE-----\ndGhlIGNlcnRpZmljYXRlIG9mIGFuIGV4YW1wbGUgQ0E=\n-----END CERTIFICATE-----\n"

func chartsOf(members string) string {
	return "generated: x\nrepositories: [{name: a, " + members + "}]\n"
}

func definitionWith(members string) string {
	return `{"endpoint": "https://one.test", ` + members + `}`
}

func cloudConfig(path string) string {
	return "#cloud-config\nwrite_files:\n- path: " + path + "\n  content: '" + dockerConfig + "'\n"
}

func talosAuth(members string) string {
	return "version: v1alpha1\nmachine: {registries: {config: {one.test: {auth: {" + members + "}}}}}\n"
}

// TestRulesOfProjects: which of several fields a program uses, and what it does with incomplete ones.
func TestRulesOfProjects(t *testing.T) {
	const repositories, script, shell = "repositories.yaml", "a.sh", "#!/bin/sh\n"
	for _, rule := range []formatRule{
		{name: "no scheme", file: repositories, text: chartsOf("url: one.test/a"), want: "skipped unsupportedScheme"},
		{name: "credentials in the URL", file: repositories, text: chartsOf("url: 'https://u:p@one.test'"), want: "https://one.test u p"},
		{name: "credentials in both", file: repositories, text: chartsOf("url: 'https://u:p@one.test', username: x, password: y"),
			want: "https://one.test x y"},
		{name: "a certificate without a key", file: repositories, text: chartsOf("url: 'https://one.test', certFile: /c.pem"),
			more: map[string]string{"c.pem": exampleCert}, want: "https://one.test"},
		{name: "a file to write", file: "cloud-config.yaml", text: cloudConfig("/root/.docker/config.json"),
			want: "https://one.test ada hunter2"},
		{name: "a file without a path", file: "cloud-config.yaml", text: cloudConfig("''")},
		{name: "a file with a variable", file: "cloud-config.yaml", text: cloudConfig("/${A}/.docker/config.json")},
		{name: "a file in a file", file: "cloud-config.yaml", text: "write_files:\n- path: /cloud-config.yaml\n  content: |\n    " +
			strings.ReplaceAll(cloudConfig("/root/.docker/config.json"), "\n", "\n    ")},
		{name: "half a variable", file: "a.json", text: definitionWith(`"auth": {"username": "a${b", "password": "p"}`),
			want: "https://one.test a${b p"},
		{name: "a secret and a uid", file: "a.json", text: definitionWith(`"registryUid": "x", "auth": {"username": "u", "password": "p"}`),
			want: "https://one.test u p"},
		{name: "an object for a text", file: "a.json", text: definitionWith(`"auth": {"username": {"a": 1}, "password": "p"}`),
			want: "problem wrongShape"},
		{name: "a text for an object", file: "a.json", text: definitionWith(`"auth": {"username": "u", "password": "p", "tls": "x"}`),
			want: "problem wrongShape"},
		{name: "no endpoint", file: "a.json", text: `{"auth": {"type": "basic", "username": "u", "password": "p"}}`},
		{name: "the longest region", file: ".github/workflows/a.yml", text: ecrLogin(strings.Repeat("a", 64), "registries: '123456789012'"),
			want: "https://123456789012.dkr.ecr." + strings.Repeat("a", 64) + ".amazonaws.com,unresolved cloudIdentity"},
		{name: "defaults", file: "helmfile.yaml", text: "helmDefaults: {plainHttp: true}\n" + helmfile,
			want: "http://one.test a,notice noMatchingCredentials,notice plainHttp"},
		{name: "a login for classic charts", file: "helmfile.yaml",
			text: "repositories: [{name: r, url: 'https://one.test', username: u, password: hunter2}]\n" + helmfile,
			want: "https://one.test u hunter2,https://one.test a,notice noMatchingCredentials,notice secretInRepository"},
		{name: "an option that is true", file: script, text: helmPull + " --plain-http=true", want: "http://one.test a,notice plainHttp"},
		{name: "an option that is false", file: script, text: helmPull + " --plain-http=false", want: "reference https://one.test a"},
		{name: "an option without its value", file: script, text: helmPull + " --username",
			want: "https://one.test a,unresolved incomplete"},
		{name: "a version without a chart", file: script,
			text: shell + "helm pull oci://one.test --version 1.2.3 --username u --password p",
			want: "https://one.test u p,notice secretInRepository"},
		{name: "a username alone", file: script, text: shell + "helm repo add a https://one.test --username u",
			want: "https://one.test u,unresolved incomplete"},
		{name: "1,000 stages", file: "Dockerfile", text: strings.Repeat("FROM scratch\n", 999) + "FROM one.test/a\n",
			want: "reference https://one.test a"},
		{name: "1,001 stages", file: "Dockerfile", text: strings.Repeat("FROM scratch\n", 1000) + "FROM one.test/a\n",
			want: "problem wrongShape"},
		{name: "a stage without a name", file: "Dockerfile", text: "FROM one.test/a AS\n", want: "reference https://one.test a"},
		{name: "base64 without a colon", file: "a.yaml", text: talosAuth("auth: YWI="), want: "problem invalidBase64"},
		{name: "encrypted by SOPS", file: "a.yaml", text: talosAuth("auth: 'ENC[AES256_GCM,a]'"),
			want: "https://one.test,unresolved encrypted"},
		{name: "a template", file: "a.yaml", text: talosAuth("auth: '{{ a }}'"), want: "https://one.test,unresolved template"},
		{name: "a username and base64", file: "a.yaml", text: talosAuth("username: u, auth: YTpi"),
			want: "https://one.test u,unresolved incomplete"},
	} {
		rule.check(t)
	}
}
