package oracles_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
	"pgregory.net/rapid"

	"github.com/regwarden/regwarden/definitions"
	"github.com/regwarden/regwarden/definitions/model"
)

// login is what a login command gets when a script runs.
type login struct{ host, username, password string }

// runLogins runs a script in which every program but docker does nothing, and returns its logins.
func runLogins(t *rapid.T, script string) (logins []login) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil {
		t.Fatalf("%v in\n%s", err, script)
	}
	programs := func(interp.ExecHandlerFunc) interp.ExecHandlerFunc {
		return func(ctx context.Context, args []string) error {
			in := interp.HandlerCtx(ctx)
			switch {
			case args[0] == "cat":
				_, err := io.Copy(in.Stdout, in.Stdin)
				return err
			case args[0] != "docker" || args[1] != "login":
				return nil
			}
			var found login
			for i := 2; i < len(args); i++ {
				switch args[i] {
				case "-u", "--username":
					i++
					found.username = args[i]
				case "-p":
					i++
					found.password = args[i]
				case "--password-stdin":
					text, err := io.ReadAll(in.Stdin)
					if err != nil {
						return err
					}
					found.password = strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r") // as docker does
				default:
					found.host = args[i]
				}
			}
			logins = append(logins, found)
			return nil
		}
	}
	runner, err := interp.New(interp.ExecHandlers(programs), interp.Env(expand.ListEnviron("SECRET=environment")))
	if err != nil {
		t.Fatal(err)
	}
	if err := runner.Run(t.Context(), file); err != nil {
		t.Fatalf("%v in\n%s", err, script)
	}
	return logins
}

// word draws a value, and how a script writes it: quoted, with escapes, or with an expansion.
func word(t *rapid.T, label string) (written string, isLiteral bool) {
	return rapid.SampledFrom([]string{`hunter2`, `'hunter 2'`, `"hunter 2"`, `hunter\ 2`, `'$SECRET'`, `"\$SECRET"`, `'a'"b"c`, `"it's"`,
		`a\"b`, `'a"b'`, `'a;b'`, `"a|b"`, `'#a'`, `a#b`, `'a\b'`, "'a`b'", `"a\` + "\n" + `b"`,
	}).Draw(t, label), true
}

func anyWord(t *rapid.T, label string) (written string, isLiteral bool) {
	if rapid.IntRange(0, 3).Draw(t, label+" is literal") > 0 {
		return word(t, label)
	}
	return rapid.SampledFrom([]string{`$SECRET`, `"$SECRET"`, `"${SECRET}"`, `"a$(echo b)"`, "`echo b`",
		`"${NONE:-b}"`}).Draw(t, label), false
}

// loginScript draws a script with a login, and whether all of its values are literal.
func loginScript(t *rapid.T) (script string, isLiteral bool) {
	username, literalName := anyWord(t, "username")
	password, literalPassword := anyWord(t, "password")
	isLiteral = literalName && literalPassword
	host := rapid.SampledFrom([]string{"registry.example.com", `"registry.example.com"`, "registry.example.com:5000"}).Draw(t, "host")
	stdin := "docker login " + host + " -u " + username + " --password-stdin"
	body := rapid.SampledFrom([]string{"hunter2", "hunter 2", "'quoted'", "a#b", "a;b|c"}).Draw(t, "body")
	form := rapid.SampledFrom([]string{"option", "long", "echo", "printf", "printf newline", "here-string", "here-document",
		"quoted document", "tabs", "cat", "continued", "two words"}).Draw(t, "form")
	switch form {
	case "option":
		script = "docker login -u " + username + " -p " + password + " " + host
	case "long":
		script = "docker login --username " + username + " -p " + password + " " + host
	case "continued":
		script = "docker login \\\n  -u " + username + " \\\n  -p " + password + " \\\n  " + host
	case "echo":
		script = "echo " + rapid.SampledFrom([]string{"", "-n "}).Draw(t, "flag") + password + " | " + stdin
		isLiteral = isLiteral && password != `'a\b'` // which some shells take for a control character
	case "two words":
		script = "echo " + password + " more | " + stdin
		isLiteral = isLiteral && password != `'a\b'` // which some shells take for a control character
	case "printf":
		script = "printf '%s' " + password + " | " + stdin
	case "printf newline":
		script = `printf "%s\n" ` + password + " | " + stdin
	case "here-string": // where the interpreter keeps backslashes, which bash removes
		if strings.Contains(password, `\`) {
			password = "hunter2"
		}
		script = stdin + " <<< " + password
	case "here-document":
		script, isLiteral = stdin+" <<EOF\n"+body+"\nEOF", literalName
	case "quoted document":
		script, isLiteral = stdin+" <<'EOF'\n$"+body+"\nEOF", literalName
	case "tabs":
		script, isLiteral = stdin+" <<-EOF\n\t"+body+"\n\tEOF", literalName
	case "cat":
		script, isLiteral = "cat <<EOF | "+stdin+"\n"+body+"\nEOF", literalName
	}
	before := rapid.SampledFrom([]string{"", "# docker login -u a -p b c\n", "true && ", "true; ", "if true; then ", "(", "{ ",
		"A=b "}).Draw(t, "before")
	if before == "A=b " && slices.Contains([]string{"echo", "two words", "printf", "printf newline"}, form) {
		before = "" // of a pipe, it is before the first command
	}
	after := map[string]string{"if true; then ": "\nfi", "(": "\n)", "{ ": "\n}"}[before]
	return before + script + after + "\n", isLiteral
}

// What is read from scripts is what a shell gives to docker: never something else, and everything that is literal.
func TestLoginsOfScripts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range filesPerCheck {
			script, isLiteral := loginScript(t)
			want := runLogins(t, script)
			result, err := definitions.Read(t.Context(), fstest.MapFS{"login.sh": {Data: []byte(script)}}, model.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(result.Registries) != 1 || len(want) != 1 {
				t.Fatalf("%d logins found, and a shell runs %q:\n%s", len(result.Registries), want, script)
			}
			r := result.Registries[0]
			got := login{strings.TrimPrefix(r.Definition.Endpoint, "https://"),
				r.Definition.Auth.Username, r.Definition.Auth.Password.Reveal()}
			switch isResolved := r.Resolution == model.Resolved; {
			case isResolved != isLiteral:
				t.Errorf("%s (%s), although the script is literal: %v\n%s", r.Resolution, r.Reason, isLiteral, script)
			case isResolved && got != want[0]:
				t.Errorf("%s, and a shell %s:\n%s", fmt.Sprintf("%q", got), fmt.Sprintf("%q", want[0]), script)
			case got.host != want[0].host:
				t.Errorf("host %q, and of a shell %q:\n%s", got.host, want[0].host, script)
			}
		}
	})
}
