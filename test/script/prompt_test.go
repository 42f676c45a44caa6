package script_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// TestPrompts enters secrets at the prompts of a terminal, or presses Ctrl-C: nothing that is typed is shown, one Ctrl-C ends
// the command, and the terminal echoes again afterwards.
func TestPrompts(t *testing.T) {
	const phrase = "nine geese across the marsh"
	server := instance.Start(t, instance.Options{})
	if code := server.Stop(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	create := []string{"user", "create", "--data-dir", server.DataDir, "--org", instance.Org, "--email"}
	check := []string{"check", "--endpoint", "http://127.0.0.1:9", "--username", "ada"}
	for _, tt := range []struct {
		name  string
		args  []string
		typed []string // at each prompt
		code  int
		shows string
	}{
		{"new password", with(create, "typed@acme.example"), []string{phrase + "\n", phrase + "\n"}, 0, "Again: "},
		{"new password with --password-stdin", with(create, "flag@acme.example", "--password-stdin"),
			[]string{phrase + "\n", phrase + "\n"}, 0, "Again: "},
		{"Ctrl-C at the first prompt", with(create, "none@acme.example", "--password-stdin"), []string{"nine\x03"}, 130, "Password: "},
		{"Ctrl-C at the second prompt", with(create, "none@acme.example"), []string{phrase + "\n", "\x03"}, 130, "Again: "},
		{"nothing", with(create, "none@acme.example", "--password-stdin"), []string{"\n"}, 2, "nothing was entered"},
		{"password of a registry", with(check, "--password-stdin"), []string{phrase + "\n"}, 1, "RegistryUnreachable"},
		{"Ctrl-C at the password of a registry", with(check, "--password-stdin"), []string{"\x03"}, 130, "Password: "},
		{"Ctrl-C at the token of a registry", []string{"check", "--endpoint", "http://127.0.0.1:9", "--token-stdin"},
			[]string{"\x03"}, 130, "Token: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			terminal := instance.OpenTerminal(t)
			cmd := instance.StartInTerminal(t, terminal, tt.args...)
			for i, text := range tt.typed {
				if i > 0 {
					terminal.AwaitText(t, "Again: ") // the prompt before hides what is typed, too
				}
				terminal.AwaitPrompt(t)
				terminal.Type(t, text)
			}
			_ = cmd.Wait() // its exit code is looked at below
			if !terminal.Echoes(t) {
				t.Error("the terminal shows no more what is typed")
			}
			_ = terminal.Slave.Close() // the last writer gone, the lines end
			for range terminal.Lines {
			}
			shown := terminal.Shown()
			if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(shown, tt.shows) ||
				strings.Contains(shown, "nine") {
				t.Errorf("exit code %d, want %d, shows %q", code, tt.code, shown)
			}
		})
	}
}

