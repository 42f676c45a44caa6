package definitions

import "testing"

// TestPasswordsOfComputedAddresses: a password in a file is one that everyone can read, also if the address is not known.
func TestPasswordsOfComputedAddresses(t *testing.T) {
	const (
		found    = "u p,notice secretInRepository,unresolved template"
		skipped  = "skipped template"
		workflow = ".github/workflows/a.yml"
	)
	login := func(password string) string {
		return "on: push\njobs: {d: {runs-on: x, steps: [{uses: docker/login-action@v3, with: {registry: '${{ vars.REG }}', username: u, " +
			"password: '" + password + "'}}]}}\n"
	}
	container := func(password string) string {
		return "on: push\njobs: {d: {runs-on: x, container: {image: '${{ vars.REG }}/a', credentials: {username: u, password: '" +
			password + "'}}}}\n"
	}
	docker := func(password string) string {
		return "provider \"docker\" {\n  registry_auth {\n    address = var.a\n    username = \"u\"\n    password = " + password +
			"\n  }\n}\n"
	}
	helm := func(password string) string {
		return "provider \"helm\" {\n  registry {\n    url = var.a\n    username = \"u\"\n    password = " + password + "\n  }\n}\n"
	}
	for _, rule := range []formatRule{
		{name: "shell", file: "a.sh", text: "docker login \"${harbor}\" -u u -p p\n", want: found},
		{name: "shell with another password", file: "a.sh", text: "docker login \"${harbor}\" -u u -p $P\n", want: skipped},
		{name: "helm", file: "a.sh", text: "helm repo add a \"${harbor}\" --username u --password p\n", want: found},
		{name: "helm without a password", file: "a.sh", text: "helm repo add a \"${harbor}\"\n", want: skipped},
		{name: "GitLab", file: ".gitlab-ci.yml", text: "a: {script: ['docker login -u u -p p $REG']}\n", want: found},
		{name: "login-action", file: workflow, text: login("p"), want: found},
		{name: "login-action with a secret", file: workflow, text: login("${{ secrets.P }}"), want: skipped},
		{name: "a container", file: workflow, text: container("p"), want: found},
		{name: "a container with a secret", file: workflow, text: container("${{ secrets.P }}"), want: skipped},
		{name: "Terraform's docker", file: "a.tf", text: docker(`"p"`), want: found},
		{name: "Terraform's docker with a variable", file: "a.tf", text: docker("var.p"), want: skipped},
		{name: "Terraform's helm", file: "a.tf", text: helm(`"p"`), want: found},
		{name: "Terraform's helm with a variable", file: "a.tf", text: helm("var.p"), want: skipped},
	} {
		rule.check(t)
	}
}
