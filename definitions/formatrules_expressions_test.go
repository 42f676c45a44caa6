package definitions

import (
	"strconv"
	"testing"
)

// TestExpressionsInScripts: what another language replaces before the shell reads a script is not a literal, whatever the quotes of the
// shell say.
func TestExpressionsInScripts(t *testing.T) {
	const (
		computed = "https://one.test,unresolved template"
		literal  = "https://one.test u p,notice secretInRepository"
	)
	azure := func(line string) string { return "steps: [{script: " + strconv.Quote(line) + "}]\n" }
	task := func(line string) string { return "version: '3'\ntasks: {a: {cmds: [" + strconv.Quote(line) + "]}}\n" }
	github := func(line string) string {
		return "on: push\njobs: {a: {runs-on: x, steps: [{shell: cmd, run: " + strconv.Quote(line) + "}]}}\n"
	}
	circle := func(line string) string { return "jobs: {a: {steps: [{run: " + strconv.Quote(line) + "}]}}\n" }
	npm := func(line string) string { return `{"scripts": {"a": ` + strconv.Quote(line) + "}}" }
	jenkins := func(step string) string { return "pipeline { stages { stage('a') { steps {\n" + step + "\n} } } }\n" }
	for _, rule := range []formatRule{
		{name: "Groovy", file: "Jenkinsfile", text: jenkins(`sh "docker login one.test -u '${USR}' -p '${PSW}'"`), want: computed},
		{name: "Groovy without braces", file: "Jenkinsfile", text: jenkins(`sh "docker login one.test -u 'u' -p 'x$PSW'"`),
			want: "https://one.test u,unresolved template"},
		{name: "Groovy in a here-string", file: "Jenkinsfile",
			text: jenkins("sh \"\"\"\ndocker login one.test -u u --password-stdin <<< 'x$PSW'\n\"\"\""),
			want: "https://one.test u,unresolved template"},
		{name: "Groovy that expands nothing", file: "Jenkinsfile", text: jenkins(`sh 'docker login one.test -u "u" -p p'`), want: literal},
		{name: "a dollar sign of Groovy", file: "Jenkinsfile", text: jenkins(`sh "docker login one.test -u 'u\$a' -p p"`),
			want: "https://one.test u$a p,notice secretInRepository"},
		{name: "quotes of Groovy", file: "Jenkinsfile", text: jenkins(`sh "docker login one.test -u \"u\" -p \"\$PSW\""`),
			want: "https://one.test u,unresolved template"},
		{name: "the other string of Groovy", file: "Jenkinsfile", text: jenkins(`sh 'docker login one.test -u u -p p' + suffix`),
			want: "https://one.test u,unresolved template"},
		{name: "a batch file of Jenkins", file: "Jenkinsfile", text: jenkins(`bat "docker login one.test -u %USR% -p %PSW%"`),
			want: computed},
		{name: "Taskfile", file: "Taskfile.yml", text: task("docker login one.test -u {{.U}} -p {{.P}}"), want: computed},
		{name: "Taskfile with blanks", file: "Taskfile.yml", text: task("docker login one.test -u {{ .U }} -p '{{ .P }}'"),
			want: computed},
		{name: "justfile", file: "justfile", text: "a:\n    docker login one.test -u {{user}} -p {{ pass }}\n", want: computed},
		{name: "Makefile", file: "Makefile", text: "a:\n\tdocker login one.test -u '$(USR)' -p '$(call f,$(PASS))'\n", want: computed},
		{name: "the short variable of a Makefile", file: "Makefile", text: "a:\n\tdocker login one.test -u u -p 'x$P'\n",
			want: "https://one.test u,unresolved template"},
		{name: "a dollar sign of a Makefile", file: "Makefile", text: "a:\n\t@docker login one.test -u 'u$$a' -p p\n",
			want: "https://one.test u$a p,notice secretInRepository"},
		{name: "a variable of the shell in a Makefile", file: "Makefile", text: "a:\n\tdocker login one.test -u u -p $$PASS\n",
			want: "https://one.test u,unresolved template"},
		{name: "Azure Pipelines", file: "azure-pipelines.yml", text: azure("docker login one.test -u '$(user)' -p '$(pass)'"),
			want: computed},
		{name: "Azure Pipelines on Windows", file: "azure-pipelines.yml", text: azure("docker login one.test -u %U% -p %PASS%"),
			want: computed},
		{name: "GitHub on Windows", file: ".github/workflows/a.yml", text: github("docker login one.test -u %U% -p %PASS%"),
			want: computed},
		{name: "CircleCI", file: ".circleci/config.yml",
			text: circle("docker login one.test -u << pipeline.parameters.u >> -p '<< parameters.p >>'"), want: computed},
		{name: "package.json", file: "package.json", text: npm("docker login one.test -u %U% -p %P%"), want: computed},
		{name: "GitLab", file: ".gitlab-ci.yml", text: "a: {script: ['docker login one.test -u u -p \"$[[ inputs.p ]]\"']}\n",
			want: "https://one.test u,unresolved template"},
		{name: "a robot account", file: "a.sh", text: "docker login one.test -u 'robot$a' -p p\n",
			want: "https://one.test robot$a p,notice secretInRepository"},
		{name: "a here-document", file: "a.sh", text: "cat <<EOF >> a\n%b\nEOF\ndocker login one.test -u u -p p\n", want: literal},
	} {
		rule.check(t)
	}
}
