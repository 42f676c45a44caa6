package bench

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/cli/scan"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
	"github.com/regwarden/regwarden/secret"
	"github.com/regwarden/regwarden/test/instance"
)

const (
	scannedFiles       = 1000
	foreignFiles       = 100_000
	maxForeignSeconds  = 5 // of processor time
	definitionsPerFile = 5
	distinct           = 500
	scanOneWay         = 10 * time.Millisecond
	maxScanSeconds     = 0.3
	maxScanMiB         = 100
	maxScanRatio       = 1.2 // of the time that the round trips take
)

// BenchmarkScan measures reading pull Secrets in many files by the program, next to parsing the same YAML alone, and how near the checks of
// what was found come to the time that their round trips take.
func BenchmarkScan(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(64)) // bytes on their way sleep in threads
	tree, others := secretFiles(b), otherFiles(b)
	registry := redirected(startChild(b, false, "kit", "htpasswd").line)
	figures, r := samples{}, &report{b: b}
	for range *rounds {
		figures.add("yaml s", parseAll(b, tree).Seconds())
		took, process := scanList(b, tree)
		figures.add("read s", took.Seconds())
		figures.add("read CPU s", cpuTime(process).Seconds())
		figures.add("read MiB", float64(process.SysUsage().(*syscall.Rusage).Maxrss)/1024)
		figures.add("others CPU s", scanOthers(b, others).Seconds())
		before := ownCPU()
		allowed, took := checkAll(b, registry)
		figures.add("checks CPU s", (ownCPU() - before).Seconds())
		figures.add("checks s", took.Seconds())
		figures.add("checks ratio", float64(took)/float64(allowed))
	}
	r.row("yaml_alone", figure(figures.median("yaml s"), "s"))
	r.row("read_5000_definitions", atMost(figures.median("read s"), "s", maxScanSeconds),
		atMost(figures.median("read MiB"), "MiB", maxScanMiB),
		figure(figures.median("read s")/figures.median("yaml s"), "of-yaml-alone"), figure(figures.median("read CPU s"), "CPU-s"))
	r.row("read_100000_other_files", atMost(figures.median("others CPU s"), "CPU-s", maxForeignSeconds))
	r.row("check_500_at_20_ms", atMost(figures.median("checks ratio"), "of-round-trips", maxScanRatio),
		figure(figures.median("checks s"), "s"), figure(figures.median("checks CPU s"), "CPU-s"))
	r.end()
}

// secretFiles writes pull Secrets with the same definitions again and again.
func secretFiles(b *testing.B) string {
	b.Helper()
	tree := b.TempDir()
	for i := range scannedFiles {
		auths := map[string]any{}
		for j := range definitionsPerFile {
			n := (i*definitionsPerFile + j) % distinct
			auths[fmt.Sprintf("registry%d.example.com",
				n)] = map[string]string{"auth": base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "robot:password %d", n))}
		}
		config, err := json.Marshal(map[string]any{"auths": auths})
		noError(b, err)
		text := fmt.Appendf(nil, "apiVersion: v1\nkind: Secret\nmetadata:\n  name: pull%d\n  namespace: apps\ntype: "+
			"kubernetes.io/dockerconfigjson\ndata:\n  .dockerconfigjson: %s\n",
			i, base64.StdEncoding.EncodeToString(config))
		noError(b, os.WriteFile(filepath.Join(tree, fmt.Sprintf("secret%04d.yaml", i)), text, 0o600))
	}
	return tree
}

