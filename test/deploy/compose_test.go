package deploy_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
)

func TestCompose(t *testing.T) {
	options, err := cli.NewProjectOptions([]string{filepath.Join(deployDir, "compose.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	service, err := project.GetService("regwarden")
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
