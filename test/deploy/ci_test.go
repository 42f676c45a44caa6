package deploy_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	batchv1 "k8s.io/api/batch/v1"
	kubernetesyaml "sigs.k8s.io/yaml"

	"github.com/regwarden/regwarden/internal/needs"
	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/testca"
)

const releasedVersion = "1.2.3"

// published is a release as its download page has it. PATH has a curl that reads from it instead of the network.
type published struct {
	files     string
	path      string
	checksums string // SHA-256 of checksums.txt
}

func newRelease(t *testing.T, program []byte) published {
	t.Helper()
	r := published{files: t.TempDir()}
	name := fmt.Sprintf("regwarden_%s_%s_%s", releasedVersion, runtime.GOOS, runtime.GOARCH)
	archive := archiveOf(t, name+"/regwarden", program)
	r.write(t, name+".tar.gz", archive)
	r.write(t, "checksums.txt", []byte(fmt.Sprintf("%s  other.tar.gz\n%s  %s.tar.gz\n", strings.Repeat("0", 64), sum(archive), name)))
	r.checksums = sum(mustRead(t, filepath.Join(r.files, "checksums.txt")))
	programs := t.TempDir()
	curl := `#!/bin/sh
while [ $# -gt 1 ]; do case $1 in --output) output=$2; shift ;; esac; shift; done
case $1 in https://github.com/regwarden/regwarden/releases/download/v` + releasedVersion + `/*) cp "` + r.files +
		`/${1##*/}" "$output" ;; *) exit 22 ;; esac
`
	if err := os.WriteFile(filepath.Join(programs, "curl"), []byte(curl), 0o700); err != nil { // #nosec G306 -- a program
		t.Fatal(err)
	}
	r.path = programs + string(os.PathListSeparator) + os.Getenv("PATH")
	return r
}

func (r published) write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.files, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

func archiveOf(t *testing.T, name string, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	files := tar.NewWriter(zipped)
	if err := files.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(data))}); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// run runs a shell in a directory with the files of a repository.
