package deploy_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// workflow is what these tests read of a file in .github/workflows.
type workflow struct {
	On          any
	Permissions *map[string]string
	Jobs        map[string]job
}

type job struct {
	Needs       any
	Environment string
	Permissions *map[string]string
	Timeout     int       `yaml:"timeout-minutes"`
	Container   container `yaml:"container"`
	Services    map[string]container
	Steps       []step
}

type container struct{ Image string }

type step struct {
	ID, Uses, Run, If string
	With, Env         map[string]string
}

// mayWrite lists the permissions beyond reading that a job needs. Such a job runs no code of the repository.
var mayWrite = map[string][]string{
	"release.yml attest":  {"attestations", "id-token"},
	"release.yml publish": {"contents"},
}

var (
	pinnedAction = regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40}$`)
	pinnedImage  = regexp.MustCompile(`^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$`)
	usesLine     = regexp.MustCompile(`(?m)^\s*(?:- )?uses: (\S+)(.*)$`)
	versionNote  = regexp.MustCompile(`^ # v\d+\.\d+\.\d+$`)
)

func workflows(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(deployDir, "../.github/workflows/*"))
	if err != nil || len(files) < 3 {
		t.Fatalf("%v, %v", files, err)
	}
	texts := map[string][]byte{}
	for _, file := range files {
		texts[filepath.Base(file)] = mustRead(t, file)
	}
	return texts
}

// workflowProblems returns what a workflow may not have.
func workflowProblems(name string, text []byte) (problems []string) {
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	var w workflow
	if err := yaml.Unmarshal(text, &w); err != nil {
		return []string{err.Error()}
	}
	if w.Permissions == nil || len(*w.Permissions) > 0 {
		problem("permissions of the workflow must be {}, since each job has its own")
	}
	if strings.Contains(fmt.Sprint(w.On), "pull_request_target") || strings.Contains(fmt.Sprint(w.On), "workflow_run") {
		problem("it runs code of others with the rights of the repository")
	}
	for _, line := range usesLine.FindAllSubmatch(text, -1) {
		if !pinnedAction.Match(line[1]) || !versionNote.Match(line[2]) {
			problem("%s%s must be a commit with its version as comment", line[1], line[2])
		}
	}
	for jobName, j := range w.Jobs {
		for _, p := range j.problems(mayWrite[name+" "+jobName]) {
			problem("job %s: %s", jobName, p)
		}
	}
	return problems
}

func (j job) problems(mayWrite []string) (problems []string) {
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if j.Permissions == nil {
		problem("it has no permissions of its own")
		j.Permissions = &map[string]string{}
	}
	writes := false
	for what, access := range *j.Permissions {
		if access == "write" {
			writes = true
			if !slices.Contains(mayWrite, what) {
				problem("it may write %s", what)
			}
		}
	}
	if writes && j.Environment != "release" {
		problem("it may write without the environment")
	}
	if j.Timeout == 0 {
		problem("it has no timeout")
	}
	for _, c := range append(slices.Collect(maps.Values(j.Services)), j.Container) {
		if c.Image != "" && !pinnedImage.MatchString(c.Image) {
			problem("image %s has no digest", c.Image)
		}
	}
	for _, s := range j.Steps {
		checkout := strings.HasPrefix(s.Uses, "actions/checkout@")
		if checkout && writes {
			problem("it may write and runs code of the repository")
		}
		if checkout && s.With["persist-credentials"] != "false" {
			problem("the checkout leaves its token to later steps")
		}
		if regexp.MustCompile(`\$\{\{ *(github|inputs|steps|needs|secrets)\b`).MatchString(s.Run) {
			problem("a value is part of a script: %s", s.Run)
		}
	}
	return problems
}

