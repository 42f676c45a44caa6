package definitions

import (
	"fmt"
	"testing"
)

// TestPlaceholders: what another program fills in is skipped in each format, and is neither a problem nor a definition. Only a docker
// config that names a registry is what docker reads, and rejects.
func TestPlaceholders(t *testing.T) {
	const k3s, secret = "k3s/registries.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ntype: kubernetes.io/dockerconfigjson\n"
	for _, marked := range []string{"%%A%%", "@@A@@", "__A__", "#{A}#", "((a))", "(@= data.values.a @)", "${A}", "{{ a }}"} {
		for _, rule := range []formatRule{
			{name: "a key", file: "config.json", text: `{"auths": {"%s": {"auth": "dTpw"}}}`, want: "skipped template"},
			{name: "a key with its auth", file: "config.json", text: `{"auths": {"%[1]s": {"auth": "%[1]s"}}}`, want: "skipped template"},
			{name: "an auth", file: "config.json", text: `{"auths": {"one.test": {"auth": "%s"}}}`, want: "problem template"},
			{name: "an endpoint", file: k3s, text: k3sOf(`"a.test": {"endpoint": ["https://%s/b"]}`, ""), want: "skipped template"},
			{name: "a host of k3s", file: k3s, text: k3sOf("", `"%s": {"auth": {"username": "u", "password": "p"}}`),
				want: "skipped template"},
			{name: "an auth of k3s", file: k3s, text: k3sOf("", `"one.test": {"auth": {"auth": "%s"}}`),
				want: "https://one.test,unresolved template"},
			{name: "an auth of Talos", file: "a.yaml", text: talosAuth("auth: '%s'"), want: "https://one.test,unresolved template"},
			{name: "a host of containerd", file: "hosts.toml", text: "[host.'https://%s']\n", want: "skipped noHost,skipped template"},
			{name: "a repository of Flux", file: "a.yaml", text: "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\n" +
				"metadata: {name: a}\nspec: {url: 'https://a.%s/b'}\n", want: "skipped template"},
			{name: "a pull Secret", file: "a.yaml", text: secret + "data: {.dockerconfigjson: '%s'}\n", want: "skipped template"},
			{name: "a part of a pull Secret", file: "a.yaml",
				text: secret + `stringData: {.dockerconfigjson: '{"auths": {"one.test": {"username": "u", "password": "%s"}}}'}`,
				want: "skipped template"},
		} {
			rule.name += " " + marked
			rule.text = fmt.Sprintf(rule.text, marked)
			rule.check(t)
		}
	}
	for _, word := range []string{"CHANGEME", "REPLACE_ME", "<base64>", "YOUR_BASE64_HERE"} {
		for _, rule := range []formatRule{
			{name: "data", file: "a.yaml", text: secret + "data: {.dockerconfigjson: '%s'}\n", want: "skipped template"},
			{name: "stringData", file: "a.yaml", text: secret + "stringData: {.dockerconfigjson: '%s'}\n", want: "skipped template"},
			{name: "an auth", file: "config.json", text: `{"auths": {"one.test": {"auth": "%s"}}}`, want: "problem placeholder"},
			{name: "an auth of k3s", file: k3s, text: k3sOf("", `"one.test": {"auth": {"auth": "%s"}}`),
				want: "https://one.test,unresolved template"},
			{name: "an auth of Talos", file: "a.yaml", text: talosAuth("auth: '%s'"), want: "https://one.test,unresolved template"},
		} {
			rule.name += " " + word
			rule.text = fmt.Sprintf(rule.text, word)
			rule.check(t)
		}
	}
}

// TestNoPlaceholders: passwords may have any of the characters that placeholders have.
func TestNoPlaceholders(t *testing.T) {
	for _, password := range []string{"((a", "a))", "((1))", "100%%", "@@a", "__a__b", "a__B__c",
		"x%%a%%y", "#{", "(@a", "pa$$word", "a$B", "$a:b"} {
		formatRule{name: password, file: "k3s/registries.yaml",
			text: k3sOf("", `"one.test": {"auth": {"username": "robot$ci", "password": "`+password+`"}}`),
			want: "https://one.test robot$ci " + password}.check(t)
	}
	formatRule{name: "variables", file: "k3s/registries.yaml",
		text: k3sOf(`"a.test": {"endpoint": ["$A://$B", "$A://$B:5000/c", "https://b.test:$C"]}`, ""),
		want: "skipped template"}.check(t)
}
