package projects

import (
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/lazyregexp"
)

// Expressions in scripts, which another program replaces before the shell reads its quotes.
var (
	// pipelineExpression matches those of pipelines, Taskfiles and Justfiles, and variables of cmd.
	// None goes beyond the next one of its kind: looking for the end of each that has none would take quadratic time.
	pipelineExpression = lazyregexp.New(`\$?\{\{(?:[^{\n]|\{[^{\n])*?\}\}|\$\[\[(?:[^\[\n]|\[[^\[\n])*?\]\]|%[A-Za-z_]\w*%|` +
		`<<[ \t]*(?:parameters|pipeline|matrix)\.[^<>\n]*>>`)
	// azureExpression matches a variable of Azure Pipelines.
	azureExpression = lazyregexp.New(`\$\([A-Za-z_][\w.]*\)`)
	// makeExpression matches those of a Makefile, with brackets within brackets, and the dollar sign itself.
	makeExpression = lazyregexp.New(`\$\$|\$\((?:[^()]|\([^()]*\))*\)|\$\{[^{}]*\}|\$[^({\s]`)
	// groovyExpression matches those within double quotes of Groovy, and what it quotes.
	groovyExpression = lazyregexp.New(`\\[\\'"$bfnrstu]|\$\{[^{}]*\}|\$[A-Za-z_][\w.]*`)
)

// computedText is what stands for an expression in the text of a script: the shell's parser takes no word with it for a literal.
const computedText = "${{}}"

// variableOf matches the expression of a variable of a GitHub workflow.
var variableOf = lazyregexp.New(`^\$\{\{\s*env\.([A-Za-z_]\w*)\s*\}\}$`)

// variableIn returns the value of an expression that is such a variable.
func variableIn(expression string, values map[string]string) string {
	if name := variableOf.Get().FindStringSubmatch(expression); name != nil {
		return values[name[1]]
	}
	return ""
}

// plain is a value that is the same word in a script with and without quotes.
var plain = lazyregexp.New(`^[\w.:/@%+-]{1,250}$`)

// compute replaces the expressions in a text by their values, as far as they are known. Two characters that are one in the language of
// the expressions are replaced by this one.
func compute(text string, expression *lazyregexp.Expression, values map[string]string) string {
	return expression.Get().ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" || len(found) == 2 && found[0] == '\\' && strings.Contains("\\'\"$", found[1:]) {
			return found[1:]
		}
		if value := variableIn(found, values); value != "" {
			return value
		}
		return computedText + strings.Repeat("\\\n", strings.Count(found, "\n")) // the lines stay those of the file
	})
}

// compute replaces the expressions in a script. A script in a script has none any more, and a file of the shell none at all.
func (s scripts) compute(text string) string {
	switch {
	case s.depth > 0, s.HasName("*.sh", "*.bash"):
		return text
	case s.HasName(strings.Fields(azurePipelines)...):
		text = compute(text, azureExpression, nil)
	case s.HasName(makefiles...):
		return compute(text, makeExpression, nil)
	}
	return compute(text, pipelineExpression, s.variables)
}

var makefiles = []string{"Makefile", "makefile", "GNUmakefile", "*.mk"}

// computedAddress is for an address with an expression that is not replaced here.
const computedAddress = "The address is an expression, which a scan does not evaluate."

// addComputed adds a registry whose address is an expression if its password is in the file, which everyone can use who can read it and
// finds the registry. Another one is skipped.
func addComputed(f *scanner.File, e scanner.Entry, detail model.Detail) {
	if !slices.ContainsFunc(e.Notices, func(n model.Notice) bool { return n.Code == model.NoticeSecretInRepository }) {
		f.Scanner.Skip(e.At, model.SkipTemplate, "%s", detail)
		return
	}
	e.Reason, e.Detail, e.Sources = model.UnresolvedTemplate, detail, []model.Source{e.At}
	f.Scanner.Found(e.Registry)
}