func TestWorkflows(t *testing.T) {
	for name, text := range workflows(t) {
		for _, problem := range workflowProblems(name, text) {
			t.Errorf("%s: %s", name, problem)
		}
	}
	release := string(workflows(t)["release.yml"])
	for _, change := range []struct{ from, to, want string }{
		{"permissions: {}", "permissions: write-all", "cannot unmarshal"},
		{"permissions: {}", "permissions:\n  contents: write", "must be {}"},
		{"permissions: {}\n", "", "must be {}"},
		{"    permissions:\n      contents: read\n", "", "no permissions of its own"},
		{"      contents: read\n", "      contents: write\n", "may write contents"},
		{"      id-token: write\n", "      id-token: write\n      packages: write\n", "may write packages"},
		{"    environment: release\n", "", "without the environment"},
		{"actions/checkout@fbc6f3992d24b796d5a048ff273f7fcc4a7b6c09 # v5.1.0", "actions/checkout@v5", "must be a commit"},
		{"actions/checkout@fbc6f3992d24b796d5a048ff273f7fcc4a7b6c09 # v5.1.0",
			"actions/checkout@fbc6f3992d24b796d5a048ff273f7fcc4a7b6c09", "must be a commit"},
		{"    runs-on: ubuntu-latest\n", "    runs-on: ubuntu-latest\n    container: {image: golang:1.26}\n", "has no digest"},
		{"    timeout-minutes: 60\n", "", "no timeout"},
		{"          persist-credentials: false\n", "", "leaves its token"},
		{"cp \"$BUNDLE\"", "cp ${{ steps.provenance.outputs.bundle-path }}", "part of a script"},
		{"    steps:\n      - uses: actions/download-artifact",
			"    steps:\n      - uses: actions/checkout@fbc6f3992d24b796d5a048ff273f7fcc4a7b6c09 # v5.1.0\n      - uses: " +
				"actions/download-artifact", "runs code of the repository"},
		{"  push:\n", "  pull_request_target:\n", "code of others"},
	} {
		changed := strings.Replace(release, change.from, change.to, 1)
		if found := strings.Join(workflowProblems("release.yml", []byte(changed)), "\n"); changed == release ||
			!strings.Contains(found, change.want) {
			t.Errorf("%q instead of %q: found %q, want %q", change.to, change.from, found, change.want)
		}
	}
}

// Every image that is pulled has a digest, and one image has the same everywhere, so that an update of one place is one of all.
func TestImagesHaveOneDigest(t *testing.T) {
	images := map[string]string{}
	note := func(where, image string) {
		name, digest, _ := strings.Cut(image, "@")
		if !pinnedImage.MatchString(image) {
			t.Errorf("%s: %s has no digest", where, image)
		} else if images[name] != "" && images[name] != digest {
			t.Errorf("%s: %s has another digest than in other files", where, name)
		}
		images[name] = digest
	}
	for name, text := range workflows(t) {
		var w workflow
		decode(t, text, &w)
		for _, j := range w.Jobs {
			if j.Container.Image != "" {
				note(name, j.Container.Image)
			}
		}
	}
	for _, stage := range stages(t) {
		if stage.BaseName != "scratch" {
			note("Dockerfile", stage.BaseName)
		}
	}
	var compose struct {
		Services map[string]struct {
			Image string
			Build any
		}
	}
	decode(t, mustFile(t, "compose.yaml"), &compose)
	for _, service := range compose.Services {
		if service.Build == nil {
			note("compose.yaml", service.Image)
		}
	}
	template, _, _ := strings.Cut(string(mustFile(t, "ci/gitlab.yml")), "\n---\n")
	var gitlab struct {
		Spec struct {
			Inputs map[string]struct{ Default string }
		}
	}
	decode(t, []byte(template), &gitlab)
	note("gitlab.yml", gitlab.Spec.Inputs["image"].Default)
	if len(images) != 3 {
		t.Errorf("images: %v", images)
	}
}

// CI looks for known vulnerabilities and keeps what the fuzz tests found. What make runs has a version.
func TestWorkflowsRunWhatTheyShould(t *testing.T) {
	runs := map[string]string{}
	for name, text := range workflows(t) {
		var w workflow
		decode(t, text, &w)
		for _, j := range w.Jobs {
			for _, s := range j.Steps {
				runs[name] += s.Uses + " " + s.With["path"] + " " + s.Run + "\n"
			}
		}
	}
	for name, wants := range map[string][]string{
		"ci.yml":      {"make check", ".ci/run", "make test-race", "make vulnerabilities", "regwarden.exe version", "go test -short "},
		"nightly.yml": {"make vulnerabilities", "make fuzz", "make release-check", " /tmp/go-build/fuzz ", " **/testdata/fuzz "},
		"release.yml": {"make release\n", "actions/attest-build-provenance@", "gh attestation verify checksums.txt", "gh release create"},
	} {
		for _, want := range wants {
			if !strings.Contains(runs[name], want) {
				t.Errorf("%s does not have %q", name, want)
			}
		}
	}
	tools := regexp.MustCompile(`(?:run|install -trimpath) (\S+\.\S+/\S+)`).FindAllStringSubmatch(string(mustFile(t,
		"../Makefile"))+string(mustFile(t, "release")), -1)
	for _, tool := range tools {
		if !regexp.MustCompile(`@v\d+\.\d+\.\d+$`).MatchString(tool[1]) {
			t.Errorf("%s has no version", tool[1])
		}
	}
	if len(tools) < 4 {
		t.Errorf("tools: %v", tools)
	}
}