func (r published) run(t *testing.T, dir string, env []string, command ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, append([]string{"PATH=" + r.path, "HOME=" + t.TempDir()}, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// repository returns a directory with a problem, and without anything to check.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	text := `{"auths": {"registry.example.com": {"auth": "not base64"}}}`
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// pastOf makes a directory a repository with a commit, a baseline and a CA. Its problem is new, and one that is excluded is not reported.
func pastOf(t *testing.T, dir string) {
	t.Helper()
	needs.Program(t, "git", "git")
	for name, text := range map[string]string{"baseline.json": `{"version": 1, "issues": []}`, "ca.pem": testca.New(t, "CA").PEM(),
		"known/config.json": string(mustRead(t, filepath.Join(dir, "config.json")))} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range []string{"init -q", "add baseline.json", "-c user.name=a -c user.email=a@example.com commit -qm first"} {
		args := append([]string{"-C", dir}, strings.Fields(command)...)
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil { // #nosec G204 -- constants
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
}

func ci(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(deployDir, "ci", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// The program of a release is used only if its checksum is right.
func TestInstallOfRelease(t *testing.T) {
	for name, row := range map[string]struct {
		version string
		change  func(*testing.T, *published)
		want    string // in the output of a failure; empty: it succeeds
	}{
		"release":         {releasedVersion, func(*testing.T, *published) {}, ""},
		"tag":             {"v" + releasedVersion, func(*testing.T, *published) {}, ""},
		"without pin":     {releasedVersion, func(_ *testing.T, r *published) { r.checksums = "" }, ""},
		"other version":   {"9.9.9", func(*testing.T, *published) {}, "cannot be downloaded"},
		"hostile version": {"1/../..", func(*testing.T, *published) {}, "must be that of a release"},
		"other pin": {releasedVersion, func(_ *testing.T, r *published) { r.checksums = strings.Repeat("0", 64) },
			"is not the one that is pinned"},
		"other archive":       {releasedVersion, changeArchive, "does not have the checksum"},
		"archive not in list": {releasedVersion, changeChecksums, "does not have the checksum"},
		"changed list, pinned": {releasedVersion, func(t *testing.T, r *published) { r.write(t, "checksums.txt", nil) },
			"is not the one that is pinned"},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newRelease(t, []byte("#!/bin/sh\necho started\n")), t.TempDir()
			row.change(t, &r)
			out, err := r.run(t, dir, nil, "sh", ci(t, "install"), row.version, "programs", r.checksums)
			if row.want != "" {
				if left, _ := filepath.Glob(filepath.Join(dir, "programs", "*")); err == nil ||
					!strings.Contains(out, row.want) || len(left) > 0 {
					t.Fatalf("%v, left %v\n%s", err, left, out)
				}
				return
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			r.files = "" // it is downloaded once
			again, err := r.run(t, dir, nil, "sh", ci(t, "install"), row.version, "programs", r.checksums)
			if err != nil || again != out {
				t.Errorf("%v\n%s", err, again)
			}
			if started, err := r.run(t, dir, nil, filepath.Join(strings.TrimSpace(out), "regwarden")); err != nil ||
				started != "started\n" {
				t.Errorf("%v\n%s", err, started)
			}
		})
	}
}

func changeArchive(t *testing.T, r *published) {
	t.Helper()
	archives, _ := filepath.Glob(filepath.Join(r.files, "*.tar.gz"))
	r.write(t, filepath.Base(archives[0]), append(mustRead(t, archives[0]), 0))
}

func changeChecksums(t *testing.T, r *published) {
	t.Helper()
	r.write(t, "checksums.txt", []byte("\n"))
	r.checksums = ""
}

// githubAction is the file action.yml.
type githubAction struct {
	Name, Description, Author string
	Branding                  struct{ Icon, Color string }
	Inputs                    map[string]struct {
		Description, Default string
		Required             bool
	}
	Runs struct {
		Using string
		Steps []struct {
			Shell, Run string
			Env        map[string]string
		}
	}
}

func readAction(t *testing.T) (action githubAction) {
	t.Helper()
	decodeStrictly(t, ci(t, "action.yml"), &action)
	step := action.Runs.Steps[0]
	if action.Runs.Using != "composite" || len(action.Runs.Steps) != 1 || step.Shell != "bash" || strings.Contains(step.Run, "${{") {
		t.Fatalf("%+v", action.Runs)
	}
	return action
}

// run runs the step of the action as a runner does, with these inputs and the defaults of the others.
func (a githubAction) run(t *testing.T, r published, dir string, env []string, inputs map[string]string) (string, error) {
	t.Helper()
	step, used := a.Runs.Steps[0], map[string]bool{}
	for name, expression := range step.Env {
		input := regexp.MustCompile(`^\$\{\{ inputs\.([a-z-]+) \}\}$`).FindStringSubmatch(expression)
		if input == nil {
			t.Fatalf("%s is %q", name, expression)
		}
		value, given := inputs[input[1]]
		if !given {
			value = a.Inputs[input[1]].Default
		}
		used[input[1]] = true
		env = append(env, name+"="+value)
	}
	if len(used) != len(a.Inputs) {
		t.Errorf("the script uses %v of %v", used, a.Inputs)
	}
	env = append(env, "GITHUB_ACTION_PATH="+ci(t, ""), "GITHUB_STEP_SUMMARY="+filepath.Join(dir, "summary.md"))
	return r.run(t, dir, env, "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
}

// runnerFiles are where a step writes what later ones have: their PATH and environment.
func runnerFiles(t *testing.T) (env []string, path, variables string) {
	t.Helper()
	dir := t.TempDir()
	path, variables = filepath.Join(dir, "path"), filepath.Join(dir, "env")
	return []string{"GITHUB_PATH=" + path, "GITHUB_ENV=" + variables, "RUNNER_TEMP=" + t.TempDir()}, path, variables
}

// The action reads strictly, no input is part of its script, and its flags are those of the program.
func TestGitHubAction(t *testing.T) {
	action := readAction(t)
	r, dir := newRelease(t, mustRead(t, instance.Binary(t))), repository(t)
	values := map[string]string{
		"version": releasedVersion, "checksums": r.checksums, "list": "true",
		"sarif": "report $(touch injected).sarif", "junit": "report.xml",
		"paths": "config.json\n\n./\n", "fail-on": "unresolved",
		"exclude": "known/\n\n*.md\n", "baseline": "baseline.json", "since": "HEAD", "ca": "ca.pem",
	}
	pastOf(t, dir)
	files, _, _ := runnerFiles(t)
	out, err := action.run(t, r, dir, files, values)
	if exitCode(err) != 1 || !strings.Contains(out, "::error file=config.json,") || strings.Contains(out, "known/") {
		t.Errorf("%v\n%s", err, out)
	}
	exist(t, dir, "report.xml", "summary.md", "report $(touch injected).sarif")
	if _, err := os.Stat(filepath.Join(dir, "injected")); err == nil {
		t.Error("an input was run as a command")
	}
}

// gitlabJob is a job of the template, with what it extends.
type gitlabJob struct {
	Stage, Image, Extends string
	Variables             map[string]string
	BeforeScript          []string `yaml:"before_script"`
	Script                []string
	Artifacts             struct {
		When    string
		Reports struct{ JUnit, CodeQuality string }
	}
}

// readTemplate returns the jobs of the template with these inputs and the defaults of the others.
func readTemplate(t *testing.T, values map[string]string) map[string]gitlabJob {
	t.Helper()
	header, text, found := strings.Cut(string(mustFile(t, "ci/gitlab.yml")), "\n---\n")
	var spec struct {
		Spec struct {
			Inputs map[string]struct {
				Description string
				Default     *string
			}
		}
	}
	decode(t, []byte(header), &spec)
	for name, input := range spec.Spec.Inputs {
		value, given := values[name]
		if !given && input.Default != nil {
			value = *input.Default
		}
		placeholder := "$[[ inputs." + name + " ]]"
		if input.Description == "" || !strings.Contains(text, placeholder) {
			t.Errorf("input %s: %+v", name, input)
		}
		text = strings.ReplaceAll(text, placeholder, value)
	}
	var jobs map[string]gitlabJob
	decode(t, []byte(text), &jobs)
	if !found || strings.Contains(text, "$[[") || jobs["regwarden-scan"].Artifacts.When != "always" ||
		!strings.Contains(jobs[".regwarden"].BeforeScript[0], string(mustFile(t, "ci/install"))) {
		t.Fatalf("%+v", jobs)
	}
	return jobs
}

// runJob runs a job that extends .regwarden as a runner does: in one shell.
func (r published) runJob(t *testing.T, dir string, env []string, jobs map[string]gitlabJob, job gitlabJob) (string, error) {
	t.Helper()
	if job.Extends != ".regwarden" {
		t.Fatalf("%+v", job)
	}
	for _, variables := range []map[string]string{jobs[job.Extends].Variables, job.Variables} {
		for name, value := range variables {
			env = append(env, name+"="+value)
		}
	}
	script := strings.Join(slices.Concat(jobs[job.Extends].BeforeScript, job.Script), "\n")
	script = strings.ReplaceAll(script, "/tmp/", t.TempDir()+"/")
	return r.run(t, dir, append(env, "TMPDIR="+t.TempDir()), "sh", "-ec", script)
}

// The template has inputs with a use each, the same installation as the action, and its reports are where GitLab looks for them.
func TestGitLabTemplate(t *testing.T) {
	r, dir := newRelease(t, mustRead(t, instance.Binary(t))), repository(t)
	pastOf(t, dir)
	jobs := readTemplate(t, map[string]string{"version": releasedVersion, "checksums": r.checksums, "paths": "config.json ./",
		"baseline": "baseline.json", "since": "HEAD", "ca": "ca.pem"})
	job := jobs["regwarden-scan"]
	out, err := r.runJob(t, dir, nil, jobs, job)
	if exitCode(err) != 1 {
		t.Errorf("%v\n%s", err, out)
	}
	exist(t, dir, job.Artifacts.Reports.JUnit, job.Artifacts.Reports.CodeQuality)
}

// The Job is one that Kubernetes understands, and its arguments are those of the program, which needs nothing but the Secret.
func TestPreSyncJob(t *testing.T) {
	var job batchv1.Job
	if err := kubernetesyaml.UnmarshalStrict(mustFile(t, "ci/argocd-presync.yaml"), &job); err != nil {
		t.Fatal(err)
	}
	pod := job.Spec.Template.Spec
	c, volume := pod.Containers[0], pod.Volumes[0].Secret
	if job.Annotations["argocd.argoproj.io/hook"] != "PreSync" || c.VolumeMounts[0].Name != pod.Volumes[0].Name ||
		volume.Items[0].Key != ".dockerconfigjson" {
		t.Errorf("%+v", job)
	}
	mounted, file := c.VolumeMounts[0].MountPath+"/"+volume.Items[0].Path, filepath.Join(repository(t), "config.json")
	args := strings.Split(strings.ReplaceAll(strings.Join(c.Args, " "), mounted, file), " ")
	result := instance.Run(t, "", args...)
	if result.Code != 1 || !slices.Contains(args, file) || !strings.Contains(result.Out, "invalidBase64") {
		t.Errorf("exit code %d\n%s%s", result.Code, result.Out, result.Err)
	}
	if codes := job.Spec.PodFailurePolicy.Rules[0].OnExitCodes; *codes.ContainerName != c.Name || !slices.Equal(codes.Values, []int32{2}) {
		t.Errorf("%+v", codes)
	}
}

// Flux applies what follows only after the check, and runs it again in each interval: the Job is deleted after the timeout and before the
// next one.
func TestPreSyncOfFlux(t *testing.T) {
	type kustomization struct {
		Kind     string
		Metadata struct{ Name string }
		Spec     struct {
			Wait              bool
			Interval, Timeout time.Duration
			DependsOn         []struct{ Name string } `yaml:"dependsOn"`
			Patches           []struct {
				Target struct{ Kind string }
				Patch  string
			}
		}
	}
	var check, apps kustomization
	first, second, _ := strings.Cut(string(mustFile(t, "ci/flux-presync.yaml")), "\n---\n")
	decode(t, []byte(first), &check)
	decode(t, []byte(second), &apps)
	if !check.Spec.Wait || apps.Spec.DependsOn[0].Name != check.Metadata.Name || check.Kind != "Kustomization" || apps.Kind != check.Kind {
		t.Errorf("%+v\n%+v", check, apps)
	}
	var patch []struct {
		Path  string
		Value int
	}
	if len(check.Spec.Patches) != 1 || check.Spec.Patches[0].Target.Kind != "Job" {
		t.Fatalf("it patches %+v", check.Spec.Patches)
	}
	decode(t, []byte(check.Spec.Patches[0].Patch), &patch)
	if retained := time.Duration(patch[0].Value) * time.Second; patch[0].Path != "/spec/ttlSecondsAfterFinished" ||
		retained <= check.Spec.Timeout || retained >= check.Spec.Interval {
		t.Errorf("%+v", patch)
	}
}

// hookOf returns the hook in a clone of the tag, where pre-commit looks for it at the root of the repository.
func hookOf(t *testing.T) string {
	t.Helper()
	var hooks []struct {
		ID, Name, Description, Entry, Language string
		Types                                  []string
		Serial                                 bool `yaml:"require_serial"`
	}
	root := ci(t, "../..")
	decodeStrictly(t, filepath.Join(root, ".pre-commit-hooks.yaml"), &hooks)
	clone := t.TempDir() // of the tag
	for _, name := range []string{hooks[0].Entry, "deploy/ci/install"} {
		path := filepath.Join(clone, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, mustRead(t, filepath.Join(root, name)), mode(t, filepath.Join(root, name))); err != nil {
			t.Fatal(err)
		}
	}
	changelog := strings.Replace(string(mustRead(t, filepath.Join(root, "CHANGELOG.md"))), "## Unreleased\n",
		"## Unreleased\n\n## "+releasedVersion+" - 2027-01-01\n", 1)
	if err := os.WriteFile(filepath.Join(clone, "CHANGELOG.md"), []byte(changelog), 0o600); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(clone, hooks[0].Entry)
}

// pre-commit runs the hook in the user's repository.
func TestPreCommitHook(t *testing.T) {
	hook, r, dir := hookOf(t), newRelease(t, mustRead(t, instance.Binary(t))), repository(t)
	out, err := r.run(t, dir, nil, hook, "--checksums="+r.checksums, "config.json")
	if exitCode(err) != 1 || !strings.Contains(out, "config.json") || !strings.Contains(out, "invalidBase64") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := r.run(t, dir, nil, hook, "--checksums=0", "config.json"); exitCode(err) != 2 {
		t.Errorf("another pin: %v\n%s", err, out)
	}
}

// A commit has files of all programs, which define nothing, and one may be too large to be read.
func TestPreCommitHookOfAnyFiles(t *testing.T) {
	hook, r, dir := hookOf(t), newRelease(t, mustRead(t, instance.Binary(t))), repository(t)
	args := []string{hook, "--checksums=" + r.checksums}
	for name, text := range map[string]string{"deploy.sh": "set -eu\necho deployed\n", "LICENSE": "Copyright\n", "VERSION": "1.2.3\n",
		"notes.txt": "Some text: of a person\n", ".gitignore": "out\n", "app.js": "let a = 1\n", "main.go": "package main\n",
		"tsconfig.json": "{\n  // a comment\n}\n", "broken.toml": "a = \n", "data.json": strings.Repeat(" ", 8<<20) + "{}",
		"data.csv": strings.Repeat("1,2\n", 3<<20)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, name)
	}
	if out, err := r.run(t, dir, nil, args...); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	out, err := r.run(t, dir, nil, append(args, "config.json")...)
	if exitCode(err) != 1 || !strings.Contains(out, "invalidBase64") {
		t.Errorf("with a definition: %v\n%s", err, out)
	}
}

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

func exitCode(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	return 0
}

func exist(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func decodeStrictly(t *testing.T, path string, to any) {
	t.Helper()
	decoder := yaml.NewDecoder(bytes.NewReader(mustRead(t, path)))
	decoder.KnownFields(true)
	if err := decoder.Decode(to); err != nil {
		t.Fatal(err)
	}
}

func decode(t *testing.T, data []byte, to any) {
	t.Helper()
	if err := yaml.Unmarshal(data, to); err != nil {
		t.Fatal(err)
	}
}
