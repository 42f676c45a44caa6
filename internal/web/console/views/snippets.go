package views

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/regcheck"
)

// Snippet is a definition as another program takes it. Text has no secret: it names variables and files, which Needs lists.
type Snippet struct{ ID, Title, Text, Needs string }

// Snippets returns a definition for the programs that take one.
func Snippets(d regcheck.Definition) []Snippet {
	return []Snippet{
		{"curl", "curl", curlOf(d), needs(d, "REGWARDEN_SERVER, REGWARDEN_API_KEY", "REGISTRY_PASSWORD", "REGISTRY_TOKEN")},
		{"cli", "Command line", cliOf(d), needs(d, "", "REGWARDEN_REGISTRY_PASSWORD", "REGWARDEN_REGISTRY_TOKEN")},
		terraformOf(d),
	}
}

// Files that the snippets name.
const (
	caFile          = "ca.pem"
	certificateFile = "client.pem"
	keyFile         = "client-key.pem"
	accountFile     = "service-account.json"
	appFile         = "app-key.pem"
)

// Variables that the snippets name.
const (
	awsSecret   = "AWS_SECRET_ACCESS_KEY" // #nosec G101 -- a name
	awsSession  = "AWS_SESSION_TOKEN"
	azureSecret = "AZURE_CLIENT_SECRET" // #nosec G101 -- a name
)

// needs returns the variables and files of a snippet, as a sentence.
func needs(d regcheck.Definition, variables, password, token string) string {
	list := []string{variables}
	for _, one := range []struct {
		name string
		used bool
	}{
		{password, d.Auth.Type == regcheck.Basic}, {token, d.Auth.Type == regcheck.Token},
		{awsSecret, d.Auth.AWS != nil}, {awsSession, d.Auth.AWS != nil && d.Auth.AWS.SessionToken != ""},
		{accountFile, d.Auth.GCP != nil}, {azureSecret, d.Auth.Azure != nil}, {appFile, d.Auth.GitHub != nil},
		{caFile, d.Auth.TLS.CA != ""}, {certificateFile, d.Auth.TLS.Certificate != ""}, {keyFile, d.Auth.TLS.Key != ""},
	} {
		if one.used {
			list = append(list, one.name)
		}
	}
	if list[0] == "" {
		list = list[1:]
	}
	if len(list) == 0 {
		return ""
	}
	return "Uses " + strings.Join(list, ", ") + "."
}

func cliOf(d regcheck.Definition) string {
	if d.Auth.Type.IsObtained() {
		return "regwarden check - <<JSON\n" + documentOf(d) + "JSON"
	}
	lines := []string{"regwarden check --endpoint " + shellWord(d.Endpoint)}
	for _, flag := range []struct{ name, value string }{
		{"--kind", string(d.Kind)}, {"--base-path", d.BasePath}, {"--content", d.BaseContentPath},
		{"--provider-type", string(d.ProviderType)},
		{"--auth-type", string(d.Auth.Type)}, {"--username", d.Auth.Username},
	} {
		if flag.value != "" {
			lines = append(lines, flag.name+" "+shellWord(flag.value))
		}
	}
	for _, reference := range d.References {
		lines = append(lines, "--reference "+shellWord(reference))
	}
	for _, flag := range []struct {
		text string
		used bool
	}{
		{"--ca " + caFile, d.Auth.TLS.CA != ""}, {"--cert " + certificateFile, d.Auth.TLS.Certificate != ""},
		{"--key " + keyFile, d.Auth.TLS.Key != ""},
		{"--insecure-skip-verify", d.Auth.TLS.InsecureSkipVerify}, {"--pass-credentials", d.Auth.PassCredentials},
	} {
		if flag.used {
			lines = append(lines, flag.text)
		}
	}
	return strings.Join(lines, " \\\n  ")
}

// shellWord quotes a text for a shell, if necessary.
func shellWord(text string) string {
	special := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("./:-_@%+,", r)
	}
	if text != "" && !strings.ContainsFunc(text, special) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// inDocument quotes a text for a document in which the shell replaces variables.
var inDocument = strings.NewReplacer(`\\`, `\\\\`, "$", `\$`, "`", "\\`")

func curlOf(d regcheck.Definition) string {
	return `curl -sS --fail-with-body "$REGWARDEN_SERVER/v1/registries/oci/basic/diagnose" \
  -H "ApiKey: $REGWARDEN_API_KEY" -H 'Content-Type: application/json' -d @- <<JSON
` + documentOf(d) + "JSON"
}

