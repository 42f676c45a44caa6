package script_test

import (
	"encoding/xml"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/realregistry"
	"github.com/regwarden/regwarden/test/testca"
)

var images = flag.String("images", "", "write the images of the documentation into this directory")

// The images of the README are what the program shows in a terminal, next to a real registry.
func TestImages(t *testing.T) {
	ca := testca.New(t, "Example Private CA")
	registry := realregistry.Distribution(t, realregistry.Options{Users: map[string]string{user: password}, CA: ca})
	realregistry.Push(t, registry.As(user, password), realregistry.Helm, realregistry.ChartPath, "6.7.1")
	dir, host := t.TempDir(), strings.TrimPrefix(registry.Endpoint, "https://")
	for name, text := range map[string]string{"ca.pem": ca.PEM(), "clusters/charts.yaml": fluxCharts(host, ca.PEM()),
		"ci/config.json": fmt.Sprintf(`{"auths": {%q: {"username": "ada", "password": "last year's"}}}`, host)} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	instance.Binary(t) // is built in the directory of the test
	t.Chdir(dir)
	for _, image := range []struct {
		name, password string
		args           []string
		want           string
	}{
		{"check.svg", "expired", []string{"check", host + "/charts/podinfo:6.7.1", "--username", "ada", "--ca", "ca.pem"},
			"RegistryAuthFailed"},
		{"scan.svg", "", []string{"scan", "."}, "charts-staging"},
	} {
		environment := []string{"TERM=xterm"}
		if image.password != "" {
			environment = append(environment, "REGWARDEN_REGISTRY_PASSWORD="+image.password)
		}
		shown := instance.RunInTerminal(t, environment, image.args...)
		svg := drawTerminal("$ regwarden "+strings.Join(image.args, " "), shown.Out)
		if shown.Code != 1 || !strings.Contains(shown.Out, image.want) || xml.Unmarshal([]byte(svg), new(struct{})) != nil {
			t.Errorf("%s: exit code %d\n%s", image.name, shown.Code, svg)
		}
		if *images == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(*images, image.name), []byte(svg), 0o644); err != nil { // as other files of the repository
			t.Fatal(err)
		}
	}
}

// fluxCharts has a chart with the password, and one with a former one.
func fluxCharts(host, ca string) string {
	text := "apiVersion: v1\nkind: Secret\nmetadata: {name: ca, namespace: apps}\nstringData:\n  ca.crt: |\n    " +
		strings.ReplaceAll(strings.TrimSpace(ca), "\n", "\n    ") + "\n"
	for name, password := range map[string]string{"charts": password, "charts-staging": "last year's"} {
		text += fmt.Sprintf(`---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: %[1]s, namespace: apps}
spec:
  type: oci
  url: oci://%[2]s/charts
  secretRef: {name: %[1]s}
  certSecretRef: {name: ca}
---
apiVersion: v1
kind: Secret
metadata: {name: %[1]s, namespace: apps}
stringData: {username: ada, password: %[3]q}
`, name, host, password)
	}
	return text
}

// Sizes of an image, in pixels, and its colors: escape sequences (SGR) and what they look like on a dark terminal.
const charWidth, lineHeight, margin = 8, 18, 16

var (
	styles = map[string]string{"31": `fill="#ff7b72"`, "32": `fill="#7ee787"`, "33": `fill="#e3b341"`, "2": `fill="#8b949e"`,
		"1": `font-weight="bold" fill="#ffffff"`, "31;1": `font-weight="bold" fill="#ff7b72"`, "32;1": `font-weight="bold" fill="#7ee787"`}
	painted = regexp.MustCompile("\x1b\\[([0-9;]*)m([^\x1b]*)")
)

// drawTerminal returns a terminal with a command and its output as SVG.
func drawTerminal(command, output string) string {
	rows := strings.Split(strings.TrimRight(strings.ReplaceAll(output, "\r", ""), "\n"), "\n")
	rows = append([]string{"\x1b[1m" + command + "\x1b[0m"}, rows...)
	var svg strings.Builder
	width, height := 82*charWidth+2*margin, len(rows)*lineHeight+2*margin
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d">
<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13" fill="#e6edf3">
`, width, height)
	for i, row := range rows {
		fmt.Fprintf(&svg, "<text x=\"%d\" y=\"%d\">%s</text>\n", margin, margin+(i+1)*lineHeight-5, drawRow(row))
	}
	return svg.String() + "</g>\n</svg>\n"
}

// drawRow returns a row with its colors.
func drawRow(row string) string {
	var out strings.Builder
	for _, part := range painted.FindAllStringSubmatch("\x1b[0m"+row, -1) {
		var text strings.Builder
		_ = xml.EscapeText(&text, []byte(strings.ReplaceAll(part[2], " ", "\u00a0"))) // browsers would show one blank for several
		if style := styles[part[1]]; style != "" {
			fmt.Fprintf(&out, "<tspan %s>%s</tspan>", style, text.String())
		} else {
			out.WriteString(text.String())
		}
	}
	return out.String()
}
