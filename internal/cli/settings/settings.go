package settings

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/flagvalue"
	"github.com/regwarden/regwarden/internal/storage/seal"
)

// Settings binds a Config to its flags. The flags also parse values of the environment and the settings file, so that each setting has
// one parser and one default.
type Settings struct {
	Config
	Flags  *pflag.FlagSet
	source map[string]string // flag name to "flag", "environment", "file" or "default"
}

// StoreFlags are the settings of commands that open the store.
var StoreFlags = []string{"config", "data-dir", "database-url", "database-url-file", "allow-newer-database", "master-key-file",
	"master-key-command",
	"default-org"}

// addTo adds settings as flags of a command: the named ones, or all if no name is given.
func (s *Settings) AddTo(target *pflag.FlagSet, names ...string) {
	target.SortFlags = false
	s.Flags.SortFlags = false
	s.Flags.VisitAll(func(f *pflag.Flag) {
		if len(names) == 0 || slices.Contains(names, f.Name) {
			target.AddFlag(f)
		}
	})
}

// load reads the settings that have no flag from the environment, then from the settings file, and validates all settings. Its error
// lists all problems.
func (s *Settings) Load(getenv func(string) string) error {
	var problems []error
	set := func(f *pflag.Flag, source, value string) {
		if err := f.Value.Set(value); err != nil {
			problems = append(problems, fmt.Errorf("%s (%s): %q %w", f.Name, source, value, command.PlainValueError(err)))
		}
		s.source[f.Name] = source
	}
	s.Flags.VisitAll(func(f *pflag.Flag) {
		s.source[f.Name] = "default"
		if f.Changed {
			s.source[f.Name] = "flag"
		} else if value := getenv(EnvName(f.Name)); value != "" {
			set(f, "environment", value)
		}
	})
	fromFile, err := readFile(s.File, s.Flags)
	problems = append(problems, err)
	for _, name := range slices.Sorted(maps.Keys(fromFile)) {
		if s.source[name] == "default" {
			set(s.Flags.Lookup(name), "file", fromFile[name])
		}
	}
	problems = append(problems, s.fileProblem())
	problems = append(problems, s.keyProblem(getenv))
	problems = append(problems, s.completeDatabaseURL()...)
	if s.MasterKeyFile == "" {
		s.MasterKeyFile = filepath.Join(s.DataDir, "master.key")
	}
	if err := errors.Join(append(problems, s.Validate()...)...); err != nil {
		return command.AsUsage(fmt.Errorf("the settings are not valid:\n%w", err))
	}
	return nil
}

// fileProblem checks the mode of a settings file that holds a password.
func (s *Settings) fileProblem() error {
	for _, name := range []string{"database-url", "egress-proxy"} {
		f := s.Flags.Lookup(name)
		if s.source[name] != "file" || s.shown(f) == f.Value.String() {
			continue
		}
		if _, err := seal.ReadSecretFile(s.File); err != nil {
			return fmt.Errorf("config: %s contains a password: %w", name, err)
		}
	}
	return nil
}

// keyProblem checks that the master key comes from one place.
func (s *Settings) keyProblem(getenv func(string) string) error {
	if s.MasterKeyCommand == "" {
		return nil
	}
	if s.source["master-key-file"] != "default" || getenv(EnvMasterKey) != "" {
		return fmt.Errorf("master-key-command: cannot be combined with master-key-file or %s", EnvMasterKey)
	}
	if _, err := splitWords(s.MasterKeyCommand); err != nil {
		return fmt.Errorf("master-key-command: %w", err)
	}
	return nil
}

func EnvName(flag string) string {
	return command.EnvPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// readFile reads the settings file. Unknown keys are refused, since the default would silently apply instead of a misspelled setting.
func readFile(path string, known *pflag.FlagSet) (map[string]string, error) {
	if path == "" {
		return nil, nil
	}
	data, err := seal.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	var content map[string]any
	if err := yaml.Unmarshal(data, &content); err != nil {
		return nil, fmt.Errorf("config: %s is not YAML of the form 'name: value': %w", path, err)
	}
	values, problems := map[string]string{}, []error(nil)
	for _, name := range slices.Sorted(maps.Keys(content)) {
		value := content[name]
		if known.Lookup(name) == nil || name == "config" {
			problems = append(problems, fmt.Errorf("config: %s: %q is not a setting%s", path, name, didYouMean(name, known)))
			continue
		}
		text, ok := textOf(value)
		if !ok {
			problems = append(problems, fmt.Errorf("config: %s: %q has no value", path, name))
			continue
		}
		values[name] = text
	}
	return values, errors.Join(problems...)
}

// textOf returns a value of the settings file as a flag parses it, and false for a key or an entry of a list that has no value.
func textOf(value any) (text string, ok bool) {
	list, isList := value.([]any)
	if !isList {
		return fmt.Sprint(value), value != nil
	}
	words := make([]string, len(list))
	for i, word := range list {
		words[i] = fmt.Sprint(word)
	}
	return strings.Join(words, ","), !slices.Contains(list, nil)
}

func didYouMean(name string, known *pflag.FlagSet) string {
	var names []string
	known.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if like := flagvalue.Nearest(name, names, command.MaxTypos); like != "" {
		return "; did you mean " + like + "?"
	}
	return ""
}
