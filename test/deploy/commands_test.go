package deploy_test

import (
	"encoding/base64"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/strvals"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"

	"github.com/regwarden/regwarden/test/instance"
)

// Each command that installs the chart names the image, which has no default that works, with values that the chart renders. Secrets are
// created in a namespace that exists.
func TestInstallCommands(t *testing.T) {
	for _, name := range []string{"chart/README.md", "../docs/deployment.md"} {
		page := strings.ReplaceAll(string(mustFile(t, name)), "\\\n", "")
		commands := regexp.MustCompile(`(?m)^ *helm install (.*)$`).FindAllStringSubmatch(page, -1)
		for _, command := range commands {
			values := map[string]any{}
			for _, set := range regexp.MustCompile(`--set (\S+)`).FindAllStringSubmatch(command[1], -1) {
				if err := strvals.ParseInto(set[1], values); err != nil {
					t.Fatal(err)
				}
			}
			if _, _, err := render(t, values); err != nil || values["image"] == nil {
				t.Errorf("%s: %s: %v", name, command[1], err)
			}
		}
		before, _, found := strings.Cut(page, " create secret ")
		if len(commands) == 0 || found && !strings.Contains(before, "kubectl create namespace regwarden\n") {
			t.Errorf("%s has %d commands, or creates no namespace for its Secret", name, len(commands))
		}
	}
}

// The Job of docs/key-rotation.md is one that Kubernetes understands, and does with both keys in the environment what it should.
func TestRotationJob(t *testing.T) {
	_, rest, _ := strings.Cut(string(mustFile(t, "../docs/key-rotation.md")), "\n```yaml\n")
	block, _, _ := strings.Cut(rest, "\n```\n")
	var job batchv1.Job
	if err := yaml.UnmarshalStrict([]byte(block), &job); err != nil {
		t.Fatal(err)
	}
	pod := job.Spec.Template.Spec
	c := pod.Containers[0]
	server := instance.Start(t, instance.Options{})
	keyFile := filepath.Join(server.DataDir, "master.key")
	values := map[string]string{"REGWARDEN_MASTER_KEY": string(mustRead(t, keyFile)),
		"REGWARDEN_NEXT_MASTER_KEY": base64.StdEncoding.EncodeToString([]byte(strings.Repeat("next", 8))) + "\n"}
	cmd, used := instance.Command(t.Context(), t, append(c.Args, "--data-dir", server.DataDir)...), []string{}
	for _, e := range c.Env {
		used = append(used, e.Name)
		if e.ValueFrom != nil {
			cmd.Env = append(cmd.Env, e.Name+"="+values[e.Name])
		} else if filepath.Dir(e.Value) != c.VolumeMounts[0].MountPath {
			t.Errorf("%s is not mounted", e.Value)
		}
	}
	knows(t, "the Job", used)
	if out, err := cmd.CombinedOutput(); err != nil || c.VolumeMounts[0].Name != pod.Volumes[0].Name {
		t.Fatalf("%v\n%s", err, out)
	}
	if former := instance.Run(t, "", "org", "list", "--data-dir", server.DataDir); !strings.Contains(former.Err, "does not open") {
		t.Errorf("the former key still opens the store, or another error: %+v", former)
	}
	list := instance.Command(t.Context(), t, "org", "list", "--data-dir", server.DataDir)
	list.Env = append(list.Env, "REGWARDEN_MASTER_KEY="+values["REGWARDEN_NEXT_MASTER_KEY"])
	if out, err := list.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
