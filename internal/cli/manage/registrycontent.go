package manage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/flagvalue"
)

func (p Program) registryContent() *cobra.Command {
	return p.command("content NAME [REPOSITORY]", "List the synchronized content of a registry", oneOrTwoArgs, func(c *call, args []string) error {
		found, err := c.client.Registries.Find(c.ctx, args[0])
		if err != nil {
			return err
		}
		repository := ""
		if len(args) == 2 {
			repository = args[1]
		}
		tags, err := client.Collect(c.client.Registries.Content(c.ctx, found.Metadata.UID, repository))
		if err == nil && len(tags) == 0 {
			c.changed("%s", noContent(found, repository))
		}
		if repository == "" {
			return c.list(err, columns("repository", "tags", "kinds", "problem"), repositories(tags))
		}
		rows := make([][]any, len(tags))
		for i, t := range tags {
			rows[i] = []any{t.Repository, t.Tag, t.Kind, t.Digest, t.Problem}
		}
		return c.list(err, columns("repository", "tag", "kind", "digest+", "problem"), rows)
	}, lists)
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

func (p Program) registrySync() *cobra.Command {
	wait, timeout := false, 10*time.Minute
	cmd := p.command("sync NAME", "Synchronize the list of a registry's content now", command.OneArg, func(c *call, args []string) error {
		found, err := c.client.Registries.Find(c.ctx, args[0])
		if err != nil {
			return err
		}
		if !found.Spec.IsSyncSupported {
			return errors.New(notSynchronized(found.Metadata.Name))
		}
		if err := c.client.Registries.Sync(c.ctx, found.Metadata.UID); err != nil {
			return err
		}
		if !wait {
			c.changed("Requested a synchronization of %s.", found.Metadata.Name)
			return nil
		}
		return c.awaitSync(found, timeout)
	}, changes)
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until the synchronization has ended")
	flagvalue.Duration(cmd.Flags(), &timeout, "timeout", timeout, time.Second, flagvalue.Day, "", "maximum wait of --wait")
	return cmd
}

// awaitSync waits until the synchronization of a registry has ended, with its progress on a terminal.
func (c *call) awaitSync(r *api.OCIRegistrySummary, within time.Duration) error {
	ctx, cancel := context.WithTimeout(c.ctx, within)
	defer cancel()
	show, remove := c.progress()
	defer remove()
	for {
		status, err := c.client.Registries.SyncStatus(ctx, r.Metadata.UID)
		switch {
		case err != nil && ctx.Err() == nil:
			return err
		case err == nil && status.Status == "Success":
			remove()
			c.changed("Synchronized %s: %s.", r.Metadata.Name, contentWords(status.Repositories, status.Tags))
			return nil
		case err == nil && status.Status == "Failed":
			return fmt.Errorf("the synchronization of %s failed: %s", Shown(r.Metadata.Name), Shown(status.Message))
		case err == nil:
			show(fmt.Sprintf("%s: %s %s", r.Metadata.Name, status.Status, status.Message))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the synchronization of %s has not ended yet; it stays requested", r.Metadata.Name)
		case <-time.After(syncPollInterval):
		}
	}
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
func (c *call) progress() (show func(string), remove func()) {
	out := c.cmd.ErrOrStderr()
	if c.quiet || !command.IsTerminal(out) {
		return func(string) {}, func() {}
	}
	const eraseLine = "\r\x1b[K"
	begun := false
	show = func(text string) {
		begun = true
		fmt.Fprintf(out, eraseLine+"%.70s", Shown(text))
	}
	remove = func() {
		if begun {
			fmt.Fprint(out, eraseLine)
		}
		begun = false
	}
	return show, remove
}
