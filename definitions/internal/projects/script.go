package projects

import (
	"bytes"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/internal/shell"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

// loginCommands are the words with which a login begins, and whose rules its credentials are for.
var loginCommands = []struct {
	words    string
	consumer model.Consumer
}{
	{"docker login", model.Docker}, {"nerdctl login", model.Docker}, {"podman login", model.Podman}, {"buildah login",
		model.Podman}, {"skopeo login", model.Podman},
	{"helm registry login", model.Helm}, {"oras login", ""}, {"crane auth login", ""}, {"regctl registry login", ""}, {"cosign login", ""},
}

// scripts are those of a file, or of a part of it.
type scripts struct {
	*scanner.File
	format    model.Format
	instead   string            // what to use instead of a literal password
	variables map[string]string // that a workflow sets
	unknown   bool              // whether other scripts of the file may set any
	set       map[string]bool   // variables that other scripts of the file may set
	depth     int               // of scripts in scripts
}

// read adds the logins of a script, which is a text or a list of texts.
func (s scripts) read(script *node.Node, object string) {
	for _, line := range script.Items() {
		s.read(line, object)
	}
	if script.IsText() {
		s.readText(script.Text(), script.TextLine(), object)
	}
}

// readText is read for a text that begins in a line.
func (s scripts) readText(text string, line int, object string) {
	if !hasCommands([]byte(text)) {
		return
	}
	f, instead := s.File, s.instead
	for command := range shell.Commands(s.compute(text[:min(len(text), shell.MaxScript)])) {
		e := scanner.Entry{At: f.At(line+command.Line, object), Path: scanner.PathIgnored}
		e.Format = s.format
		s.readInner(command, line+command.Line, object)
		command.CutOptions("login", "registry", "repo", "auth")
		switch {
		case command.Is("az acr login"):
			azureLogin(f, e, command)
		case command.Is("helm repo add"):
			addedRepository(f, e, command, instead)
		case command.Is("helm"):
			usedChart(f, e, command, instead)
		}
		for _, known := range loginCommands {
			if command.Is(known.words) {
				e.Consumer = known.consumer
				loginCommand(f, e, command, len(strings.Fields(known.words)), instead)
			}
		}
	}
}

// maxDepth limits scripts in scripts, each of which is read again.
const maxDepth = 2

// readInner reads the scripts that a command runs.
func (s scripts) readInner(command shell.Command, line int, object string) {
	if s.depth++; s.depth > maxDepth {
		return
	}
	for text, lines := range command.Scripts() {
		s.readText(text, line+lines, object)
	}
}

// hasCommands reports whether a text may have commands that use a registry.
func hasCommands(text []byte) bool {
	return bytes.Contains(text, []byte("login")) || bytes.Contains(text, []byte("helm repo add")) ||
		bytes.Contains(text, []byte("oci://"))
}

// addedRepository adds the chart repository of helm repo add.
func addedRepository(f *scanner.File, e scanner.Entry, command shell.Command, instead string) {
	arguments, options := command.Parse(3, helmRepoFlags)
	if len(arguments) < 2 {
		return
	}
	e.Consumer, e.Address = model.Helm, arguments[1].Text
	e.Definition.Auth = &regcheck.Auth{}
	if username, password := options.Get("--username"), options.Get("--password"); username != nil || password != nil {
		setLogin(&e, username, password, instead)
	}
	if !arguments[1].Literal {
		addComputed(f, e, computedAddress)
		return
	}
	if isOn(command, "--insecure-skip-tls-verify") {
		e.Definition.Auth.TLS = regcheck.TLS{Enabled: true, InsecureSkipVerify: true}
	}
	if ca := options.Get("--ca-file"); ca != nil && e.Reason == "" {
		e.Reason, e.Detail = model.UnresolvedConfigFile, "The certificates of the CA are in a file that was not read."
	}
	e.Definition.Auth.PassCredentials = isOn(command, "--pass-credentials")
	e.OfCharts("", "")
	e.Add(f.Scanner)
}

// helmRepoFlags are the flags of helm repo add that have no value.
var helmRepoFlags = []string{"--force-update", "--insecure-skip-tls-verify", "--pass-credentials", "--no-update",
	"--allow-deprecated-repos", "--password-stdin", "--debug"}

func azureLogin(f *scanner.File, e scanner.Entry, command shell.Command) {
	_, options := command.Parse(3, nil)
	name := options.Get("-n", "--name")
	if name == nil {
		return
	}
	e.Consumer, e.Address = model.Docker, strings.TrimSuffix(name.Text, ".azurecr.io")+".azurecr.io"
	e.Reason, e.Detail = model.UnresolvedCloudIdentity, "The script gets the password with its identity at Azure."
	if !name.Literal {
		f.Scanner.Skip(e.At, model.SkipTemplate, computedAddress)
		return
	}
	e.Add(f.Scanner)
}

// loginCommand adds the registry of a login command, Docker Hub if it has none.
func loginCommand(f *scanner.File, e scanner.Entry, command shell.Command, words int, instead string) {
	e.Address = scanner.DockerHub
	arguments, options := command.Parse(words, loginFlags)
	isComputed := len(arguments) > 0 && !arguments[0].Literal
	if len(arguments) > 0 {
		e.Address = arguments[0].Text
	}
	username, password := options.Get("-u", "--username"), options.Get("-p", "--password")
	if password == nil && options.Get("--password-stdin") != nil {
		password = standardInput(&e, command)
	}
	setLogin(&e, username, password, instead)
	if isComputed {
		addComputed(f, e, computedAddress)
		return
	}
	if verify := options.Get("--tls-verify"); isOn(command, "--insecure") || verify != nil && verify.Text == "false" {
		e.Definition.Auth.TLS = regcheck.TLS{Enabled: true, InsecureSkipVerify: true}
	}
	if isOn(command, "--plain-http") {
		e.Address = "http://" + scanner.HostOf(e.Address)
	}
	e.Add(f.Scanner)
}

// loginFlags are the flags of login commands that have no value.
var loginFlags = []string{"--password-stdin", "--insecure", "--plain-http", "--tls-verify", "--get-login", "--verbose", "-v", "--debug",
	"-d"}

// standardInput returns the password that the command reads: what echo, printf or cat write, or a here-document. The last newline is not
// part of it.
func standardInput(e *scanner.Entry, command shell.Command) *shell.Word {
	if command.HereString != nil {
		return withoutNewline(*command.HereString)
	}
	input := command.Input
	switch {
	case input == nil:
	case input.Is("echo"):
		return echoed(input)
	case input.Is("printf"):
		return printed(input)
	case input.Is("aws") || input.Is("gcloud") || input.Is("az"):
		e.Reason, e.Detail = model.UnresolvedCloudIdentity, "The script gets the password with its identity at a cloud provider."
	case input.Is("cat") && input.HereString != nil && len(input.Words) == 1:
		return withoutNewline(*input.HereString)
	case input.Is("cat"):
		e.Reason, e.Detail = model.UnresolvedConfigFile, "The script reads the password from a file."
	}
	return &shell.Word{}
}

func withoutNewline(word shell.Word) *shell.Word {
	word.Text = strings.TrimSuffix(strings.TrimSuffix(word.Text, "\n"), "\r")
	return &word
}

// echoed returns what echo writes: its arguments with blanks between them. What it does with backslashes depends on the shell.
func echoed(command *shell.Command) *shell.Word {
	words := command.Words[1:]
	for len(words) > 0 && words[0].Literal && slices.Contains([]string{"-n", "-e", "-E"}, words[0].Text) {
		words = words[1:]
	}
	all := shell.Word{Literal: true}
	for i, word := range words {
		if i > 0 {
			all.Text += " "
		}
		all.Text += word.Text
		all.Literal = all.Literal && word.Literal && !strings.Contains(word.Text, `\`)
	}
	return withoutNewline(all)
}

// printed returns what printf writes: a text, or one argument by a format of %s alone.
func printed(command *shell.Command) *shell.Word {
	if len(command.Words) < 2 {
		return &shell.Word{}
	}
	format, arguments := command.Words[1], command.Words[2:]
	text := strings.TrimSuffix(format.Text, `\n`)
	switch {
	case !format.Literal || strings.Contains(text, `\`):
	case text == "%s" && len(arguments) == 1:
		return withoutNewline(arguments[0])
	case !strings.Contains(text, "%"):
		return withoutNewline(shell.Word{Text: text, Literal: true})
	}
	return &shell.Word{}
}

// setLogin sets the credentials of a login command.
func setLogin(e *scanner.Entry, username, password *shell.Word, instead string) {
	var user, secret shell.Word
	if username != nil {
		user = *username
	}
	if password != nil {
		secret = *password
	}
	e.Definition.Auth = scanner.BasicAuth("", "")
	if user.Literal {
		e.Definition.Auth.Username = user.Text
	}
	if secret.Literal {
		e.Definition.Auth = scanner.BasicAuth(e.Definition.Auth.Username, secret.Text)
		e.Notices = append(e.Notices, scanner.SecretNotice(instead))
	}
	switch {
	case e.Reason != "":
	case scanner.IsECR(e.Address):
		e.Reason, e.Detail = model.UnresolvedCloudIdentity, "The password comes from AWS. Check the registry with a password of AWS."
	case username != nil && !user.Literal || password != nil && !secret.Literal:
		e.Reason, e.Detail = model.UnresolvedTemplate, "The script computes the credentials. Check the registry with the values themselves."
	case username == nil || password == nil:
		e.Reason, e.Detail = model.UnresolvedIncomplete, "The command has no username or no password."
	}
}
