// Package make_test tries the scripts of make test on a file system and with programs of its own.
package make_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	firstCluster = "# a comment\n#create_main_cluster = true\n"
	clusterFile  = "etc/postgresql-common/createcluster.conf"
	policyFile   = "usr/sbin/policy-rc.d"
)

// aptGet installs postgresql-common's configuration, notes what an installation of postgresql finds, and can wait. The note is there whole,
// and the wait is no process of its own: a shell that gets SIGINT just before it starts one leaves it running.
const aptGet = `#!/bin/sh
conf=$INSTALL_ROOT/` + clusterFile + `
case " $* " in
*" postgresql-common "*) mkdir -p "${conf%/*}" && printf '%s' "$FIRST_CLUSTER" >"$conf" ;;
*" postgresql "*)
	cat "$conf" "$INSTALL_ROOT/` + policyFile + `" >"$INSTALL_ROOT/note"
	mv "$INSTALL_ROOT/note" "$INSTALL_ROOT/found"
	[ -z "$WAITS" ] || exec sleep 60
	;;
esac
`

// machine is a Debian machine without the packages, as far as test/install-deps looks at it.
type machine struct{ root, programs string }

func newMachine(t *testing.T) machine {
	t.Helper()
	m := machine{root: t.TempDir(), programs: t.TempDir()}
	for _, name := range []string{"sh", "env", "tee", "chmod", "cat", "cp", "mv", "rm", "mkdir", "sed", "ls", "sleep"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(m.programs, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(m.root, "usr/sbin"), 0o700); err != nil {
		t.Fatal(err)
	}
	m.program(t, "id", "#!/bin/sh\necho 0\n")
	m.program(t, "apt-get", aptGet)
	return m
}

func (m machine) program(t *testing.T, name, text string) {
	t.Helper()
	write(t, filepath.Join(m.programs, name), text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil { // #nosec G306 -- a program
		t.Fatal(err)
	}
}

// install starts test/install-deps in a process group of its own, as a shell does.
func (m machine) install(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	return inGroup(t, "../..", "test/install-deps",
		append(env, "PATH="+m.programs, "INSTALL_ROOT="+m.root, "FIRST_CLUSTER="+firstCluster)...)
}

func inGroup(t *testing.T, dir, script string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", script)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, env, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// interrupt presses Ctrl-C once a file exists.
func interrupt(t *testing.T, cmd *exec.Cmd, file string) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for !exists(file) {
		select {
		case <-t.Context().Done():
			t.Fatal("it does not begin")
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("an interrupted script succeeds")
	}
}

func exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() > 0
}

// restored reports what the installation changed and did not change back.
func (m machine) restored(t *testing.T, policy string) {
	t.Helper()
	found, err := os.ReadFile(filepath.Join(m.root, "found"))
	if err != nil || !strings.Contains(string(found), "\ncreate_main_cluster = false") || !strings.Contains(string(found), "exit 101") {
		t.Errorf("PostgreSQL was installed with %q (%v)", found, err)
	}
	cluster, err := os.ReadFile(filepath.Join(m.root, clusterFile))
	if err != nil || string(cluster) != firstCluster {
		t.Errorf("createcluster.conf is left as %q (%v)", cluster, err)
	}
	if left, err := os.ReadFile(filepath.Join(m.root, policyFile)); err != nil &&
		!errors.Is(err, os.ErrNotExist) || string(left) != policy {
		t.Errorf("policy-rc.d is left as %q (%v), want %q", left, err, policy)
	}
	if files, err := os.ReadDir(filepath.Join(m.root, filepath.Dir(clusterFile))); err != nil || len(files) != 1 {
		t.Errorf("left: %v (%v)", files, err)
	}
}

func TestInstallationRestoresFiles(t *testing.T) {
	m := newMachine(t)
	if err := m.install(t).Run(); err != nil {
		t.Fatal(err)
	}
	m.restored(t, "")
}

func TestInstallationKeepsThePolicyOfTheMachine(t *testing.T) {
	const policy = "#!/bin/sh\nexit 101 # by the operator\n"
	m := newMachine(t)
	write(t, filepath.Join(m.root, policyFile), policy)
	if err := m.install(t).Run(); err != nil {
		t.Fatal(err)
	}
	m.restored(t, policy)
}

func TestInterruptedInstallationRestoresFiles(t *testing.T) {
	m := newMachine(t)
	interrupt(t, m.install(t, "WAITS=1"), filepath.Join(m.root, "found"))
	m.restored(t, "")
}

func TestMissingPackagesAreLeftOutAndListed(t *testing.T) {
	for _, tt := range []struct {
		name, ci string
		code     int
		want     string
	}{
		{"on a machine of a user", "", 7, "ran\nLeft out, each with what is missing:\n  nginx: TestA\n  postgresql: TestB\n"},
		{"in CI", "true", 1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := t.TempDir()
			if err := os.Mkdir(filepath.Join(tree, "test"), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(tree, "test/install-deps"), "#!/bin/sh\nexit 1\n")
			write(t, filepath.Join(tree, "test/in-memory"),
				"#!/bin/sh\necho ran\nprintf 'postgresql: TestB\\nnginx: TestA\\npostgresql: TestB\\n' >>\"$TESTS_LEFT_OUT\"\nexit 7\n")
			cmd := inGroup(t, tree, mustAbs(t, "../all"), "PATH="+os.Getenv("PATH"), "CI="+tt.ci)
			var out bytes.Buffer
			cmd.Stdout = &out
			err := cmd.Run()
			if exited, ok := errors.AsType[*exec.ExitError](err); !ok || exited.ExitCode() != tt.code || out.String() != tt.want {
				t.Errorf("%v, want exit code %d; printed %q", err, tt.code, out.String())
			}
		})
	}
}

func TestInterruptedTestsLeaveNoTemporaryFiles(t *testing.T) {
	dir := t.TempDir()
	note := filepath.Join(dir, "note")
	cmd := inGroup(t, dir, mustAbs(t, "../in-memory"), "PATH="+os.Getenv("PATH"), "HOME="+os.Getenv("HOME"), "NOTE="+note)
	cmd.Args = append(cmd.Args, "sh", "-c", `echo file >"$TMPDIR/file" && printf %s "$TMPDIR" >"$NOTE" && exec sleep 60`)
	interrupt(t, cmd, note)
	used, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(string(used)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left (%v)", used, err)
	}
}

func mustAbs(t *testing.T, path string) string {
	t.Helper()
	absolute, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return absolute
}
