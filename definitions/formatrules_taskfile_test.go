package definitions

import "testing"

// TestTaskfiles: all forms of commands in a Taskfile, and all of its names.
func TestTaskfiles(t *testing.T) {
	const (
		login = "docker login -u u -p p one.test"
		found = "https://one.test u p,notice secretInRepository"
	)
	for form, tasks := range map[string]string{
		"a list":                   "{a: {cmds: [" + login + "]}}",
		"a command with options":   "{a: {cmds: [{cmd: " + login + ", silent: true}]}}",
		"a loop":                   "{a: {cmds: [{for: [b], cmd: " + login + "}]}}",
		"a command at the end":     "{a: {cmds: [{defer: " + login + "}]}}",
		"a task that is a text":    "{a: " + login + "}",
		"a task that is a list":    "{a: [" + login + "]}",
		"a list of options":        "{a: [{cmd: " + login + "}]}",
		"a task with one command":  "{a: {cmd: " + login + "}}",
		"a task with its own name": "{login: {desc: b, cmds: [a, " + login + "]}}",
	} {
		formatRule{name: form, file: "Taskfile.yml", text: "version: '3'\ntasks: " + tasks + "\n", want: found}.check(t)
	}
	for _, name := range []string{"Taskfile.yaml", "taskfile.yaml", "Taskfile.dist.yml", "Taskfile.dist.yaml", "taskfile.dist.yml",
		"taskfile.dist.yaml"} {
		formatRule{name: name, file: name, text: "version: '3'\ntasks: {a: {cmds: [" + login + "]}}\n", want: found}.check(t)
	}
	formatRule{name: "a description", file: "Taskfile.yml", text: "version: '3'\ntasks: {a: {desc: " + login + "}}\n"}.check(t)
}
