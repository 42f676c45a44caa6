package definitions

import "testing"

// TestVariablesInScripts: a variable of a workflow has its value, unless a step may set it.
func TestVariablesInScripts(t *testing.T) {
	const (
		workflow = ".github/workflows/a.yml"
		found    = "https://one.test u p,notice secretInRepository"
		unknown  = "u p,notice secretInRepository,unresolved template"
		action   = "steps: [{uses: docker/login-action@v3, with: {registry: '${{ env.REG }}', username: u, password: p}}]"
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
		{name: "a command in a command", file: workflow, text: run("bash -c \"docker login ${{ env.REG }} -u u -p p\""), want: found},
		{name: "credentials", file: workflow, text: job("env: {U: u, P: p}",
			"steps: [{run: 'docker login one.test -u ${{ env.U }} -p \"${{ env.P }}\"'}]"), want: found},
		{name: "a step that sets what it reads", file: workflow,
			text: job("env: {REG: one.test}", "steps: [{run: 'cat .env >> $GITHUB_ENV'}, "+action[len("steps: ["):]), want: unknown},
		{name: "an action that sets any", file: workflow, text: job("env: {REG: one.test}",
			"steps: [{uses: actions/github-script@v7, with: {script: 'core.exportVariable(k, v)'}}, "+action[len("steps: ["):]),
			want: unknown},
		// What the shell or make sets is not evaluated: another script, a condition or an option may set it again.
		{name: "a variable of the shell in a workflow", file: workflow, text: run("docker login $REG -u u -p p"), want: unknown},
		{name: "a variable of the shell", file: "a.sh", text: "REG=one.test\ndocker login $REG -u u -p p\n", want: unknown},
		{name: "a variable of make", file: "Makefile", text: "REG := one.test\na:\n\tdocker login $(REG) -u u -p p\n", want: unknown},
	} {
		rule.check(t)
	}
}
