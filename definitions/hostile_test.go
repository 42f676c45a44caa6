//go:build !race && unix

package definitions

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/regwarden/regwarden/definitions/model"
)

// many returns a generator of a file with a head, as many entries as its size allows, and a tail. Each # of an entry is its number, and \#
// is #.
func many(head, entry, tail string) func(size int) []byte {
	parts := strings.Split(strings.ReplaceAll(entry, `\#`, "\x00"), "#")
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], "\x00", "#")
	}
	return func(size int) []byte {
		b := append(make([]byte, 0, size+len(entry)), head...)
		for i := 0; len(b)+len(tail) < size; i++ {
			b = append(b, strings.Join(parts, strconv.Itoa(i))...)
		}
		return append(b, tail...)
	}
}

// halves returns a generator of a file whose two kinds of entries have as many bytes, for products of one with the other.
func halves(head, first, between, second, tail string) func(size int) []byte {
	return func(size int) []byte {
		return append(many(head, first, between)(size/2), many("", second, tail)(size/2)...)
	}
}

// quoted returns a generator of a file that has the text of another generator as a string of JSON, which YAML reads too.
func quoted(head string, text func(size int) []byte, tail string) func(size int) []byte {
	return func(size int) []byte {
		inner := text((size - len(head) - len(tail)) * 5 / 6) // quotation marks take two bytes
		value, _ := json.Marshal(string(inner))
		padding := max(0, size-len(head)-len(tail)-len(value))
		return append(append([]byte(head), value...), tail+strings.Repeat(" ", padding)...)
	}
}

