package definitions

import "testing"

// TestVariablesInScripts: a variable has its value where the file sets it once, to a literal, for all of the script.
func TestVariablesInScripts(t *testing.T) {
	const (
		workflow = ".github/workflows/a.yml"
		found    = "https://one.test u p,notice secretInRepository"
		unknown  = "u p,notice secretInRepository,unresolved template"
		action   = "steps: [{uses: docker/login-action@v3, with: {registry: '${{ env.REG }}', username: u, password: p}}]"
		shell    = "docker login $REG -u u -p p\n"
	)
	job := func(outer, members string) string {
		return "on: push\n" + outer + "\njobs: {d: {runs-on: x, " + members + "}}\n"
	}
	run := func(script string) string { return job("env: {REG: one.test}", "steps: [{run: '"+script+"'}]") }
	for _, rule := range []formatRule{
		{name: "of a workflow", file: workflow, text: job("env: {REG: one.test}", action), want: found},
		{name: "of a job", file: workflow, text: job("env: {REG: two.test}", "env: {REG: one.test}, "+action), want: found},
		{name: "of a step", file: workflow, text: job("env: {REG: two.test}", "steps: [{env: {REG: one.test}, "+action[len("steps: [{"):]),
			want: found},
		{name: "another variable of a job", file: workflow, text: job("env: {REG: one.test}", "env: {A: a}, "+action), want: found},
		{name: "a computed one", file: workflow, text: job("env: {REG: one.test}", "env: {REG: '${{ vars.REG }}'}, "+action),
			want: unknown},
		{name: "none", file: workflow, text: job("", action), want: unknown},
		{name: "a step that sets it", file: workflow,
			text: job("env: {REG: one.test}", "steps: [{run: 'echo REG=two.test >> $GITHUB_ENV'}, "+action[len("steps: ["):]),
			want: unknown},
		{name: "a command", file: workflow, text: run("docker login ${{env.REG}} -u u -p p"), want: found},
		{name: "a command with a variable of the shell", file: workflow, text: run("docker login ${REG} -u u -p p"), want: found},
		{name: "a command with another variable", file: workflow, text: run("docker login ${REG:-x} -u u -p p"), want: unknown},
		{name: "a command with a longer name", file: workflow, text: run("docker login $REGS -u u -p p"), want: unknown},
		{name: "a command that sets it", file: workflow, text: run("REG=$(a) && docker login $REG -u u -p p"), want: unknown},
		{name: "credentials", file: workflow, text: job("env: {U: u, P: p}",
			"steps: [{run: 'docker login one.test -u $U -p \"$P\"'}]"), want: found},
		{name: "shell", file: "a.sh", text: "REG=one.test; " + shell, want: found},
		{name: "shell with quotes", file: "a.sh", text: "export REG=\"one.test\" # a\n" + shell, want: found},
		{name: "shell with single quotes around the variable", file: "a.sh", text: "REG=one.test\ndocker login '$REG' -u u -p p\n",
			want: "skipped noHost"},
		{name: "shell with two values", file: "a.sh", text: "REG=one.test\nREG=two.test\n" + shell, want: unknown},
		{name: "shell with a condition", file: "a.sh", text: "[ -n \"$1\" ] && REG=one.test\n" + shell, want: unknown},
		{name: "shell that reads it", file: "a.sh", text: "REG=one.test\nread -r REG\n" + shell, want: unknown},
		{name: "shell that reads a file", file: "a.sh", text: "REG=one.test\n. ./env\n" + shell, want: unknown},
		{name: "shell that writes a file", file: "a.sh", text: "cat <<E >a\nREG=one.test\nE\n" + shell, want: unknown},
		{name: "the environment of one command", file: "a.sh", text: "REG=one.test a\n" + shell, want: unknown},
		{name: "make", file: "Makefile", text: "REG := one.test\na:\n\tdocker login $(REG) -u u -p p\n", want: found},
		{name: "make with the shell's variable", file: "Makefile", text: "REG := one.test\na:\n\tdocker login $$REG -u u -p p\n",
			want: unknown},
		{name: "make with the variable of a target", file: "Makefile",
			text: "REG := one.test\na: REG = two.test\na:\n\tdocker login $(REG) -u u -p p\n", want: unknown},
		{name: "make with a default", file: "Makefile", text: "REG ?= one.test\na:\n\tdocker login $(REG) -u u -p p\n", want: unknown},
	} {
		rule.check(t)
	}
}
