package projects

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/lazyregexp"
)

// pipelines are CI systems and task runners: the names of their files, and the keys whose values are scripts.
var pipelines = []struct{ files, scripts string }{
	{azurePipelines, "script bash pwsh powershell"},
	{"bitbucket-pipelines.yml", "script after-script"},
	{".circleci/*.yml .circleci/*.yaml", "run command"},
	{".drone.yml .drone.yaml .woodpecker.yml .woodpecker.yaml .woodpecker/*.yml .woodpecker/*.yaml", "commands"},
	{".travis.yml", "before_install install before_script script after_success after_script before_deploy"},
	{"appveyor.yml .appveyor.yml", "install before_build build_script after_build test_script deploy_script"},
	{".buildkite/*.yml .buildkite/*.yaml", "command commands"},
	{"buildspec*.yml buildspec*.yaml", "commands"},
	{".cirrus.yml", "script install_script build_script test_script deploy_script"},
	{".semaphore/*.yml", "commands"},
	{"cloudbuild.yaml cloudbuild.yml", "script"},
	{"Taskfile.yml Taskfile.yaml taskfile.yml taskfile.yaml Taskfile.dist.yml Taskfile.dist.yaml taskfile.dist.yml taskfile.dist.yaml",
		"tasks cmds cmd defer"},
	{gitHooks, "run entry"},
	{packageJSON, "scripts"},
}

const azurePipelines = "azure-pipelines*.yml azure-pipelines*.yaml .azure-pipelines/*.yml .azure-pipelines/*.yaml .azure/*.yml"

// Broken ones of these are of no interest: few have logins.
const (
	gitHooks    = "lefthook.yml .pre-commit-config.yaml"
	packageJSON = "package.json"
)

// scriptFiles are files that are scripts as a whole.
var scriptFiles = strings.Fields("*.sh *.bash Makefile makefile GNUmakefile *.mk Justfile justfile Jenkinsfile *.jenkinsfile Jenkinsfile.*")

// PipelineFormats reads the logins in scripts: of pipelines, which are YAML, and in files of their own.
var PipelineFormats = []scanner.Reader{
	{Name: model.Pipeline, Names: pipelineFiles(), Files: append(pipelineFiles(), strings.Fields(packageJSON+" "+gitHooks)...),
		Is: isPipeline, Read: readPipeline, Keys: pipelineKeys()},
	{Name: model.Script, Is: isScript, Read: readScriptFile},
}

func pipelineFiles() (names []string) {
	for _, p := range pipelines {
		if p.files != packageJSON && p.files != gitHooks {
			names = append(names, strings.Fields(p.files)...)
		}
	}
	return names
}

func pipelineKeys() (keys []string) {
	for _, p := range pipelines {
		for _, key := range strings.Fields(p.scripts) {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// scriptsOf returns the keys of scripts in a pipeline, nil if the file is none.
func scriptsOf(f *scanner.File) []string {
	for _, p := range pipelines {
		if f.HasName(strings.Fields(p.files)...) {
			return strings.Fields(p.scripts)
		}
	}
	return nil
}

func isPipeline(f *scanner.File) bool {
	return hasCommands(f.Data) && scriptsOf(f) != nil && f.Root().IsObject()
}

const maskedVariable = "Use a secret variable of the pipeline with --password-stdin."

func readPipeline(f *scanner.File) {
	keys := scriptsOf(f)
	if keys == nil { // another name, and --format
		keys = pipelineKeys()
	}
	for _, document := range f.Readable() {
		readScripts(f, document, keys, "")
	}
}

func pipelineScripts(f *scanner.File) scripts {
	return scripts{File: f, format: model.Pipeline, instead: maskedVariable}
}

// readScripts reads the scripts below a value. object is the name of the job or step that has them.
func readScripts(f *scanner.File, n *node.Node, keys []string, object string) {
	for _, name := range []string{"name", "displayName", "job", "label"} {
		if text := n.Get(name).Text(); text != "" {
			object = dockerauth.Show(text)
		}
	}
	for _, p := range n.Pairs() {
		switch {
		case !slices.Contains(keys, p.Key):
			readScripts(f, p.Value, keys, object)
		case p.Value.IsObject(): // the scripts of package.json, and those with names of their own
			readNamedScripts(f, p.Value, keys, object)
		default:
			pipelineScripts(f).read(p.Value, object)
			readScripts(f, p.Value, keys, object) // commands of a list that have options
		}
	}
	for _, item := range n.Items() {
		readScripts(f, item, keys, object)
	}
}

func readNamedScripts(f *scanner.File, n *node.Node, keys []string, object string) {
	if name := n.Get("name").Text(); name != "" {
		object = dockerauth.Show(name)
	}
	for _, member := range n.Pairs() {
		name := cmp.Or(object, dockerauth.Show(member.Key))
		pipelineScripts(f).read(member.Value, name)
		readScripts(f, member.Value, keys, name)
	}
}

// recipe matches what is before a command in a Makefile.
var recipe = lazyregexp.New(`(?m)^\t[@+-]+`)

// jenkinsShell matches the beginning of a script in a Jenkinsfile.
var jenkinsShell = lazyregexp.New(`(?s)\b(?:sh|bat)\b[ \t]*\(?[ \t]*(?:script:[ \t]*)?(?:` +
	`'''((?:[^\\]|\\.)*?)'''|"""((?:[^\\]|\\.)*?)"""|'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)")(\s*\+)?`)

// groovyEscape matches what Groovy quotes within single quotes, where it expands nothing.
var groovyEscape = lazyregexp.New(`\\[\\'"$bfnrstu]`)

func isScript(f *scanner.File) bool {
	return hasCommands(f.Data) && (f.HasName(scriptFiles...) || f.Extension() == "" && shebang.Get().Match(f.Data))
}

// shebang matches the first line of a script of a shell.
var shebang = lazyregexp.New(`^#![^\n]*[/ ](?:ba|da|k|z)?sh\b`)

func readScriptFile(f *scanner.File) {
	file := scripts{File: f, format: model.Script, instead: maskedVariable}
	if !strings.Contains(strings.ToLower(f.Path), "jenkinsfile") {
		text := f.Data
		if !f.HasName("*.sh", "*.bash") {
			text = recipe.Get().ReplaceAll(text, []byte("\t"))
		}
		file.readText(string(text), 1, "")
		return
	}
	line, counted := 1, 0 // bytes whose lines are counted: counting from the beginning for each script would take long
	for _, at := range jenkinsShell.Get().FindAllSubmatchIndex(f.Data, -1) {
		for group := 2; group < 10; group += 2 {
			if at[group] >= 0 {
				line, counted = line+bytes.Count(f.Data[counted:at[group]], []byte("\n")), at[group]
				text := groovyText(string(f.Data[at[group]:at[group+1]]), f.Data[at[group+1]] == '"')
				if at[10] >= 0 { // another string follows
					text += computedText
				}
				file.readText(text, line, "")
			}
		}
	}
}

// groovyText returns the value of a string of Groovy.
func groovyText(text string, isDouble bool) string {
	if isDouble {
		return compute(text, groovyExpression, nil)
	}
	return compute(text, groovyEscape, nil)
}
