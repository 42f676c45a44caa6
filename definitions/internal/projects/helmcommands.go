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
var chartCommands = []string{"install", "upgrade", "pull", "template", "show"}

// usedChart adds the chart in an OCI registry that a command of Helm reads: as a reference, or as a definition if the command says how to
// connect. Charts with variables in their names are left out, as images are.
func usedChart(f *scanner.File, e scanner.Entry, command shell.Command, instead string) {
	if len(command.Words) < 3 || !slices.Contains(chartCommands, command.Words[1].Text) {
		return
	}
	at := slices.IndexFunc(command.Words, func(w shell.Word) bool { return strings.HasPrefix(w.Text, "oci://") })
	if at < 0 || !command.Words[at].Literal {
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
	plain, skip := valueOf(command, "--plain-http") != nil, valueOf(command, "--insecure-skip-tls-verify") != nil
	if username == nil && password == nil && !plain && !skip {
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
	if skip {
		e.Definition.Auth.TLS = regcheck.TLS{Enabled: true, InsecureSkipVerify: true}
	}
	if plain {
		e.Address = "http://" + strings.TrimPrefix(chart, "oci://")
	}
	e.Add(f.Scanner)
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
