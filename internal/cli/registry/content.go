package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/flagvalue"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
)

func (p Commands) registryContent() *cobra.Command {
	return p.Command("content NAME [REPOSITORY]", "List the synchronized content of a registry", oneOrTwoArgs,
		func(c *manage.Call, args []string) error {
			found, err := c.Client.Registries.Find(c.Ctx, args[0])
			if err != nil {
				return err
			}
			repository := ""
			if len(args) == 2 {
				repository = args[1]
			}
			tags, err := client.Collect(c.Client.Registries.Content(c.Ctx, found.Metadata.UID, repository))
			if err == nil && len(tags) == 0 && repository != "" && !found.Status.Sync.LastSyncedTime.IsZero() {
				return errors.New(output.Shown(noContent(found, repository)))
			}
			if err == nil && len(tags) == 0 {
				c.Note("%s", noContent(found, repository))
			}
			if repository == "" {
				return c.List(err, output.Columns("repository", "tags", "kinds", "problem"), repositories(tags))
			}
			rows := make([][]any, len(tags))
			for i, t := range tags {
				rows[i] = []any{t.Repository, t.Tag, t.Kind, t.Digest, t.Problem}
			}
			return c.List(err, output.Columns("repository", "tag", "kind", "digest+", "problem"), rows)
		}, manage.Lists)
}

func oneOrTwoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 2 {
		return nil
	}
	return command.OneArg(cmd, args)
}

// repositories returns the rows of the repositories that have tags, which are sorted by repository.
func repositories(tags []api.OCIRegistryTag) (rows [][]any) {
	for len(tags) > 0 {
		first, end := tags[0], slices.IndexFunc(tags, func(t api.OCIRegistryTag) bool { return t.Repository != tags[0].Repository })
		if end < 0 {
			end = len(tags)
		}
		count, kinds := 0, []string{}
		for _, t := range tags[:end] {
			if t.Tag != "" {
				count++
			}
			if t.Kind != "" && !slices.Contains(kinds, t.Kind) {
				kinds = append(kinds, t.Kind)
			}
		}
		rows, tags = append(rows, []any{first.Repository, count, kinds, first.Problem}), tags[end:]
	}
	return rows
}

// noContent explains an empty list.
func noContent(r *api.OCIRegistrySummary, repository string) string {
	name, sync := r.Metadata.Name, r.Status.Sync
	switch {
	case !sync.IsSyncSupported:
		return notSynchronized(name)
	case sync.LastSyncedTime.IsZero():
		return fmt.Sprintf("no synchronization of %s has ended yet (%s).", name, sync.Status)
	case repository != "":
		return fmt.Sprintf("%s has no repository %s.", name, repository)
	}
	return fmt.Sprintf("%s has no content.", name)
}

func notSynchronized(name string) string {
	return fmt.Sprintf("the content of %s is not synchronized; to change that: regwarden registry update %q --sync", name, name)
}

// syncPollInterval is the time between two requests of the status.
const syncPollInterval = 500 * time.Millisecond

func (p Commands) registrySync() *cobra.Command {
	wait, timeout := false, 10*time.Minute
	cmd := p.Command("sync NAME", "Synchronize the list of a registry's content now", command.OneArg,
		func(c *manage.Call, args []string) error {
			found, err := c.Client.Registries.Find(c.Ctx, args[0])
			if err != nil {
				return err
			}
			if !found.Spec.IsSyncSupported {
				return errors.New(notSynchronized(found.Metadata.Name))
			}
			if err := c.Client.Registries.Sync(c.Ctx, found.Metadata.UID); err != nil {
				return err
			}
			if !wait {
				c.Note("Requested a synchronization of %s.", found.Metadata.Name)
				return nil
			}
			return awaitSync(c, found, timeout)
		}, manage.Changes)
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until the synchronization has ended")
	flagvalue.Duration(cmd.Flags(), &timeout, "timeout", timeout, time.Second, flagvalue.Day, "", "maximum wait of --wait")
	return cmd
}

// awaitSync waits until the synchronization of a registry has ended, with its progress on a terminal.
func awaitSync(c *manage.Call, r *api.OCIRegistrySummary, within time.Duration) error {
	ctx, cancel := context.WithTimeout(c.Ctx, within)
	defer cancel()
	show, remove := progress(c)
	defer remove()
	for {
		status, err := c.Client.Registries.SyncStatus(ctx, r.Metadata.UID)
		switch {
		case err != nil && ctx.Err() == nil:
			return err
		case err == nil && status.Status == "Success":
			remove()
			c.Note("Synchronized %s: %s.", r.Metadata.Name, contentWords(status.Repositories, status.Tags))
			return nil
		case err == nil && status.Status == "Failed":
			return fmt.Errorf("the synchronization of %s failed: %s", output.Shown(r.Metadata.Name), output.Shown(status.Message))
		case err == nil:
			show(fmt.Sprintf("%s: %s", r.Metadata.Name, progressOf(status)))
		}
		select {
		case <-ctx.Done():
			err := fmt.Errorf("the synchronization of %s has not ended yet; it stays requested", r.Metadata.Name)
			if cause, ok := errors.AsType[command.Interrupted](context.Cause(c.Ctx)); ok {
				remove()
				c.Note("%s", err)
				return cause
			}
			return err
		case <-time.After(syncPollInterval):
		}
	}
}

// syncWords are the states of a synchronization in words.
var syncWords = map[string]string{"Pending": "waiting for a server", "InProgress": "in progress", "Success": "synchronized",
	"Failed": "failed"}

// progressOf describes a synchronization that has not ended. A message that repeats the state is left out.
func progressOf(s *api.SyncStatus) string {
	words := cmp.Or(syncWords[s.Status], s.Status)
	if s.Message == "" || strings.EqualFold(s.Message, s.Status) || strings.EqualFold(s.Message, words) {
		return words
	}
	return words + ", " + s.Message
}

// contentWords returns the size of a registry's content.
func contentWords(repositories, tags int64) string {
	counted := func(n int64, one, many string) string {
		if n == 1 {
			many = one
		}
		return fmt.Sprintf("%d %s", n, many)
	}
	return counted(repositories, "repository", "repositories") + " and " + counted(tags, "tag", "tags")
}

// progress returns functions that show a text in the last line of a terminal, and remove it. Without a terminal they do nothing.
func progress(c *manage.Call) (show func(string), remove func()) {
	out := c.Cmd.ErrOrStderr()
	if c.Quiet || !command.IsTerminal(out) {
		return func(string) {}, func() {}
	}
	const eraseLine = "\r\x1b[K"
	begun := false
	show = func(text string) {
		begun = true
		fmt.Fprintf(out, eraseLine+"%.70s", output.Shown(text))
	}
	remove = func() {
		if begun {
			fmt.Fprint(out, eraseLine)
		}
		begun = false
	}
	return show, remove
}
