package shell_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/definitions/internal/shell"
)

func lit(words ...string) (list []shell.Word) {
	for _, w := range words {
		list = append(list, shell.Word{Text: w, Literal: true})
	}
	return list
}

func TestCommands(t *testing.T) {
	for script, want := range map[string][]shell.Command{
		"":                             nil,
		"# docker login":               nil,
		"a b#c 'd e' \"f\\\"g\" h\\ i": {{Words: lit("a", "b#c", "d e", `f"g`, "h i")}},
		"a; b && c || d & (e)":         {{Words: lit("a")}, {Words: lit("b")}, {Words: lit("c")}, {Words: lit("d")}, {Words: lit("e")}},
		"a \\\n  b\nc":                 {{Words: lit("a", "b")}, {Words: lit("c"), Line: 2}},
		"sudo -E X=1 a 2>&1 >f b":      {{Words: lit("a", "b")}},
		"if ! a; then b; fi":           {{Words: lit("a")}, {Words: lit("b")}, {Words: lit("fi")}},
		"a | b |& c":                   {{Words: lit("a")}, {Words: lit("b"), Input: &shell.Command{Words: lit("a")}}, {Words: lit("c"), Input: &shell.Command{Words: lit("b")}}},
		"a <<< 'x' b":                  {{Words: lit("a", "b"), HereString: &shell.Word{Text: "x", Literal: true}}},
		"a < f":                        {{Words: lit("a"), Input: &shell.Command{Words: lit("cat")}}},
		"a <<-'E'\nb\n\tE\nc":          {{Words: lit("a"), HereString: &shell.Word{}}, {Words: lit("c"), Line: 3}},
		"a p$X '$X' ${X:-}} $(b $(c) d) `e` ${{ f | g }}h '${{ i }}'": {{Words: []shell.Word{{"a", true}, {"p", false}, {"$X", true}, {"", false},
			{"", false}, {"", false}, {"", false}, {"", false}}}},
	} {
		if diff := cmp.Diff(want, shell.Commands(script)); diff != "" {
			t.Errorf("%q: (-want +got)\n%s", script, diff)
		}
	}
}

func TestOptionsAndArguments(t *testing.T) {
	command := shell.Commands(`docker login -u robot --password="$X" --tls-verify=false --config dir -k host last`)[0]
	if got := command.Arguments(2, []string{"-k"}); !cmp.Equal(got, lit("host", "last")) {
		t.Errorf("arguments: %+v", got)
	}
	if got := command.Option("-u", "--username"); got == nil || *got != (shell.Word{Text: "robot", Literal: true}) {
		t.Errorf("username: %+v", got)
	}
	if got := command.Option("-p", "--password"); got == nil || *got != (shell.Word{}) {
		t.Errorf("password: %+v", got)
	}
	if got := command.Option("-x", "--x"); got != nil {
		t.Errorf("missing option: %+v", got)
	}
	if !command.Is("docker login") || command.Is("docker") == command.Is("podman") || !command.Has("--tls-verify=false") || (*shell.Command)(nil).Is("a") {
		t.Error("the command is not recognized")
	}
	attached := shell.Commands(`docker login -urobot -p=secret host`)[0]
	if user, password := attached.Option("-u", "--username"), attached.Option("-p", "--password"); user.Text != "robot" || password.Text != "secret" {
		t.Errorf("attached options: %+v, %+v", user, password)
	}
	if got := attached.Arguments(2, nil); !cmp.Equal(got, lit("host")) {
		t.Errorf("arguments: %+v", got)
	}
	if last := shell.Commands(`docker login -p`)[0]; last.Option("-p", "--password") != nil {
		t.Error("an option without a value has one")
	}
}
