package definitions

import "testing"

func hostRule(members string) string { return `{"hostRules": [{` + members + `}]}` }

func resource(kind, body string) string { return `resource "` + kind + "\" \"a\" {\n" + body + "\n}\n" }

func releaseWith(member string) string {
	return resource("helm_release", "  repository = \"oci://one.test\"\n  chart = \"b\"\n  "+member)
}

func ecrOf(members string) string {
	return resource("spectrocloud_registry_oci", "  type = \"ecr\"\n  endpoint = \"1.dkr.ecr.eu-west-1.amazonaws.com\"\n  credentials {\n"+
		members+"\n  }")
}

func manifestNamed(name string) string {
	return resource("kubernetes_manifest", `manifest = { apiVersion = "source.toolkit.fluxcd.io/v1", kind = "HelmRepository", `+
		`metadata = { name = `+name+` }, spec = { type = "oci", url = "oci://one.test/charts" } }`)
}

// TestRulesOfRenovateAndTerraform: which rule and which resource has credentials for a registry.
func TestRulesOfRenovateAndTerraform(t *testing.T) {
	const (
		planned = `_values": {"root_module": {"resources": [{"type": "helm_release", "name": "a", "mode": "managed", ` +
			`"address": "helm_release.a", "values": {"repository": "oci://one.test", "chart": "b"}}]}}}`
		changes = `"resource_changes": [{"type": "helm_release", "name": "a", "mode": "managed", "address": "helm_release.a", ` +
			`"change": {"after": {"repository": "oci://one.test", "chart": "b"}}}]}`
		state = `"resources": [{"type": "spectrocloud_registry_oci", "name": "a", "mode": "managed", "instances": [{"attributes": {` +
			`"type": "basic", "endpoint": "https://one.test", ` +
			`"credentials": [{"credential_type": "basic", "username": "u", "password": "p"}]}}]}]}`
		login      = `"username": "u", "password": "p"`
		chart, ecr = "https://one.test b,notice noMatchingCredentials", "https://1.dkr.ecr.eu-west-1.amazonaws.com"
	)
	for _, rule := range []formatRule{
		{name: "a name of Docker Hub", file: "renovate.json", text: hostRule(`"matchHost": "index.docker.io", ` + login),
			want: "https://registry-1.docker.io u p,notice secretInRepository"},
		{name: "an address that is not valid", file: "renovate.json", text: hostRule(`"matchHost": "https://one.test:x", ` + login),
			want: "https://one.test:x u p,notice secretInRepository"},
		{name: "a token and a username", file: "renovate.json", text: hostRule(`"matchHost": "one.test", "username": "u", "token": "t"`),
			want: "https://one.test t,notice secretInRepository"},
		{name: "a state", file: "a.json", text: `{"lineage": "x", "terraform_version": "1", ` + state, want: "https://one.test u p"},
		{name: "a state without its lineage", file: "a.json", text: `{"terraform_version": "1", ` + state},
		{name: "a plan", file: "a.json", text: `{"format_version": "1", "planned` + planned, want: chart},
		{name: "a state as JSON", file: "a.json", text: `{"format_version": "1", "` + planned[1:], want: chart},
		{name: "a plan without its version", file: "a.json", text: `{"planned` + planned},
		{name: "changes of a plan", file: "a.json", text: `{"format_version": "1", ` + changes, want: chart},
		{name: "a manifest", file: "a.tf", text: manifestNamed(`"r"`), want: "https://one.test charts"},
		{name: "a manifest with an expression", file: "a.tf", text: manifestNamed("var.a")},
		{name: "a chart", file: "a.tf", text: releaseWith(""), want: chart},
		{name: "a chart with a username", file: "a.tf", text: releaseWith(`repository_username = "u"`), want: "https://one.test b u"},
		{name: "a chart with a password", file: "a.tf", text: releaseWith(`repository_password = "p"`),
			want: "https://one.test b p,notice secretInRepository"},
		{name: "a Secret without data", file: "a.tf", text: resource("kubernetes_secret", `  type = "kubernetes.io/dockerconfigjson"`)},
		{name: "a Secret in the old format", file: "a.tf", text: resource("kubernetes_secret", "  type = \"kubernetes.io/dockercfg\"\n"+
			`  data = { ".dockercfg" = "{\"one.test\": {\"auth\": \"dTpw\"}}" }`), want: "https://one.test u p,notice secretInRepository"},
		{name: "another Secret", file: "a.tf", text: resource("kubernetes_secret", "  type = \"Opaque\"\n  data = { a = \"b\" }")},
		{name: "a key", file: "a.tf", text: ecrOf("credential_type = \"secret\"\naccess_key = \"a\"\nsecret_key = \"s\""),
			want: ecr + ",notice secretInRepository"},
		{name: "half a key", file: "a.tf", text: ecrOf("credential_type = \"secret\"\nsecret_key = \"s\""),
			want: ecr + ",unresolved cloudIdentity"},
		{name: "the other half", file: "a.tf", text: ecrOf("credential_type = \"secret\"\naccess_key = \"a\""),
			want: ecr + ",unresolved cloudIdentity"},
		{name: "a role and a key", file: "a.tf", text: ecrOf("credential_type = \"sts\"\naccess_key = \"a\"\nsecret_key = \"s\""),
			want: ecr + ",unresolved cloudIdentity"},
	} {
		rule.check(t)
	}
}
