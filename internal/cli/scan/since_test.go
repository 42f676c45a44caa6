package scan

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/needs"
)

// git runs git in the working directory.
func git(t *testing.T, args ...string) {
	t.Helper()
	args = append([]string{"-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "init.defaultBranch=main"}, args...)
	if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func helmRepository(name string) string {
	return "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: " + name +
		"}\nspec: {type: oci, url: oci://" + name +
		".test, secretRef: {name: " + name + "}}\n"
}

func basicSecret(name, password string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: " + name + "}\nstringData: {username: ada, password: " + password + "}\n"
}

// What depends on a changed file is found also in files that did not change.
func TestSince(t *testing.T) {
	needs.Program(t, "git", "git")
	for _, row := range []struct {
		name   string
		change func()
		paths  string
		want   string
	}{
		{"nothing", func() {}, ".", ""},
		{"definition", func() { write(t, "flux/a.yaml", helmRepository("a")+"# changed\n") }, ".", "flux/a.yaml"},
		{"secret of a definition", func() { write(t, "secrets/b.yaml", basicSecret("b", "other")) }, ".", "flux/b.yaml"},
		{"deleted secret", func() { _ = os.Remove("secrets/b.yaml") }, ".", "flux/b.yaml"},
		{"new file", func() { write(t, "new.json", definition) }, ".", "new.json"},
		{"committed", func() { write(t, "new.json", definition); git(t, "add", "."); git(t, "commit", "-qm", "new") }, ".", "new.json"},
		{"ignored by git", func() { write(t, "out/new.json", definition) }, ".", ""},
		{"directory", func() { write(t, "flux/a.yaml", helmRepository("a")+"#\n"); write(t, "new.json", definition) }, "flux",
			"flux/a.yaml"},
		{"files", func() { write(t, "flux/a.yaml", helmRepository("a")+"#\n") }, "flux/a.yaml flux/b.yaml", "flux/a.yaml"},
		{"on another branch", func() {
			git(t, "checkout", "-q", "-b", "topic")
			git(t, "checkout", "-q", "main")
			write(t, "main.json", definition)
			git(t, "add", ".")
			git(t, "commit", "-qm", "main")
			git(t, "checkout", "-q", "topic")
			write(t, "new.json", strings.ReplaceAll(definition, "one", "two"))
		}, ".", "new.json"},
	} {
		t.Run(row.name, func(t *testing.T) {
			repository(t, nil, map[string]string{"flux/a.yaml": helmRepository("a"), "flux/b.yaml": helmRepository("b"),
				"secrets/a.yaml": basicSecret("a", "x"), "secrets/b.yaml": basicSecret("b", "x"), ".gitignore": "out\n"})
			git(t, "init", "-q")
			git(t, "add", ".")
			git(t, "commit", "-qm", "first")
			git(t, "tag", "before")
			row.change()
			since := "before"
			if row.name == "on another branch" {
				since = "main"
			}
			result, err := Read(t.Context(), strings.Fields(row.paths), nil, ReadOptions{Since: since})
			names := files(result)
			slices.Sort(names)
			if got := strings.Join(names, " "); err != nil || got != row.want || result.Summary.Found != len(result.Registries) {
				t.Errorf("%v, got %q, %+v", err, got, result.Summary)
			}
		})
	}
}

// A changed package.json does not change that test/ is left out.
func TestSinceInARepositoryOfAProgram(t *testing.T) {
	needs.Program(t, "git", "git")
	repository(t, nil, map[string]string{"package.json": "{}\n", "flux/a.yaml": helmRepository("a"), "test/a.yaml": basicSecret("a", "x")})
	git(t, "init", "-q")
	git(t, "add", ".")
	git(t, "commit", "-qm", "first")
	write(t, "package.json", `{"private": true}`)
	result, err := Read(t.Context(), []string{"."}, nil, ReadOptions{Since: "HEAD"})
	if err != nil || len(result.Registries) > 0 {
		t.Errorf("%v, %+v", err, result.Registries)
	}
}

// A reference is new, or its login is: also one that has the login of a file that did not change.
func TestSinceOfReferences(t *testing.T) {
	needs.Program(t, "git", "git")
	login := func(password string) string {
		return `{"auths": {"one.test": {"username": "ada", "password": "` + password + `"}}}`
	}
	for _, row := range []struct{ name, file, text, want, username string }{
		{"another file", "other.json", definition, "other.json", "ada"},
		{"reference", "compose.yaml", "services: {a: {image: one.test/team/app:2}}\n", "compose.yaml", "ada"},
		{"reference without login", "Dockerfile", "FROM two.test/base:2\n", "Dockerfile", ""},
		{"login of a reference", "config.json", login("other"), "compose.yaml config.json", "ada"},
	} {
		t.Run(row.name, func(t *testing.T) {
			repository(t, nil, map[string]string{"compose.yaml": "services: {a: {image: one.test/team/app:1}}\n",
				"Dockerfile": "FROM two.test/base:1\n", "config.json": login("x")})
			git(t, "init", "-q")
			git(t, "add", ".")
			git(t, "commit", "-qm", "first")
			write(t, row.file, row.text)
			result, err := Read(t.Context(), []string{"."}, nil, ReadOptions{Since: "HEAD", Complete: CheckReferences})
			names := files(result)
			slices.Sort(names)
			got := strings.Join(names, " ")
			if err != nil || got != row.want || result.Registries[0].Definition.Auth.Username != row.username {
				t.Errorf("%v, got %q, %+v", err, got, result.Registries)
			}
			listed, err := Read(t.Context(), []string{"."}, nil, ReadOptions{Since: "HEAD"})
			isChanged := strings.HasPrefix(row.name, "reference")
			if err != nil || (len(listed.References) == 1) != isChanged || listed.Summary.References != len(listed.References) {
				t.Errorf("%v, listed %+v", err, listed.References)
			}
		})
	}
}

func TestSinceThatCannotBeUsed(t *testing.T) {
	needs.Program(t, "git", "git")
	repository(t, []string{"a.json"}, nil)
	read := func(since, path string) string {
		_, err := Read(t.Context(), []string{path}, strings.NewReader("{}"), ReadOptions{Since: since})
		if err == nil {
			return ""
		}
		return err.Error()
	}
	if got := read("main", "."); !strings.Contains(got, "git finds no repository in .") {
		t.Error(got)
	}
	git(t, "init", "-q")
	git(t, "add", ".")
	git(t, "commit", "-qm", "first")
	git(t, "checkout", "-q", "--orphan", "other")
	git(t, "commit", "-qm", "other")
	for since, want := range map[string]string{
		"nothing":     `does not have the revision "nothing"; fetch it first`,
		"--output=x":  "must be a revision of git",
		"HEAD:a.json": "does not have the revision",
		"main":        "fetch-depth: 0 or GIT_DEPTH: 0",
	} {
		if got := read(since, "."); !strings.Contains(got, want) {
			t.Errorf("%s: %q", since, got)
		}
	}
	if got := read("HEAD", Stdin); !strings.Contains(got, "cannot be combined with standard input") {
		t.Error(got)
	}
	t.Setenv("PATH", t.TempDir())
	if got := read("HEAD", "."); !strings.Contains(got, "the program git was not found; install it") {
		t.Error(got)
	}
	if _, err := os.Stat(filepath.Join(".", "x")); err == nil {
		t.Error("git wrote a file")
	}
}