// registry create asks on a terminal for what its type of authentication requires and no flag has.
func TestRegistryCreateAsks(t *testing.T) {
	server := instance.Start(t, instance.Options{})
	if code := server.Stop(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	typed := map[string]string{"Endpoint": "corp.azurecr.io", "Id of the tenant": "00000000-0000-4000-8000-000000000000",
		"Id of the application": "00000000-0000-4000-8000-000000000001", "Secret of the application": "nine geese",
		"Username": "ada", "Password": "nine geese", "Id of the access key": "AKIAIOSFODNN7EXAMPLE",
		"Secret of the access key": "nine geese"}
	for _, tt := range []struct {
		name    string
		flags   []string
		prompts []string
	}{
		{"all of Azure", []string{"--auth-type", "azure"},
			[]string{"Endpoint", "Id of the tenant", "Id of the application", "Secret of the application"}},
		{"the rest of Azure", []string{"--endpoint", "corp.azurecr.io", "--azure-tenant", "00000000-0000-4000-8000-000000000000"},
			[]string{"Id of the application", "Secret of the application"}},
		{"a key of AWS", []string{"--endpoint", "public.ecr.aws", "--auth-type", "ecr"},
			[]string{"Id of the access key", "Secret of the access key"}},
		{"a role of AWS", []string{"--endpoint", "public.ecr.aws", "--auth-type", "ecr", "--aws-role",
			"arn:aws:iam::123456789012:role/r"}, nil},
		{"basic", []string{"--endpoint", "registry.example", "--auth-type", "basic"}, []string{"Username", "Password"}},
		{"a password", []string{"--endpoint", "registry.example", "--username", "ada"}, []string{"Password"}},
		{"nothing", []string{"--endpoint", "registry.example"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			terminal := instance.OpenTerminal(t)
			cmd := instance.StartInTerminal(t, terminal, append([]string{"registry", "create", tt.name, "--data-dir", server.DataDir},
				tt.flags...)...)
			for _, prompt := range tt.prompts {
				terminal.AwaitText(t, prompt+": ")
				if prompt == "Password" || strings.HasPrefix(prompt, "Secret of ") {
					terminal.AwaitPrompt(t)
				}
				terminal.Type(t, typed[prompt]+"\n")
			}
			_ = cmd.Wait() // its exit code is compared below
			_ = terminal.Slave.Close()
			for range terminal.Lines {
			}
			if code := cmd.ProcessState.ExitCode(); code != 0 || strings.Contains(terminal.Shown(), "nine geese") {
				t.Errorf("exit code %d, shows %q", code, terminal.Shown())
			}
		})
	}
}

// A deletion asks on a terminal, and does nothing unless yes is entered.
func TestDeletionAsks(t *testing.T) {
	server := instance.Start(t, instance.Options{})
	server.Admin(t, "", "project", "create", "Blue", "--org", instance.Org)
	remove := []string{"project", "delete", "Blue", "--cascade", "--data-dir", server.DataDir, "--org", instance.Org}
	for _, tt := range []struct {
		name, typed string
		code        int
		shows       string
	}{
		{"nothing", "\n", 1, "nothing was changed"},
		{"no", "no\n", 1, "nothing was changed"},
		{"another word", "yesterday\n", 1, "nothing was changed"},
		{"Ctrl-D", "\x04", 1, "nothing was changed"},
		{"Ctrl-C", "\x03", 130, "interrupted"},
		{"yes", "Yes\n", 0, "Deleted the project Blue"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			terminal := instance.OpenTerminal(t)
			cmd := instance.StartInTerminal(t, terminal, remove...)
			terminal.AwaitText(t, "Delete the project Blue with its registries and alert channels? [y/N] ")
			terminal.Type(t, tt.typed)
			_ = cmd.Wait() // its exit code is compared below
			_ = terminal.Slave.Close()
			for range terminal.Lines {
			}
			if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(terminal.Shown(), tt.shows) {
				t.Errorf("exit code %d, want %d, shows %q", code, tt.code, terminal.Shown())
			}
			left := strings.Contains(server.Admin(t, "", "project", "list", "-o", "name", "--org", instance.Org), "Blue")
			if left != (tt.code != 0) {
				t.Errorf("the project is left: %t", left)
			}
		})
	}
}

// The question of a set of files comes after its definitions were stored.
func TestPruneAsks(t *testing.T) {
	server := instance.Start(t, instance.Options{})
	file := filepath.Join(t.TempDir(), "set.yaml")
	apply := []string{"registry", "apply", "-f", file, "--prune", "ours", "--data-dir", server.DataDir, "--org", instance.Org}
	write := func(name string) {
		text := "metadata: {name: " + name + "}\nspec: {endpoint: registry.example, auth: {type: noAuth}}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first")
	server.Admin(t, "", apply...)
	write("second")
	terminal := instance.OpenTerminal(t)
	cmd := instance.StartInTerminal(t, terminal, apply...)
	terminal.AwaitText(t, "Delete first, which the files of ours do not have any more? [y/N] ")
	terminal.Type(t, "n\n")
	_ = cmd.Wait() // its exit code is compared below
	_ = terminal.Slave.Close()
	for range terminal.Lines {
	}
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(terminal.Shown(), "nothing was deleted") {
		t.Errorf("exit code %d, shows %q", code, terminal.Shown())
	}
	if left := server.Admin(t, "", "registry", "list", "-o", "name", "--org", instance.Org); left != "first\nsecond" {
		t.Errorf("stored: %q", left)
	}
}

func with(args []string, more ...string) []string { return append(slices.Clone(args), more...) }
