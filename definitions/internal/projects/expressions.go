package projects

import (
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/scanner"
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

// compute replaces the expressions in a script. Two characters that are one in the language of the expressions are replaced by this one.
func compute(text string, expression *lazyregexp.Expression) string {
	return expression.Get().ReplaceAllStringFunc(text, func(found string) string {
		if len(found) == 2 && (found[0] == '\\' || found == "$$") {
			return found[1:]
		}
		return computedText + strings.Repeat("\\\n", strings.Count(found, "\n")) // the lines stay those of the file
	})
}

// expressionOf returns what matches the expressions in the scripts of a file.
func expressionOf(f *scanner.File) *lazyregexp.Expression {
	if f.HasName("Makefile", "makefile", "GNUmakefile", "*.mk") {
		return makeExpression
	}
	return pipelineExpression
}
