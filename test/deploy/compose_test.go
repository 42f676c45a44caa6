package deploy_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"

	"github.com/regwarden/regwarden/internal/needs"
)

func composeProject(t *testing.T, file string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{file})
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

func TestCompose(t *testing.T) {
	service, err := composeProject(t, filepath.Join(deployDir, "compose.yaml")).GetService("regwarden")
	if err != nil {
		t.Fatal(err)
	}
	var used []string
	for name := range service.Environment {
		used = append(used, name)
	}
	knows(t, "compose.yaml", used)
	if !service.ReadOnly || len(service.CapDrop) != 1 || service.Privileged {
		t.Error("the container has more rights than it needs")
	}
	if at := service.Ports[0]; at.HostIP != "127.0.0.1" {
		t.Errorf("plain HTTP is published on %q", at.HostIP)
	}
	if service.StopGracePeriod == nil || service.StopGracePeriod.String() < "31s" {
		t.Error("the container is killed before requests under way have had their time")
	}
	if test := strings.Join(service.HealthCheck.Test, " "); test != "CMD /regwarden health --ready" {
		t.Errorf("the container's health is checked by %q", test)
	}
	dockerfile := filepath.Join(service.Build.Context, service.Build.Dockerfile)
	if want, _ := filepath.Abs(filepath.Join(deployDir, "Dockerfile")); dockerfile != want {
		t.Errorf("it builds from %s", dockerfile)
	}
}

// The commands of the first lines, run at the root of a clone, write every secret where Compose looks for it. Git ignores that directory.
func TestComposeSecrets(t *testing.T) {
	needs.Program(t, "openssl", "openssl")
	clone := t.TempDir()
	file, text := filepath.Join(clone, "deploy/compose.yaml"), mustFile(t, "compose.yaml")
	if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o700), os.WriteFile(file, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	var script string
	for _, line := range regexp.MustCompile(`(?m)^#   (.*)$`).FindAllStringSubmatch(string(text), -1) {
		script += strings.NewReplacer("chown 65532", "ls", "docker compose", "ls compose.yaml #").Replace(line[1]) + "\n"
	}
	cmd := exec.Command("sh", "-euc", script)
	cmd.Dir = clone
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	secrets := composeProject(t, file).Secrets
	for name, secret := range secrets {
		if info, err := os.Stat(secret.File); err != nil || info.Size() == 0 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if ignored := string(mustFile(t, "../.gitignore")); len(secrets) != 4 || !strings.Contains(ignored, "\n/deploy/secrets/\n") {
		t.Errorf("%d secrets; ignored are\n%s", len(secrets), ignored)
	}
}