// long is the part of an entry that makes it long enough for the limits, so that files are not refused for their number of values.
var long = strings.Repeat("z", 42)

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// pemKey returns a private key as a string of JSON.
var pemKey = sync.OnceValue(func() string {
	key, err := rsa.GenerateKey(rand.Reader, 4096)
	if err != nil {
		panic(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	value, _ := json.Marshal(string(text))
	return string(value)
})

// The languages themselves. Files that no reader recognizes are read by all of them.
func TestCostOfLanguages(t *testing.T) {
	deep := strings.Repeat("[", 90) + strings.Repeat("]", 90) + ",\n"
	testCosts(t, []hostileFile{
		{name: "YAML %TAG lines", file: "a.yaml", generate: many("", "%TAG !a#! tag:a,\n", "---\na: b\n")},
		{name: "YAML %TAG prefix", file: "a.yaml", generate: halves("%TAG !a! tag:", "aaaaaaaa", "\n---\n", "- !a!b c\n", "")},
		{name: "YAML values", file: "a.yaml", generate: many("a:\n", "- a#\n", "")},
		{name: "YAML flow", file: "a.yaml", generate: many("a: [", "a,", "]\n")},
		{name: "YAML empty pairs", file: "a.yaml", generate: many("a: [", "?,", "]\n")},
		{name: "YAML few values", file: "a.yaml", generate: many("a:\n", "- {abcdefghi#: jklmnopqr}\n", "")},
		{name: "YAML keys", file: "a.yaml", generate: many("", "abcdefgh#: a\n", "")},
		{name: "YAML same key", file: "a.yaml", generate: many("", "abcdefgh: a\n", "")},
		{name: "YAML comments", file: "a.yaml", generate: many("a: b\n", "\\# c\n", "c: d\n")},
		{name: "YAML comments of values", file: "a.yaml", generate: many("a:\n", "\\# c\n- abcdefgh \\# d\n\n\\# e\n\n", "")},
		{name: "YAML deep", file: "a.yaml", generate: many("a:\n", "- "+deep, "")},
		{name: "YAML deep flow", file: "a.yaml", generate: many("a: [", deep, "]\n")},
		{name: "YAML brackets", file: "a.yaml", generate: many("a: ", "[", "")},
		{name: "YAML indents", file: "a.yaml", generate: many("a: ", "- ", "")},
		{name: "YAML documents", file: "a.yaml", generate: many("", "--- a\n", "")},
		{name: "YAML long documents", file: "a.yaml", generate: many("", "---\na: "+strings.Repeat("b", 110)+"\n", "")},
		{name: "YAML broken documents", file: "a.yaml", generate: many("", "---\na: b: c"+strings.Repeat("b", 110)+"\n", "")},
		{name: "YAML ended documents", file: "a.yaml", generate: many("", "--- abcdefghijklm\n...\n", "")},
		{name: "YAML dashes", file: "a.yaml", generate: many("a: b\n", "---", "\n")},
		{name: "YAML anchors", file: "a.yaml", generate: many("a:\n", "- &a# abcdefgh\n", "")},
		{name: "YAML aliases", file: "a.yaml", generate: many("a: &a {b: c}\nb:\n", "- *a \\# "+long+"\n", "")},
		{name: "YAML merge keys", file: "a.yaml",
			generate: many("a: &a {b: c, d: e}\nb:\n", "- <<: *a \\# "+strings.Repeat(long, 2)+"\n", "")},
		{name: "YAML merge lists", file: "a.yaml", generate: many("a: &a {b: c, d: e}\nb:\n  <<: [", "*a, ", "]\n")},
		{name: "YAML wide merges", file: "a.yaml", generate: halves("a: &a\n", "  abcdefgh#: b\n", "b:\n", "- <<: *a\n", "")},
		{name: "YAML alias keys", file: "a.yaml", generate: many("a: &a "+strings.Repeat("a", 900)+"\nb:\n", "- {*a : bbbbbbbbb}\n", "")},
		{name: "YAML tags", file: "a.yaml", generate: many("a:\n", "- !<tag:abcdefgh> b\n", "")},
		{name: "YAML one line", file: "a.yaml", generate: many("a: ", "abcdefgh ", "\n")},
		{name: "YAML folded lines", file: "a.yaml", generate: many("a: >\n", "  a\n\n", "")},
		{name: "YAML plain lines", file: "a.yaml", generate: many("a:\n", "  abcdefgh\n\n", "")},
		{name: "YAML escapes", file: "a.yaml", generate: many(`a: "`, `\n\x41`, "\"\n")},
		{name: "YAML quoted lines", file: "a.yaml", generate: many(`a: "`, "abcdefgh\n\n  ", "\"\n")},
		{name: "YAML complex keys", file: "a.yaml", generate: many("", "? abcdefghij#\n: b\n", "")},
		{name: "YAML blanks", file: "a.yaml", generate: many("a: b", " ", "\n")},
		{name: "YAML newlines", file: "a.yaml", generate: many("a: b\n", "\n\r", "\n")},
		{name: "JSON values", file: "a.json", generate: many(`[1`, ",#", "]")},
		{name: "JSON members", file: "a.json", generate: many(`{"a":1`, `,"a#":1`, "}")},
		{name: "JSON members in words", file: "a.json", generate: many(`{"a":1`, `,"abcdefghi#":"abcdefg"`, "}")},
		{name: "JSON same member", file: "a.json", generate: many(`{"a":1`, `,"a":"b"`, "}")},
		{name: "JSON objects", file: "a.json", generate: many(`[1`, `,{"a":{}}`, "]")},
		{name: "JSON deep", file: "a.json", generate: many(`[`, deep, "1]")},
		{name: "JSON deep objects", file: "a.json", generate: many(`[`, strings.Repeat(`{"":`, 90)+"1"+strings.Repeat("}", 90)+",", "1]")},
		{name: "JSON brackets", file: "a.json", generate: many("", `[`, "")},
		{name: "JSON escapes", file: "a.json", generate: many(`["`, `\n\u0041`, `"]`)},
		{name: "JSON newlines", file: "a.json", generate: many("[1", "\n", "]")},
		{name: "TOML keys", file: "a.toml", generate: many("", "abcdefgh# = 1\n", "")},
		{name: "TOML few keys", file: "a.toml", generate: many("", strings.Repeat("abcdefgh", 14)+"# = 1\n", "")},
		{name: "TOML tables", file: "a.toml", generate: many("", "["+strings.Repeat("abcdefgh", 14)+"#]\n", "")},
		{name: "TOML arrays of tables", file: "a.toml", generate: many("", "[[a]]\nb = \""+strings.Repeat("abcdefgh", 20)+"\"\n", "")},
		{name: "TOML dotted keys", file: "a.toml", generate: many("", strings.Repeat("a.", 60)+"a# = 1\n", "")},
		{name: "TOML values", file: "a.toml", generate: many("a = [1", ", #", "]\n")},
		{name: "TOML comments", file: "a.toml", generate: many("", "\\# a\n", "a = 1\n")},
		{name: "JSON5 comments", file: "a.json5", generate: many("{hostRules: [", "/* */", "]}")},
		{name: "JSON5 line comments", file: "a.json5", generate: many("{hostRules: [", "//\n", "]}")},
		{name: "JSON5 newlines", file: "a.json5", generate: many("{hostRules: [", "[\n\n\n\n\n\n\n],", "]}")},
		{name: "JSON5 blanks before brackets", file: "a.json5", generate: halves("{hostRules: [", "          ", "", "]", "")},
		{name: "JSON5 blanks", file: "a.json5", generate: many("{hostRules: [1", "          ", "]}")},
		{name: "JSON5 words", file: "a.json5", generate: many("{hostRules: [{", "a#:'b',", "}]}")},
		{name: "JSON5 long word", file: "a.json5", generate: many("{hostRules: [{", "abcdefgh", ":1}]}")},
		{name: "JSON5 escapes", file: "a.json5", generate: many("{hostRules: ['", `\n\x41`, "']}")},
	})
}

func TestCostOfDockerFormats(t *testing.T) {
	auths := many(`{"auths":{"a":{}`, `,"r#.test":{"auth":"dTpw"}`, "}}")
	oneHost := many(`{"auths":{"r.test":{"auth":"dTpw"}`, `,"https://r.test/#":{"auth":"dTpw"}`, "}}")
	files := []hostileFile{
		{name: "dockercfg", file: ".dockercfg", generate: many(`{"a":{}`, `,"r#.test":{"auth":"dTpw"}`, "}")},
		{name: "DOCKER_AUTH_CONFIG", file: "DOCKER_AUTH_CONFIG", generate: auths},
		{name: "auth.json", file: "auth.json", generate: auths},
		{name: "docker empty entries", file: "config.json", generate: many(`{"auths":{"a":{}`, `,"a#":{}`, "}}")},
		{name: "docker bad entries", file: "config.json", generate: many(`{"auths":{"a":{}`, `,"a#":{"auth":"a"}`, "}}"),
			options: model.Options{As: model.Helm}},
		{name: "docker bad entries of a whole file", file: "config.json", generate: many(`{"auths":{"a":{}`, `,"a#":{"auth":"a"}`, "}}")},
		{name: "docker same entry", file: "config.json", generate: many(`{"auths":{"a":{}`, `,"r.test":{"auth":"dTpw"}`, "}}")},
		{name: "docker members of an entry", file: "config.json",
			generate: many(`{"auths":{"r.test":{"auth":"dTpw"`, `,"AUTH":"dTpw"`, "}}}")},
		{name: "docker ignored members of an entry", file: "config.json",
			generate: many(`{"auths":{"r.test":{"auth":"dTpw"`, `,"registrytoken":"a"`, "}}}"), options: model.Options{As: model.Kubelet}},
		{name: "docker objects of auths", file: "config.json",
			generate: many(`{"auths":{"a":{}}`, `,"auths":{"r#.test":{"auth":"dTpw"}}`, "}")},
		{name: "docker helpers", file: "config.json", generate: many(`{"credHelpers":{"a":"b"`, `,"r#.test":"a"`, "}}")},
		{name: "docker helpers and entries", file: "config.json",
			generate: halves(`{"credHelpers":{"a":"b"`, `,"r#.test":"a"`, `},"auths":{"a":{}`, `,"r#.test":{"auth":"dTpw"}`, "}}")},
		{name: "docker unknown members", file: "config.json", generate: many(`{"auths":{"r.test":{"auth":"dTpw"}}`, `,"a#":1`, "}")},
		{name: "docker unknown members in DOCKER_AUTH_CONFIG", file: "DOCKER_AUTH_CONFIG",
			generate: many(`{"auths":{"r.test":{"auth":"dTpw"}}`, `,"a#":1`, "}")},
		{name: "docker long keys", file: "config.json",
			generate: many(`{"auths":{"a":{}`, `,"r#.test/`+strings.Repeat("a/", 500)+`":{"auth":"dTpw"}`, "}}")},
		{name: "docker one long key", file: "auth.json", generate: many(`{"auths":{"r.test/`, `a/`, `":{"auth":"dTpw"}}}`)},
		{name: "podman, Docker Hub", file: "auth.json",
			generate: halves(`{"auths":{"a":{}`, `,"https://index.docker.io/#":{"auth":"dTpw"}`, "",
				`,"index.docker.io/#":{"auth":"dTpw"}`, "}}")},
		{name: "kubelet, patterns", file: "config.json", generate: many(`{"auths":{"a":{}`, `,"*.r#.test":{"auth":"dTpw"}`, "}}"),
			options: model.Options{As: model.Kubelet}},
		{name: "docker long passwords", file: "config.json",
			generate: many(`{"auths":{"a":{}`, `,"r#.test":{"auth":"`+encoded("u:"+strings.Repeat("p$(", 1000))+`"}`, "}}")},
	}
	for _, as := range model.Consumers {
		files = append(files, hostileFile{name: "docker as " + string(as), file: "config.json", generate: auths,
			options: model.Options{As: as}},
			hostileFile{name: "docker entries of a host as " + string(as), file: "config.json", generate: oneHost,
				options: model.Options{As: as}})
	}
	testCosts(t, files)
}

func compressed(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	if err = errors.Join(err, w.Close()); err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func TestCostOfProjects(t *testing.T) {
	login := "docker login r#.test -u u -p p\n"
	config := many(`{"auths":{"a":{}`, `,"r#.test":{"auth":"dTpw"}`, "}}")
	testCosts(t, []hostileFile{
		{name: "helmfile repositories and releases", file: "helmfile.yaml",
			generate: halves("repositories:\n", "- name: a#\n  url: r#.test"+long+"\n  oci: true\n  username: u\n  password: p\n",
				"releases:\n", "- name: b#\n  chart: oci://r#.test"+long+"/a\n", "")},
		{name: "helmfile defaults and releases", file: "helmfile.yaml",
			generate: halves("helmDefaults:\n", "  abcdefghij#: klmnop\n", "releases:\n", "- {name: b#, chart: oci://r#.test/a}\n", "")},
		{name: "helmfile repositories of one host", file: "helmfile.yaml",
			generate: many("repositories:\n", "- name: a#\n  url: r.test\n  oci: true\n  username: u#"+long+"\n  password: p\n", "")},
		{name: "helmfile releases by alias", file: "helmfile.yaml",
			generate: many("releases:\n- &a {name: b, chart: oci://r.test/a}\n", "- *a \\# "+long+"\n", "")},
		{name: "helmfile registryConfig", file: "helmfile.yaml",
			generate: halves(`{"auths":{"a":{}`, `,"https://r.test/#":{"auth":"dTpw"}`, `},"repositories":[1`,
				`,{"name":"a#","url":"r.test","oci":true,"registryConfig":"helmfile.yaml"}`, `],"releases":[{"name":"a","chart":"b"}]}`)},
		{name: "helmfile caFile", file: "helmfile.yaml",
			generate: many("repositories:\n", "- name: a#\n  url: r#.test"+long+"\n  oci: true\n  caFile: helmfile.yaml\n", "")},
		{name: "Helm dependencies", file: "Chart.yaml",
			generate: many("apiVersion: v2\nname: a\nversion: 1\ndependencies:\n", "- {name: a#, repository: oci://r#.test}\n", "")},
		{name: "Helm long name", file: "Chart.yaml",
			generate: many("dependencies:\n- {name: &a "+strings.Repeat("a", 5000)+", repository: &b file://a}\n",
				"- {name: *a, repository: *b}\n", "")},
		{name: "Helm repositories", file: "repositories.yaml",
			generate: many("generated: a\nrepositories:\n", "- {name: a#, url: a}\n", "")},
		{name: "Helm short repositories", file: "repositories.yaml", generate: many("generated: a\nrepositories:\n", "- abcdefghij\n", "")},
		{name: "Terraform provider blocks", file: "a.tf",
			generate: many("# registry\nprovider \"docker\" {\n",
				"registry_auth {\n  address = \"r#.test\"\n  username = \"u\"\n  password = \"p\"\n}\n", "}\n")},
		{name: "Terraform resources", file: "a.tf",
			generate: many("", "resource \"harbor_registry\" \"a#\" {\n  endpoint_url = \"https://r#.test\"\n  provider_name = "+
				"\"harbor\"\n}\n", "")},
		{name: "Terraform heredocs", file: "a.tf",
			generate: many("provider \"docker\" {\n# registry\n", "a# = <<-END\n  b\n END\n", "}\n")},
		{name: "Terraform long heredoc", file: "a.tf",
			generate: many("provider \"docker\" {\n# registry\na = <<-END\n", "  b\n", " END\n}\n")},
		{name: "Terraform blank heredoc", file: "a.tf",
			generate: many("provider \"docker\" {\n# registry\na = <<-END\n", "          ", "\n END\n}\n")},
		{name: "Terraform comments", file: "a.tf", generate: many("provider \"docker\" {\n# registry\n", "/* */", "}\n")},
		{name: "Terraform open comments", file: "a.tf", generate: many("provider \"docker\" {\n# registry\n", "a# = b /*\n*/\n", "}\n")},
		{name: "Terraform expressions", file: "a.tf", generate: many("provider \"docker\" {\n# registry\na = ", "(", "")},
		{name: "Terraform lists", file: "a.tf", generate: many("provider \"docker\" {\n# registry\na = [", "[],", "]\n}\n")},
		{name: "Terraform long lists", file: "a.tf",
			generate: many("provider \"docker\" {\n# registry\na = [", "\"abcdefghi\", ", "]\n}\n")},
		{name: "Terraform nested lists", file: "a.tf",
			generate: many("provider \"docker\" {\n# registry\na = [",
				strings.Repeat("[", 80)+"a+b"+strings.Repeat("]", 80)+",", "]\n}\n")},
		{name: "cloud-init compressed files", file: "user-data.yaml", generate: many("write_files:\n",
			"- {path: /root/.docker/config.json, encoding: gz+b64, content: "+compressed(`{"auths":{"a":{}`+
				strings.Repeat(`,"r.test":{"auth":"dTpw"}`, 5_000)+"}}")+"}\n", "")},
		{name: "Terraform templates", file: "a.tf", generate: many("provider \"docker\" {\n# registry\na = \"", `${"${`, "\n")},
		{name: "Terraform long text", file: "a.tf", generate: many("provider \"docker\" {\n# registry\na = \"", `\n\u0041`, "\"\n}\n")},
		{name: "Terraform broken blocks", file: "a.tf", generate: many("# registry\nprovider \"docker\" {\n", "a {\n", "")},
		{name: "Terraform state", file: "terraform.tfstate", generate: many(`{"lineage":"a","terraform_version":"1","resources":[1`,
			`,{"type":"harbor_registry","name":"a#","instances":[{"attributes":{"endpoint_url":"https://r#.test",`+
				`"provider_name":"harbor"}}]}`, "]}")},
		{name: "Terraform instances", file: "terraform.tfstate",
			generate: many(`{"lineage":"a","terraform_version":"1","resources":[{"type":"harbor_registry","name":"`+strings.Repeat("a",
				50_000)+`","instances":[1`,
				`,{"attributes":{"endpoint_url":"r#"}}`, "]}]}")},
		{name: "Terraform configurations of docker", file: "terraform.tfstate",
			generate: many(`{"format_version":"1","values":1,"configuration":{"provider_config":{"docker":{"name":"docker",`+
				`"expressions":{"registry_auth":[1`,
				`,{"address":{"constant_value":"r#.test"},"config_file_content":{"constant_value":"{\"auths\":{}}"}}`, "]}}}}}")},
		{name: "Harbor", file: "a.json",
			generate: many(`[{"type":"harbor","url":"https://r.test","name":"a"}`,
				`,{"type":"harbor","url":"https://r#.test","name":"a#"}`, "]")},
		{name: "Renovate rules", file: "renovate.json", generate: func(size int) []byte {
			return many(`{"hostRules":[{"matchHost":"a.test","token":"t"}`,
				`,{"matchHost":"`+strings.Repeat("a", size/990-40)+`#.test","token":"t"}`, "]}")(size)
		}},
		{name: "Renovate too many rules", file: "renovate.json",
			generate: many(`{"hostRules":[1`, `,{"matchHost":"r#.test","token":"t"}`, "]}")},
		{name: "Dependabot", file: "dependabot.yml",
			generate: many("version: 2\nupdates: []\nregistries:\n",
				"  a#: {type: docker-registry, url: r#.test, username: u, password: p}\n", "")},
		{name: "GitHub jobs", file: "a.yml", generate: many("jobs:\n", "  abcdefghij#: {a: b}\n", "on: push\n")},
		{name: "GitHub keys and jobs", file: "a.yml",
			generate: halves("on: push\n", "abcdefghij#: k"+long+"\n", "jobs:\n", "  abcdefghij#: "+long+"\n", "")},
		{name: "GitHub script", file: "a.yml", generate: many("on: push\njobs:\n  a:\n    steps:\n    - run: |\n", "        "+login, "")},
		{name: "GitHub run by alias", file: "a.yml",
			generate: many("on: push\njobs:\n  a:\n    steps:\n    - run: &a |\n"+strings.Repeat("        docker login r.test -u u -p p\n",
				10), "    - run: *a \\# "+strings.Repeat(long, 9)+"\n", "")},
		{name: "GitHub long run by alias", file: "a.yml",
			generate: halves("on: push\njobs:\n  a:\n    steps:\n    - run: &a |\n", "        "+login, "", "    - run: *a\n", "")},
		{name: "GitHub steps", file: "a.yml",
			generate: many("on: push\njobs:\n  a:\n    steps:\n",
				"    - {uses: docker/login-action@v3, with: {registry: r#.test, username: u, password: p}}\n", "")},
		{name: "GitHub registry-auth", file: "a.yml",
			generate: many("on: push\njobs:\n  a:\n    steps:\n    - uses: docker/login-action@v3\n      with:\n        registry-auth: |\n",
				"          - {registry: r#.test, username: u, password: p}\n", "")},
		{name: "GitHub local actions", file: "a.yml", generate: many("on: push\njobs:\n  a:\n    steps:\n", "    - uses: ./abc\n", "")},
		{name: "GitHub ECR registries", file: "a.yml",
			generate: many("on: push\njobs:\n  a:\n    steps:\n    - {uses: aws-actions/configure-aws-credentials, with: {aws-region: "+
				strings.Repeat("a", 1000)+"}}\n    - uses: aws-actions/amazon-ecr-login\n      with:\n        registries: ", "#,", "\n")},
		{name: "GitHub services", file: "a.yml",
			generate: many("on: push\njobs:\n  a:\n    steps: []\n    services:\n",
				"      a#: {image: r#.test/a, credentials: {username: u, password: p}}\n", "")},
		{name: "GitLab scripts", file: ".gitlab-ci.yml", generate: many("", "a#: {script: [docker login r#.test -u u -p p]}\n", "")},
		{name: "GitLab script", file: ".gitlab-ci.yml", generate: many("a:\n  script: |\n", "    "+login, "")},
		{name: "GitLab nested scripts", file: ".gitlab-ci.yml",
			generate: many("a:\n  script:\n", "  - [[[[docker login r#.test -u u -p p]]]]\n", "")},
		{name: "GitLab config by alias", file: ".gitlab-ci.yml",
			generate: halves(`variables: {DOCKER_AUTH_CONFIG: &a '{"auths":{"a":{}`, `,"r#.test":{"auth":"dTpw"}`, "}}'}\n",
				"a#: {variables: {DOCKER_AUTH_CONFIG: *a}, image: r1.test/a}\n", "")},
		{name: "GitLab short config by alias", file: ".gitlab-ci.yml",
			generate: many(`variables: {DOCKER_AUTH_CONFIG: &a '{"auths":{"r.test":{"auth":"dTpw"}}}'}`+"\n",
				"a#: {variables: {DOCKER_AUTH_CONFIG: *a}, image: r.test/a} \\# "+strings.Repeat(long, 3)+"\n", "")},
		{name: "GitLab config", file: ".gitlab-ci.yml", generate: quoted(`variables: {DOCKER_AUTH_CONFIG: `, config, "}\n")},
		{name: "GitLab entries and images", file: ".gitlab-ci.yml",
			generate: halves(`variables: {DOCKER_AUTH_CONFIG: '{"auths":{"a":{}`, `,"https://r.test/#":{"auth":"dTpw"}`, "}}'}\n",
				"a#: {image: r.test/a#}\n", "")},
		{name: "GitLab long image", file: ".gitlab-ci.yml",
			generate: many(`{variables: {DOCKER_AUTH_CONFIG: '{"auths":{"r.test":{"auth":"dTpw"}}}'}, image: r.test`, "/a", "}\n")},
		{name: "GitLab services by alias", file: ".gitlab-ci.yml",
			generate: many(`variables: {DOCKER_AUTH_CONFIG: '{"auths":{"r.test":{"auth":"dTpw"}}}'}`+"\na:\n  services: &a\n"+
				strings.Repeat("  - r.test/a\n", 100), "a#: {services: *a}\n", "")},
		{name: "shell heredocs", file: ".gitlab-ci.yml",
			generate: many("a:\n  script: |\n    docker login\n", "    a <<E\n    b\n    E\n", "")},
		{name: "shell heredocs of a line", file: ".gitlab-ci.yml",
			generate: halves("a:\n  script: |\n    docker login\n    ", "a <<E# ", "\n", "    b\n", "")},
		{name: "shell words", file: ".gitlab-ci.yml", generate: many("a:\n  script: |\n    docker login ", "a ", "\n")},
		{name: "shell options", file: ".gitlab-ci.yml", generate: many("a:\n  script: |\n    docker login ", "--a# b ", "\n")},
		{name: "shell pipes", file: ".gitlab-ci.yml", generate: many("a:\n  script: |\n    docker login ", "|a", "\n")},
		{name: "shell redirections", file: ".gitlab-ci.yml", generate: many("a:\n  script: |\n    docker login ", ">a<", "\n")},
		{name: "shell digits", file: ".gitlab-ci.yml", generate: many("a:\n  script: |\n    docker login ", "1>", "\n")},
		{name: "shell one word", file: ".gitlab-ci.yml", generate: many("a:\n  script: |\n    docker login ", "a'b'", "\n")},
		{name: "shell expansions", file: ".gitlab-ci.yml", generate: many("a:\n  script: |\n    docker login ", "$(", "\n")},
		{name: "shell quotation marks", file: ".gitlab-ci.yml", generate: many("a:\n  script: |\n    docker login ", "''", "'\n")},
		{name: "shell expressions", file: ".gitlab-ci.yml", generate: many("a:\n  script: |\n    docker login ", "${{", "\n")},
		{name: "shell commands", file: ".gitlab-ci.yml", generate: many("a:\n  script: |\n    docker login ", ";a", "\n")},
		{name: "regwarden definitions", file: "a.json",
			generate: many(`[{"endpoint":"a","auth":{"type":"noAuth"}}`,
				`,{"endpoint":"https://r#.test","auth":{"username":"u","password":"p"}}`, "]")},
		{name: "regwarden unknown members", file: "a.json", generate: many(`{"endpoint":"a","auth":{"type":"noAuth"}`, `,"a#":1`, "}")},
		{name: "regwarden wrong types", file: "a.json",
			generate: many(`[{"endpoint":"a","auth":{"type":"noAuth"}}`, `,{"endpoint":"r#","auth":{"type":1}}`, "]")},
		{name: "regwarden references", file: "a.json",
			generate: many(`{"endpoint":"a","auth":{"type":"noAuth"},"references":["a"`, `,"a#"`, "]}")},
		{name: "regwarden keys by alias", file: "a.yaml",
			generate: many("- &a {endpoint: r.test, auth: {type: noAuth, tls: {enabled: true, key: &k "+pemKey()+"}}}\n",
				"- {endpoint: r#.test, auth: {type: noAuth, tls: {enabled: true, key: *k}}} \\# "+strings.Repeat(long, 80)+"\n", "")},
		{name: "regwarden keys", file: "a.yaml",
			generate: many("", "- {endpoint: r#.test, auth: {type: noAuth, tls: {enabled: true, key: "+pemKey()+"}}}\n", "")},
		{name: "regwarden PEM headers", file: "a.yaml",
			generate: many("- {endpoint: r.test, auth: {type: noAuth, tls: {enabled: true, ca: \"-----BEGIN CERTIFICATE-----\\n", "a: b\\n",
				"-----END CERTIFICATE-----\\n\"}}}\n")},
		{name: "regwarden PEM beginnings", file: "a.yaml",
			generate: many("- {endpoint: r.test, auth: {type: noAuth, tls: {enabled: true, ca: \"", "-----BEGIN A-----\\n", "\"}}}\n")},
	})
}
