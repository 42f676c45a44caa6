package settings

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/internal/cli/helptext"
)

var update = flag.Bool("update", false, "write docs/configuration.md")

const configPageFile = "../../../docs/configuration.md"

// The page is generated from the flags of serve, so that no setting, default or bound can be missing from it.
func TestPageOfSettingsIsGenerated(t *testing.T) {
	page := configPage(t)
	if *update {
		if err := os.WriteFile(configPageFile, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(configPageFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(stored) != page {
		t.Errorf("%s differs from the flags; run: make docs", configPageFile)
	}
}

// configPage is the documentation of all settings as Markdown. Each setting must be in one section.
func configPage(t *testing.T) string {
	t.Helper()
	flags, described := New().Flags, map[string]bool{}
	var out strings.Builder
	out.WriteString(configIntroduction)
	for _, section := range helptext.Sections {
		fmt.Fprintf(&out, "\n## %s\n\n| setting | environment | default | bounds | meaning |\n| --- | --- | --- | --- | --- |\n",
			section.Heading)
		for name := range strings.FieldsSeq(section.Names) {
			f := flags.Lookup(name)
			if f == nil || described[name] {
				t.Fatalf("%q under %q is not a setting, or is in two sections", name, section.Heading)
			}
			described[name] = true
			if (f.DefValue == "" || f.DefValue == "[]") && !usageDefault.MatchString(f.Usage) {
				t.Errorf("the text of %s does not say what it is without a value", name)
			}
			out.WriteString(configRow(f))
		}
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if !described[f.Name] {
			t.Errorf("add %s to a section in helptext.Sections", f.Name)
		}
	})
	return out.String()
}

var usageDefault = regexp.MustCompile(`^(.*) \(default: (.*)\)$`)

// configRow describes a setting. A default that is not a fixed value is part of the usage text.
func configRow(f *pflag.Flag) string {
	usage, standard, bounds := f.Usage, "", ""
	if v, ok := f.Value.(interface{ Bounds() string }); ok {
		bounds = v.Bounds()
	}
	if f.DefValue != "" && f.DefValue != "[]" {
		standard = "`" + f.DefValue + "`"
	}
	if parts := usageDefault.FindStringSubmatch(usage); parts != nil {
		usage, standard = parts[1], parts[2]
	}
	return fmt.Sprintf("| `%s` | `%s` | %s | %s | %s |\n", f.Name, EnvName(f.Name), standard, bounds, usage)
}

const configIntroduction = `# Configuration

This page is generated from the flags of ` + "`regwarden serve`" + ` (` + "`make docs`" + `); do not edit it.

Every setting has one name. It is a flag, an environment variable, and a key of the settings file:

` + "```sh" + `
regwarden serve --login-wait 5s
REGWARDEN_LOGIN_WAIT=5s regwarden serve
echo 'login-wait: 5s' > regwarden.yaml && regwarden serve --config regwarden.yaml
` + "```" + `

- A flag takes precedence over the environment, and the environment over the file.
- ` + "`regwarden config`" + ` prints the settings in force and the source of each, with secrets masked.
- A duration is a number with a unit, such as ` + "`90s`, `15m`, `12h`, `30d` or `2w`" + `.
- A list is written with commas in flags and variables, and as a YAML list in the file. A flag of a list may be repeated.
- The service does not start with an unknown key in the file, a key without a value or a value outside its bounds. It logs a warning for an
  unknown ` + "`REGWARDEN_…`" + ` variable.
- Settings take effect when the service starts.

## Secrets and variables that are not settings

Secrets are never flags. Each file with a secret must have mode 0600: see [files with secrets](deployment.md#files-with-secrets).

| variable | meaning |
| --- | --- |
| ` + "`REGWARDEN_MASTER_KEY`" + ` | the master key (32 bytes in base64), in place of ` + "`master-key-file`" +
	`; or a [command prints it](key-rotation.md#get-the-master-key-from-a-command) |
| ` + "`REGWARDEN_NEXT_MASTER_KEY`" + ` | the new master key, for [` + "`key rotate --master`" +
	`](key-rotation.md#rotate-a-master-key-from-the-environment) |
| ` + "`REGWARDEN_BOOTSTRAP_ORG`, `REGWARDEN_BOOTSTRAP_EMAIL`, `REGWARDEN_BOOTSTRAP_PASSWORD_FILE`" +
	` | the first organization and its administrator: see [first start](deployment.md#first-start-without-a-terminal) |
| ` + "`REGWARDEN_REGISTRY_PASSWORD`, `REGWARDEN_REGISTRY_TOKEN`" + ` | the registry's credentials, for [` + "`regwarden check`" +
	`](check.md#credentials) |
| ` + "`REGWARDEN_REGISTRY_AWS_SECRET_KEY`, `REGWARDEN_REGISTRY_AWS_SESSION_TOKEN`, `REGWARDEN_REGISTRY_AZURE_CLIENT_SECRET`" +
	` | secrets of [cloud credentials](cloud-credentials.md#on-the-command-line) that flags give |
| ` + "`GOMEMLIMIT`" + ` | memory limit of the Go runtime: see [memory](sizing.md#memory) |
| ` + "`SSL_CERT_FILE`, `SSL_CERT_DIR`" + ` | CA certificates of the system, read by Go on Linux |
`
