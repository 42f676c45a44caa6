package registry

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/lazyregexp"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// document is a definition in a file. given are its secrets, which the file or what it refers to has.
type document struct {
	source   string // file and number, for messages
	registry api.OCIRegistryRequest
	given    bool
}

// maxFile is the maximum size of a file of definitions.
const maxFile = 8 << 20

// readDocuments reads the definitions of files, of the files *.yaml, *.yml and *.json in a directory, or of standard input.
func readDocuments(stdin io.Reader, paths []string) (all []document, err error) {
	var problems []error
	for _, path := range paths {
		files, err := filesOf(path)
		if err != nil {
			return nil, command.AsUsage(err)
		}
		for _, file := range files {
			found, err := documentsOf(stdin, file)
			all, problems = append(all, found...), append(problems, err)
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, command.AsUsage(err)
	}
	if len(all) == 0 { // as of a program that failed before a pipe; --prune would delete the whole set
		return nil, command.AsUsage(errors.New("--file: there is no definition"))
	}
	return all, command.AsUsage(distinct(all))
}

func filesOf(name string) (files []string, err error) {
	info, err := os.Stat(name)
	if name == "-" || err == nil && !info.IsDir() {
		return []string{name}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("--file: %w", err)
	}
	entries, err := os.ReadDir(name)
	for _, entry := range entries {
		if !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) {
			files = append(files, filepath.Join(name, entry.Name()))
		}
	}
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("--file: the directory %s has no file *.yaml, *.yml or *.json", name)
	}
	return files, err
}

// documentsOf reads the documents of one file.
func documentsOf(stdin io.Reader, file string) (found []document, err error) {
	from, dir := stdin, filepath.Dir(file) // "." for standard input
	if file != "-" {
		opened, err := os.Open(file) // #nosec G304 -- a file of the user
		if err != nil {
			return nil, err
		}
		defer opened.Close()
		from = opened
	}
	data, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s is larger than %d MiB", file, maxFile>>20)
	}
	if err != nil {
		return nil, err
	}
	var problems []error
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			return found, joined(problems)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if empty(&node) {
			continue
		}
		d := document{source: fmt.Sprintf("%s, line %d", file, max(node.Line, 1))}
		problems = append(problems, d.read(&node, dir))
		found = append(found, d)
	}
}

func empty(node *yaml.Node) bool {
	return node.Kind == yaml.DocumentNode && len(node.Content) == 1 && node.Content[0].Tag == "!!null"
}

// read reads the body of the API that stores a registry, and what its secrets refer to.
func (d *document) read(node *yaml.Node, dir string) error {
	data, err := yaml.Marshal(node)
	if err != nil {
		return fmt.Errorf("%s: %w", d.source, err)
	}
	wrong, err := command.DecodeRegistry(d.source, data, &d.registry)
	if err == nil {
		err = command.DefinitionProblems(wrong, d.registry.Spec.Unknown, command.FieldProblem)
	}
	if err == nil && strings.TrimSpace(d.registry.Metadata.Name) == "" {
		err = errors.New("metadata.name is required")
	}
	if a := d.registry.Spec.Auth; a != nil && a.Type == regcheck.GCP && a.GCP == nil {
		a.GCP = &regcheck.GCPKey{} // "export --secrets none" leaves out its only field, the key
	}
	if err == nil {
		d.given, err = resolve(&d.registry, dir)
	}
	if err != nil && !strings.HasPrefix(err.Error(), d.source) {
		err = fmt.Errorf("%s: %w", d.source, err)
	}
	if err != nil && !slices.ContainsFunc(node.Content, func(n *yaml.Node) bool {
		return slices.ContainsFunc(n.Content, func(key *yaml.Node) bool { return key.Value == "spec" })
	}) {
		err = fmt.Errorf("%w\n  the name belongs in metadata.name and the rest below spec, as 'regwarden registry export' prints them", err)
	}
	return err
}

// maxProblems is how many definitions of a file are reported as not usable.
const maxProblems = 10

func joined(problems []error) error {
	problems = slices.DeleteFunc(problems, func(err error) bool { return err == nil })
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems], fmt.Errorf("and %d more definitions of this file", more))
	}
	return errors.Join(problems...)
}

// distinct refuses two definitions with one name.
func distinct(all []document) error {
	first := map[string]string{}
	for _, d := range all {
		name := names.Canonical(d.registry.Metadata.Name)
		if first[name] != "" {
			return fmt.Errorf("%s: the name %q is also in %s", d.source, d.registry.Metadata.Name, first[name])
		}
		first[name] = d.source
	}
	return nil
}

// secretsOf returns the secret fields of a definition by their paths.
func secretsOf(r *api.OCIRegistryRequest) map[string]*secret.String {
	all := map[string]*secret.String{}
	if r.Spec.Auth != nil {
		for _, s := range r.Spec.Auth.Secrets() {
			all[s.Field] = s.Value
		}
	}
	return all
}

// dropSecrets removes the secrets of a document. A type that they decide stays.
func (d *document) dropSecrets() {
	if auth := d.registry.Spec.Auth; auth != nil {
		auth.Type = auth.Kind()
	}
	for _, value := range secretsOf(&d.registry) {
		*value = ""
	}
	d.given = false
}

// reference matches a secret that is in an environment variable or a file.
var reference = lazyregexp.New(`^\$\{(env|file):([^}]+)\}$`)

// resolve replaces references by what they refer to. It reports whether the definition has a secret.
func resolve(r *api.OCIRegistryRequest, dir string) (given bool, err error) {
	var problems []error
	for field, value := range secretsOf(r) {
		if found := reference.Get().FindStringSubmatch(value.Reveal()); found != nil {
			text, err := referenced(found[1], found[2], dir)
			if err != nil {
				problems = append(problems, fmt.Errorf("spec.%s: %w", field, err))
			}
			*value = secret.String(text)
		}
		given = given || *value != ""
	}
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return given, errors.Join(problems...)
}

// referenced returns the content of a variable, or of a file relative to that of the definition, without one trailing newline.
func referenced(kind, name, dir string) (string, error) {
	if kind == "env" {
		text := os.Getenv(name)
		if text == "" {
			return "", fmt.Errorf("the environment variable %s is not set", name)
		}
		return text, nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	data, err := os.ReadFile(name) // #nosec G304 -- named by the user's definition
	if err != nil {
		return "", err
	}
	text := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	if text == "" {
		return "", fmt.Errorf("%s is empty", name)
	}
	return text, nil
}

// notInVariable matches what the name of an environment variable cannot have.
var notInVariable = lazyregexp.New(`[^A-Z0-9]+`)

// wordEnd matches the end of a word in a name such as secretKey.
var wordEnd = lazyregexp.New(`([a-z])([A-Z])`)
