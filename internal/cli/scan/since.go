package scan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/process/program"
)

// maxNames is the size of a list of changed files.
const maxNames = 64 << 20

// since returns what is in changed files, and what depends on one: what is found otherwise when they are not there.
func (r *reader) since(ctx context.Context, paths []string) (model.Result, error) {
	changed := map[string]changes{}
	deleted := false
	for _, path := range paths {
		if path == Stdin {
			return model.Result{}, errors.New("--since cannot be combined with standard input, which has no earlier version")
		}
		c, err := r.changesOf(ctx, path)
		if err != nil {
			return model.Result{}, err
		}
		changed[path] = c
		deleted = deleted || c.deleted
	}
	result, err := r.read(ctx, paths)
	if err != nil {
		return result, err
	}
	r.changes = changed
	before, err := r.read(ctx, paths)
	return difference(result, before, deleted), err
}

// difference returns what result has and before has not. A deleted file may be why something is missing, which both have.
func difference(result, before model.Result, deleted bool) model.Result {
	known := map[any]bool{}
	for _, found := range slices.Concat(before.Registries, before.References) {
		for _, at := range found.Sources {
			known[identityAt(found, at)] = true
		}
	}
	for _, skipped := range before.Skipped {
		known[skipped] = true
	}
	for _, problem := range before.Problems {
		known[problem] = true
	}
	result.Registries = unknown(result.Registries, known, deleted)
	result.References = unknown(result.References, known, deleted)
	result.Skipped = slices.DeleteFunc(result.Skipped, func(s model.Skipped) bool { return known[s] })
	result.Problems = slices.DeleteFunc(result.Problems, func(p model.Problem) bool { return known[p] })
	return result
}

// unknown returns the definitions at the places where they are not known.
func unknown(registries []model.Registry, known map[any]bool, deleted bool) []model.Registry {
	rest := registries[:0]
	for _, found := range registries {
		if !deleted || !lacksOther(found) {
			found.Sources = slices.DeleteFunc(slices.Clone(found.Sources),
				func(at model.Source) bool { return known[identityAt(found, at)] })
		}
		if len(found.Sources) > 0 {
			rest = append(rest, found)
		}
	}
	return rest
}

// registryAt is a definition at one of its places.
type registryAt struct {
	at     model.Source
	key    string
	reason model.UnresolvedReason
	detail model.Detail
}

func identityAt(r model.Registry, at model.Source) registryAt {
	return registryAt{at, model.Key(r.Definition), r.Reason, r.Detail}
}

// lacksOther reports whether something that a definition refers to does not exist.
func lacksOther(r model.Registry) bool {
	return r.Reason == model.UnresolvedReferenceMissing || slices.ContainsFunc(r.Notices, func(n model.Notice) bool {
		return n.Code == model.NoticeNoMatchingCredentials
	})
}

// changes are the files of a directory that changed.
type changes struct {
	names   map[string]bool // relative to the directory
	deleted bool            // at least one of them
}

// changesOf asks git for the files that changed since the revision, those that are not committed included. Git is run for their names
// only.
func (r *reader) changesOf(ctx context.Context, path string) (c changes, err error) {
	directory, info, err := find(path)
	if err != nil {
		return c, err
	}
	if !info.IsDir() {
		directory = filepath.Dir(directory)
	}
	git := gitIn{ctx, directory}
	if strings.HasPrefix(r.Since, "-") {
		return c, fmt.Errorf("--since must be a revision of git, not %q", r.Since)
	}
	if _, err := git.run("rev-parse", "--is-inside-work-tree"); err != nil {
		return c, fmt.Errorf("--since: git finds no repository in %s: %w", directory, err)
	}
	if _, err := git.run("rev-parse", "--verify", "--quiet", "--end-of-options", r.Since+"^{commit}"); err != nil {
		return c, fmt.Errorf("--since: the repository of %s does not have the revision %q; fetch it first", directory, r.Since)
	}
	status, err := git.run("diff", "--name-status", "--no-renames", "--no-ext-diff", "-z", "--relative", "--merge-base", r.Since, "--")
	if err != nil {
		return c, fmt.Errorf("--since: git cannot compare with %s: %w; a clone needs the history since the branch began "+
			"(fetch-depth: 0 or GIT_DEPTH: 0)", r.Since, err)
	}
	untracked, err := git.run("ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return c, fmt.Errorf("--since: git cannot list new files: %w", err)
	}
	c.names = map[string]bool{}
	c.addStatus(status)
	for _, name := range untracked {
		c.names[name] = true
	}
	return c, nil
}

// addStatus adds pairs of a status and a name.
func (c *changes) addStatus(fields []string) {
	for i := 0; i+1 < len(fields); i += 2 {
		c.names[fields[i+1]] = true
		c.deleted = c.deleted || fields[i] == "D"
	}
}

// gitIn runs git in a directory.
type gitIn struct {
	ctx       context.Context
	directory string
}

// run returns the fields of the output, which end with a null character. The error ends with the last line that git wrote.
func (g gitIn) run(args ...string) ([]string, error) {
	var said bytes.Buffer
	args = append([]string{"-C", g.directory, "-c", "core.fsmonitor=false"}, args...)
	output, err := program.Program{Name: "git", Args: args, Env: append(os.Environ(), "GIT_OPTIONAL_LOCKS=0"), Stderr: &said,
		MaxOutput: maxNames}.Output(g.ctx)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("the program git was not found; install it, or scan without --since")
	case err != nil:
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		if last := lines[len(lines)-1]; last != "" {
			return nil, errors.New(Clean(strings.TrimPrefix(last, "fatal: ")))
		}
		return nil, err
	}
	return strings.FieldsFunc(string(output), func(r rune) bool { return r == 0 }), nil
}