// The last job of a release publishes what was built and signed, and nothing else. GitHub's program is replaced by one that records its
// arguments.
func TestReleaseIsVerifiedBeforeItIsPublished(t *testing.T) {
	var w workflow
	decode(t, workflows(t)["release.yml"], &w)
	if w.Jobs["attest"].Needs != "build" || w.Jobs["publish"].Needs != "attest" {
		t.Error("a job does not wait for the one before it")
	}
	for name, row := range map[string]struct {
		change  func(t *testing.T, dir string)
		refused bool // by gh attestation verify
		created bool
	}{
		"as built":       {created: true},
		"not signed":     {refused: true},
		"a changed file": {change: func(t *testing.T, dir string) { writeTo(t, dir, "released/archive.tar.gz", "changed") }},
		"a missing file": {change: func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "released/archive.tar.gz")) }},
		"no provenance":  {change: func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "provenance/provenance.intoto.jsonl")) }},
	} {
		t.Run(name, func(t *testing.T) {
			dir, programs := t.TempDir(), t.TempDir()
			writeTo(t, dir, "dist/archive.tar.gz", "archive")
			writeTo(t, dir, "dist/checksums.txt", sum([]byte("archive"))+"  archive.tar.gz\n")
			writeTo(t, dir, "dist/other", "not in the list")
			writeTo(t, dir, "bundle", "{}")
			writeTo(t, programs, "gh", "#!/bin/sh\necho \"$@\" >>\"$CALLS\"\n[ \"$1\" = release ] && { for f; do case $f in ./*|../*) [ "+
				"-f \"$f\" ] || exit 1 ;; esac; done; }\n[ \"$1 $REFUSED\" != \"attestation true\" ]\n")
			env := []string{"CALLS=" + filepath.Join(dir, "calls"), "PATH=" + programs + ":" + os.Getenv("PATH"),
				"GITHUB_REPOSITORY=regwarden/regwarden",
				"GITHUB_REF=refs/tags/v1.2.3", "GITHUB_REF_NAME=v1.2.3", "BUNDLE=" + filepath.Join(dir, "bundle"),
				fmt.Sprint("REFUSED=", row.refused)}
			for _, s := range w.Jobs["build"].Steps {
				if strings.Contains(s.Run, "released/") {
					script(t, dir, s.Run, env)
				}
			}
			for _, s := range w.Jobs["attest"].Steps {
				if s.Run != "" && script(t, dir, s.Run, env) != nil {
					t.Fatalf("%s failed", s.Run)
				}
			}
			artifacts := filepath.Join(dir, "artifacts")
			if err := os.Mkdir(artifacts, 0o700); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"released", "provenance"} {
				if err := os.Rename(filepath.Join(dir, name), filepath.Join(artifacts, name)); err != nil {
					t.Fatal(err)
				}
			}
			if row.change != nil {
				row.change(t, artifacts)
			}
			steps := w.Jobs["publish"].Steps
			err := script(t, dir, steps[len(steps)-1].Run, env)
			calls := string(mustRead(t, filepath.Join(dir, "calls")))
			if created := err == nil && strings.Contains(calls, "release create v1.2.3"); created != row.created {
				t.Fatalf("created: %v, %v\n%s", created, err, calls)
			}
			if row.created && (!strings.Contains(calls, "./archive.tar.gz ./checksums.txt ../provenance/provenance.intoto.jsonl\n") ||
				!strings.Contains(calls, "--signer-workflow regwarden/regwarden/.github/workflows/release.yml --source-ref "+
					"refs/tags/v1.2.3\n")) {
				t.Error(calls)
			}
		})
	}
	page := string(mustFile(t, "../docs/deployment.md"))
	for _, want := range []string{"gh attestation verify checksums.txt --repo regwarden/regwarden --signer-workflow " +
		"regwarden/regwarden/.github/workflows/release.yml --source-ref refs/tags/v",
		"sha256sum --check --ignore-missing checksums.txt", "provenance.intoto.jsonl"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
}

// script runs a step as GitHub does.
func script(t *testing.T, dir, text string, env []string) error {
	t.Helper()
	cmd := exec.Command("bash", "-e", "-c", text)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	return err
}

func writeTo(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil { // #nosec G306 -- one is a program
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