// documentOf returns a definition as JSON. The shell inserts the secrets and files: no text of a definition contains a quoted member.
func documentOf(d regcheck.Definition) string {
	const member = "file"
	a := *d.Auth
	for _, pem := range []*string{&a.TLS.CA, &a.TLS.Certificate} {
		if *pem != "" {
			*pem = member
		}
	}
	d.Auth = &a
	file := func(name string) string { return "$(jq -Rs . < " + name + ")" }
	return strings.NewReplacer(
		`"secretKey": "********"`, `"secretKey": "$`+awsSecret+`"`, `"sessionToken": "********"`, `"sessionToken": "$`+awsSession+`"`,
		`"serviceAccount": "********"`, `"serviceAccount": `+file(accountFile),
		`"clientSecret": "********"`, `"clientSecret": "$`+azureSecret+`"`, `"privateKey": "********"`, `"privateKey": `+file(appFile),
		`"password": "********"`, `"password": "$REGISTRY_PASSWORD"`, `"token": "********"`, `"token": "$REGISTRY_TOKEN"`,
		`"key": "********"`, `"key": `+file(keyFile), `"ca": "file"`, `"ca": `+file(caFile), `"certificate": "file"`,
		`"certificate": `+file(certificateFile),
	).Replace(inDocument.Replace(indentedJSON(d)))
}

// indentedJSON ends with a line break. It leaves <, > and & as they are.
func indentedJSON(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(value) // never fails: texts only
	return out.String()
}

// terraformOf returns a resource of Palette's provider, which has no tokens and no client keys.
func terraformOf(d regcheck.Definition) Snippet {
	s := Snippet{ID: "terraform", Title: "Terraform"}
	if d.Kind == regcheck.KindChartRepository {
		s.Text, s.Needs = helmResource(d)
		return s
	}
	if d.Auth.Type == regcheck.Token || d.Auth.Type.IsObtained() || d.Auth.TLS.Key != "" {
		s.Needs = "Palette's provider has no arguments for tokens, client keys and what credentials are obtained with."
		return s
	}
	credentials := arguments{{"credential_type", string(d.Auth.Type)}, {"username", d.Auth.Username}}.lines("    ")
	if d.Auth.Type == regcheck.Basic {
		credentials += "    password = var.registry_password\n"
		s.Needs = "Uses var.registry_password."
	}
	s.Text = "resource \"spectrocloud_registry_oci\" \"registry\" {\n" +
		arguments{{"name", "registry"}, {"type", "basic"}, {"endpoint", d.Endpoint}, {"endpoint_suffix", d.BasePath},
			{"base_content_path", d.BaseContentPath}, {"provider_type", string(d.ProviderType)}}.lines("  ") +
		"  is_private = " + strconv.FormatBool(d.Auth.Type != regcheck.NoAuth) + "\n  is_synchronization = true\n  credentials {\n" +
		credentials + tlsConfig(d.Auth.TLS) + "  }\n}"
	return s
}

// helmResource returns the resource of a chart repository, which has fewer arguments.
func helmResource(d regcheck.Definition) (text, needs string) {
	hasTLS := d.Auth.TLS != (regcheck.TLS{Enabled: d.Auth.TLS.Enabled})
	if d.BasePath != "" || d.BaseContentPath != "" || d.Auth.Type.IsObtained() || hasTLS || d.Auth.PassCredentials {
		return "", "Palette's provider has no arguments for paths, charts, TLS and passed credentials of a chart repository."
	}
	credentials := arguments{{"credential_type", string(d.Auth.Type)}, {"username", d.Auth.Username}}.lines("    ")
	switch d.Auth.Type {
	case regcheck.Basic:
		credentials += "    password = var.registry_password\n"
		needs = "Uses var.registry_password."
	case regcheck.Token:
		credentials += "    token = var.registry_token\n"
		needs = "Uses var.registry_token."
	default: // without credentials
	}
	return "resource \"spectrocloud_registry_helm\" \"registry\" {\n" +
		arguments{{"name", "registry"}, {"endpoint", d.Endpoint}}.lines("  ") +
		"  is_private = " + strconv.FormatBool(d.Auth.Type != regcheck.NoAuth) + "\n  credentials {\n" + credentials + "  }\n}", needs
}

// tlsConfig returns the block with the certificates to trust, which the provider has one argument for.
func tlsConfig(tls regcheck.TLS) string {
	lines := ""
	if tls.CA != "" || tls.Certificate != "" {
		lines = "      certificate = file(\"" + caFile + "\")\n"
	}
	if tls.InsecureSkipVerify {
		lines += "      insecure_skip_verify = true\n"
	}
	if lines == "" {
		return ""
	}
	return "    tls_config {\n" + lines + "    }\n"
}

type arguments []struct{ name, value string }

// lines returns the arguments that have a value.
func (a arguments) lines(indent string) (text string) {
	for _, argument := range a {
		if argument.value != "" {
			text += indent + argument.name + " = " + hclText(argument.value) + "\n"
		}
	}
	return text
}

// hclText quotes a text, so that it has no templates.
func hclText(text string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(strings.TrimSpace(indentedJSON(text)))
}