// otherFiles writes a tree of files that define no registry: source code, documentation, data, manifests, and scripts.
func otherFiles(b *testing.B) string {
	b.Helper()
	tree := b.TempDir()
	texts := map[string]string{
		"main%d.go":       "package main\n\n// Run docker login first.\nfunc main() { println(\"https://example.com\") }\n",
		"page%d.md":       "# Registries\n\n```yaml\napiVersion: v1\nkind: Secret\n```\n",
		"data%d.json":     `{"compilerOptions": {"strict": true}, "include": ["src/**/*.ts"], "name": "app", "version": "1.0.0"}`,
		"values%d.yaml":   "replicaCount: 2\nservice: {type: ClusterIP, port: 80}\nresources:\n  limits: {cpu: 100m, memory: 128Mi}\n",
		"service%d.yaml":  "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}], selector: {app: web}}\n",
		"template%d.yaml": "{{- if .Values.enabled }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Name }}}\n{{- end }}\n",
		"script%d.sh":     "#!/bin/sh\nset -e\nfor f in *; do echo \"$f\"; done\n",
		"notes%d.txt":     "Nothing of interest.\n",
		"style%d.css":     "body { margin: 0 }\n",
		"settings%d.toml": "[tool]\nname = \"app\"\nversion = \"1.0.0\"\n",
	}
	for i := range foreignFiles / len(texts) {
		dir := filepath.Join(tree, fmt.Sprintf("d%02d", i%100))
		noError(b, os.MkdirAll(dir, 0o700))
		for name, text := range texts {
			noError(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf(name, i)), []byte(text), 0o600))
		}
	}
	return tree
}

// scanOthers runs the program on files that define nothing, and returns its processor time.
func scanOthers(b *testing.B, tree string) time.Duration {
	b.Helper()
	cmd := exec.Command(instance.Binary(b), "scan", "--list", "-o", "json", tree)
	out, err := cmd.Output()
	noError(b, err)
	var result struct{ Registries []struct{} }
	noError(b, json.Unmarshal(out, &result))
	if len(result.Registries) != 0 {
		b.Fatalf("%d definitions", len(result.Registries))
	}
	return cpuTime(cmd.ProcessState)
}

func cpuTime(ended *os.ProcessState) time.Duration { return ended.UserTime() + ended.SystemTime() }

// parseAll reads and parses all files.
func parseAll(b *testing.B, tree string) time.Duration {
	b.Helper()
	began := time.Now()
	files, err := filepath.Glob(filepath.Join(tree, "*"))
	noError(b, err)
	for _, name := range files {
		text, err := os.ReadFile(name)
		noError(b, err)
		noError(b, yaml.Unmarshal(text, new(yaml.Node)))
	}
	return time.Since(began)
}

// scanList runs the program, and returns the time that it took.
func scanList(b *testing.B, tree string) (time.Duration, *os.ProcessState) {
	b.Helper()
	var out bytes.Buffer
	cmd := exec.Command(instance.Binary(b), "scan", "--list", "-o", "json", tree)
	cmd.Stdout = &out
	began := time.Now()
	noError(b, cmd.Run())
	took := time.Since(began)
	var result struct{ Registries []struct{ Source []struct{} } }
	noError(b, json.Unmarshal(out.Bytes(), &result))
	sources := 0
	for _, r := range result.Registries {
		sources += len(r.Source)
	}
	if len(result.Registries) != distinct || sources != scannedFiles*definitionsPerFile {
		b.Fatalf("%d definitions in %d places", len(result.Registries), sources)
	}
	return took, cmd.ProcessState
}

// checkAll checks definitions of as many hosts, with the default concurrency, and returns how long their round trips take and how long it
// took.
func checkAll(b *testing.B, registry redirected) (allowed, took time.Duration) {
	b.Helper()
	checker := &regcheck.Checker{Resolver: registry, Dialer: distant{registry, scanOneWay}, Egress: loopbackPolicy(b)}
	var result model.Result
	for i := range distinct {
		result.Registries = append(result.Registries, model.Registry{Resolution: model.Resolved, Definition: regcheck.Definition{
			Endpoint: fmt.Sprintf("https://registry%d.test", i), Auth: &regcheck.Auth{Type: regcheck.Basic, Username: regchecktest.User,
				Password: secret.String(regchecktest.Password), TLS: regcheck.TLS{Enabled: true, InsecureSkipVerify: true}}}})
	}
	began := time.Now()
	scan.Checks{Check: func(ctx context.Context, plan *regcheck.Plan) (*regcheck.Report, error) {
		return checker.Check(ctx, plan, nil)
	}}.Run(b.Context(), &result)
	took = time.Since(began)
	trips := 0
	for _, r := range result.Registries {
		if r.Report == nil || !r.Report.Valid {
			noError(b, errors.New("a definition is not valid"))
		}
		trips += r.Report.RoundTrips
	}
	return time.Duration(trips) * 2 * scanOneWay / scan.DefaultConcurrency, took
}
