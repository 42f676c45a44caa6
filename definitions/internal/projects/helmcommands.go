package projects

import (
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/internal/shell"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

// chartCommands are the commands of Helm that read a chart.
var chartCommands = []string{"install", "upgrade", "pull", "fetch", "template", "show", "inspect"}

// usedChart adds the chart in an OCI registry that a command of Helm reads: as a reference, or as a definition if the command says how to
// connect. Charts with variables in their names are left out, as images are.
func usedChart(f *scanner.File, e scanner.Entry, command shell.Command, instead string) {
	at := slices.IndexFunc(command.Words, func(w shell.Word) bool { return strings.HasPrefix(w.Text, "oci://") })
	if at < 0 || !command.Words[at].Literal || !slices.ContainsFunc(command.Words[:at], isChartCommand) {
		return
	}
	chart, version := command.Words[at].Text, valueOf(command, "--version")
	if version != nil && !version.Literal {
		version = nil
	}
	if version != nil && !strings.Contains(chart[strings.LastIndexByte(chart, '/'):], ":") {
		e.Version = version.Text
	}
	username, password := valueOf(command, "--username"), valueOf(command, "--password")
	plain, skip := isOn(command, "--plain-http"), isOn(command, "--insecure-skip-tls-verify")
	ofFiles := valueOf(command, "--ca-file") != nil || valueOf(command, "--cert-file") != nil
	if username == nil && password == nil && !plain && !skip && !ofFiles {
		if tagged := scanner.Tagged(chart, e.Version); !strings.ContainsAny(tagged, " <>") {
			chart = tagged
		}
		f.Scanner.Reference(e.At, e.Format, model.Helm, chart)
		return
	}
	e.Consumer, e.Address, e.Path, e.Definition.Auth = model.Helm, chart, scanner.PathOfContent, &regcheck.Auth{}
	if username != nil || password != nil {
		setLogin(&e, username, password, instead)
	}
	if ofFiles && e.Reason == "" {
		e.Reason, e.Detail = model.UnresolvedConfigFile, "The certificates are in files that were not read."
	}
	if skip {
		e.Definition.Auth.TLS = regcheck.TLS{Enabled: true, InsecureSkipVerify: true}
	}
	if plain {
		e.Address = "http://" + strings.TrimPrefix(chart, "oci://")
	}
	e.Add(f.Scanner)
}

// isChartCommand reports whether a word is one of chartCommands. Options of Helm may precede it.
func isChartCommand(w shell.Word) bool { return w.Literal && slices.Contains(chartCommands, w.Text) }

// isOn reports whether a command has an option that is true or false.
func isOn(command shell.Command, name string) bool {
	return slices.ContainsFunc(command.Words, func(w shell.Word) bool {
		option, value, assigned := strings.Cut(w.Text, "=")
		return option == name && (!assigned || value != "false")
	})
}

// valueOf returns the value of an option, or an empty one if it has none, nil without the option. Which options of Helm have a value
// need not be known here.
func valueOf(command shell.Command, name string) *shell.Word {
	for i, word := range command.Words {
		option, value, assigned := strings.Cut(word.Text, "=")
		switch {
		case option != name:
		case assigned:
			return &shell.Word{Text: value, Literal: word.Literal}
		case i+1 < len(command.Words):
			return &command.Words[i+1]
		default:
			return &shell.Word{Literal: true}
		}
	}
	return nil
}
