package deploy_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

const imageUser = 65532

func stages(t *testing.T) []instructions.Stage {
	t.Helper()
	file, err := parser.Parse(bytes.NewReader(mustFile(t, "Dockerfile")))
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Warnings) > 0 {
		t.Errorf("the parser warns: %v", file.Warnings)
	}
	stages, _, err := instructions.Parse(file.AST, nil)
	if err != nil {
		t.Fatal(err)
	}
	return stages
}

// TestImage builds what the Dockerfile builds, from the files that its context has, and runs it as the image does:
// as its user, with a root directory that holds the binary and the data directory and cannot be written to.
func TestImage(t *testing.T) {
	recipe := stages(t)
	if len(recipe) != 2 || recipe[1].BaseName != "scratch" {
		t.Fatalf("the image is not one binary on nothing: %v", recipe)
	}
	root := buildImage(t, recipe[0])
	config := configuration(t, recipe[1])
	if config.User != "65532:65532" {
		t.Errorf("the image's user is %s", config.User)
	}
	knows(t, "Dockerfile", variable.FindAllString(strings.Join(config.Env, " "), -1))
	runImage(t, root, config.Env)
}

// buildImage runs the build stage's commands with other directories for /src and /out, and lays out the image's root.
func buildImage(t *testing.T, stage instructions.Stage) string {
	t.Helper()
	src, out := buildContext(t), t.TempDir()
	for _, command := range stage.Commands {
		run, ok := command.(*instructions.RunCommand)
		if !ok {
			continue
		}
		shell := exec.Command("sh", "-ec", strings.ReplaceAll(strings.Join(run.CmdLine, " "), "/out/", out+"/"))
		shell.Dir, shell.Env = src, append(os.Environ(), "VERSION=test", "GOWORK=off")
		if said, err := shell.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", run.CmdLine, err, said)
		}
	}
	if err := os.Chown(filepath.Join(out, "data"), imageUser, imageUser); os.Geteuid() == 0 && err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(out, 0o555); err != nil { // #nosec G302 -- as the image's root is
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(out, 0o700) }) // #nosec G302 -- so that it can be deleted
	return out
}

// buildContext copies what the .dockerignore lets through.
func buildContext(t *testing.T) string {
	t.Helper()
	patterns, err := ignorefile.ReadAll(bytes.NewReader(mustFile(t, "Dockerfile.dockerignore")))
	if err != nil {
		t.Fatal(err)
	}
	ignored, err := patternmatcher.New(patterns)
	if err != nil {
		t.Fatal(err)
	}
	product, context := filepath.Join(deployDir, ".."), t.TempDir()
	err = filepath.WalkDir(product, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(product, path)
		if err != nil || name == "." {
			return err
		}
		out, err := ignored.MatchesOrParentMatches(name)
		if err != nil || out && entry.IsDir() {
			return errorOrSkip(err)
		}
		return place(path, filepath.Join(context, name), entry, out)
	})
	if err != nil {
		t.Fatal(err)
	}
	return context
}

func errorOrSkip(err error) error {
	if err != nil {
		return err
	}
	return fs.SkipDir // nothing in a directory that is left out is let in again
}

func place(from, to string, entry fs.DirEntry, out bool) error {
	switch {
	case out:
		return nil
	case entry.IsDir():
		return os.Mkdir(to, 0o700)
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// configuration is what the Dockerfile configures the image with.
func configuration(t *testing.T, stage instructions.Stage) (config ocispec.ImageConfig) {
	t.Helper()
	for _, command := range stage.Commands {
		switch c := command.(type) {
		case *instructions.EnvCommand:
			for _, pair := range c.Env {
				config.Env = append(config.Env, pair.Key+"="+pair.Value)
			}
		case *instructions.UserCommand:
			config.User = c.User
		case *instructions.EntrypointCommand:
			if c.PrependShell {
				t.Error("the image has no shell to start its entrypoint with")
			}
			config.Entrypoint = c.CmdLine
		case *instructions.CmdCommand:
			config.Cmd = c.CmdLine
		case *instructions.ExposeCommand:
			config.ExposedPorts = map[string]struct{}{c.Ports[0] + "/tcp": {}}
		case *instructions.VolumeCommand:
			config.Volumes = map[string]struct{}{c.Volumes[0]: {}}
		case *instructions.StopSignalCommand:
			config.StopSignal = c.Signal
		case *instructions.HealthCheckCommand:
			if test := strings.Join(c.Health.Test, " "); test != "CMD /regwarden health" {
				t.Errorf("the image's health is checked by %q", test)
			}
		}
	}
	return config
}

var servesOn = regexp.MustCompile(`serves on (http://\S+);`)

func runImage(t *testing.T, root string, environment []string) {
	t.Helper()
	output := &watched{found: make(chan string, 1)}
	service := exec.Command("/regwarden", "serve", "--listen", "127.0.0.1:0")
	service.Dir, service.Env, service.Stdout, service.Stderr = "/", environment, output, output
	service.SysProcAttr = asImage(root)
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = service.Process.Kill() }()
	var address string
	select {
	case address = <-output.found:
	case <-time.After(time.Minute): // a busy machine is slow
		t.Fatalf("it does not print its address\n%s", output)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		var out []byte
		var err error
		for range 5 { // it waits 3 s, and a busy machine is slow
			health := exec.Command("/regwarden", "health", "--listen", strings.TrimPrefix(address, "http://"),
				"--ready="+strconv.FormatBool(path == "/readyz"))
			health.Dir, health.Env, health.SysProcAttr = "/", environment, asImage(root)
			if out, err = health.CombinedOutput(); !strings.Contains(string(out), "deadline exceeded") {
				break
			}
		}
		if err != nil || string(out) != address+path+": 200 OK\n" {
			t.Errorf("the health check of the container: %v\n%s", err, out)
		}
	}
	if err := service.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := service.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// asImage is a process of the image's user with the image's root; a user other than root needs a user namespace for it.
func asImage(root string) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Chroot: root, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() == 0 {
		attr.Credential = &syscall.Credential{Uid: imageUser, Gid: imageUser}
		return attr
	}
	attr.Cloneflags = syscall.CLONE_NEWUSER
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: imageUser, HostID: os.Geteuid(), Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: imageUser, HostID: os.Getegid(), Size: 1}}
	attr.Credential = &syscall.Credential{Uid: imageUser, Gid: imageUser, NoSetGroups: true}
	return attr
}

// watched finds the address in what the service writes.
type watched struct {
	mu    sync.Mutex
	text  []byte
	found chan string
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.text)
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, p...)
	if match := servesOn.FindSubmatch(w.text); match != nil {
		select {
		case w.found <- string(match[1]):
		default:
		}
	}
	return len(p), nil
}
