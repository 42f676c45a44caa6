package projects

import (
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/internal/shell"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/lazyregexp"
)

// Expressions in scripts, which another program replaces before the shell reads its quotes.
var (
	// pipelineExpression matches those of pipelines, Taskfiles and Justfiles, and variables of cmd.
	pipelineExpression = lazyregexp.New(`\$\{\{.*?\}\}|\{\{.*?\}\}|\$\[\[.*?\]\]|%[A-Za-z_]\w*%|` +
		`<<[ \t]*(?:parameters|pipeline|matrix)\.[^<>\n]*>>`)
	// makeExpression matches those of a Makefile, with brackets within brackets, and the dollar sign itself.
	makeExpression = lazyregexp.New(`\$\$|\$\((?:[^()]|\([^()]*\))*\)|\$\{[^{}]*\}|\$[^({\s]`)
	// groovyExpression matches those within double quotes of Groovy, and what it quotes.
	groovyExpression = lazyregexp.New(`\\[\\'"$]|\$\{[^}]*\}|\$[A-Za-z_][\w.]*`)
)

// computedText is what stands for an expression in the text of a script: the shell's parser takes no word with it for a literal.
const computedText = "${{}}"

// variableOf matches an expression that is a variable.
var variableOf = lazyregexp.New(`^\$(?:\{\{\s*env\.|[({])([A-Za-z_]\w*)(?:\s*\}\}|[)}])$`)

// variableIn returns the value of an expression that is a variable.
func variableIn(expression string, values shell.Variables) string {
	if name := variableOf.Get().FindStringSubmatch(expression); name != nil {
		return values[name[1]]
	}
	return ""
}

// compute replaces the expressions in a text by their values, as far as they are known. Two characters that are one in the language of
// the expressions are replaced by this one.
func compute(text string, expression *lazyregexp.Expression, values shell.Variables) string {
	return expression.Get().ReplaceAllStringFunc(text, func(found string) string {
		if len(found) == 2 && (found[0] == '\\' || found == "$$") {
			return found[1:]
		}
		if value := variableIn(found, values); value != "" {
			return value
		}
		return computedText + strings.Repeat("\\\n", strings.Count(found, "\n")) // the lines stay those of the file
	})
}

// compute replaces the expressions in a script, and returns the variables of the shell, as far as their values are known. Those of make
// are none of the shell.
func (s scripts) compute(text string) (string, shell.Variables) {
	if s.HasName(makefiles...) {
		return compute(text, makeExpression, s.variables), nil
	}
	text = compute(text, pipelineExpression, s.variables)
	return text, s.variables.In(text)
}

var makefiles = []string{"Makefile", "makefile", "GNUmakefile", "*.mk"}

// makeLiteral matches an assignment of a literal in a Makefile, makeSetting any that is for all targets or for one, and what may have more.
var (
	makeLiteral = lazyregexp.New(`(?m)^([A-Za-z_]\w*)[ \t]*:{0,2}=[ \t]*([\w.:/@%+-]+)[ \t\r]*$`)
	makeSetting = lazyregexp.New(`([A-Za-z_]\w*)[ \t]*[:?+!]{0,3}=|\b(?:define|undefine)[ \t]+([A-Za-z_]\w*)`)
)

// makeVariables returns the variables that a Makefile sets once.
func makeVariables(text string) shell.Variables {
	set, known := map[string]int{}, shell.Variables{}
	for _, found := range makeSetting.Get().FindAllStringSubmatch(text, -1) {
		set[found[1]+found[2]]++
	}
	for _, found := range makeLiteral.Get().FindAllStringSubmatch(text, -1) {
		if set[found[1]] == 1 && shell.IsValue(found[2]) {
			known[found[1]] = found[2]
		}
	}
	return known
}

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
