package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/settings"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

func newKey() *cobra.Command {
	var master bool
	var nextCommand string
	rotate := adminCommand("rotate", "Rotate the signing keys or, with --master, the master key", command.NoArgs,
		func(a *admin, _ []string) error {
			if !master {
				if err := a.auth.Keys.Rotate(a.ctx, operator, audit.CommandLine); err != nil {
					return err
				}
				_, err := fmt.Fprintf(a.cmd.ErrOrStderr(), "Rotated the signing keys of the store in %s. Tokens signed with the former "+
					"ones stay valid until they expire.\n", a.where())
				return err
			}
			next, err := nextMasterKey(a.ctx, os.Getenv, a.keyCommand, nextCommand)
			if err != nil {
				return err
			}
			former, err := a.auth.Keys.RotateMaster(a.ctx, operator, audit.CommandLine, next)
			if errors.Is(err, store.ErrSameKey) {
				return command.AsUsage(store.ErrSameKey)
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.cmd.ErrOrStderr(), "Replaced the master key of the store in %s.\n%s\n", a.where(),
				rotatedWarning(former, a.keyCommand, time.Now()))
			return err
		})
	rotate.Flags().BoolVar(&master, "master", false, "replace the master key")
	rotate.Flags().StringVar(&nextCommand, "next-master-key-command", "",
		"command that prints the new master key, if the current one is not in a file")
	return command.Group("key", "Manage the keys of the service", rotate)
}

// rotatedWarning returns the warning that earlier backups need the former key. former is its file, empty for a key from the environment or
// from keyCommand.
func rotatedWarning(former, keyCommand string, now time.Time) string {
	at := now.UTC().Format(time.RFC3339)
	if former != "" {
		return "warning: backups made before " + at + " open only with the former master key, which is now in " + former +
			". Store it separately from the backups for as long as you need any of them.\n" +
			"To restore such a backup: regwarden restore FILE --master-key-file " + command.ShellQuote(former)
	}
	source, change := settings.EnvMasterKey, "Set "+settings.EnvMasterKey+" to the new value now."
	if keyCommand != "" {
		source, change = "master-key-command", "Make the command print the new value now."
	}
	return "warning: backups made before " + at + " open only with the former value of " + source +
		". Store it separately from the backups for as long as you need any of them.\n" +
		change + " To restore such a backup, write the former value to a file: regwarden restore FILE --master-key-file KEYFILE"
}

// nextMasterKey returns the new master key, or the zero value to have a new key generated and written to the key file.
func nextMasterKey(ctx context.Context, getenv func(string) string, keyCommand, nextCommand string) (seal.MasterKey, error) {
	current, next := getenv(settings.EnvMasterKey), getenv(settings.EnvNextMasterKey)
	inFile := current == "" && keyCommand == ""
	switch {
	case next != "" && nextCommand != "":
		return seal.MasterKey{}, command.AsUsage(errors.New("--next-master-key-command cannot be combined with " +
			settings.EnvNextMasterKey))
	case inFile && next == "" && nextCommand == "":
		return seal.MasterKey{}, nil
	case inFile:
		return seal.MasterKey{}, command.AsUsage(fmt.Errorf("%s and --next-master-key-command require a master key from the "+
			"environment or a command, but the current one is in a file", settings.EnvNextMasterKey))
	case nextCommand != "":
		return settings.KeyByCommand(ctx, "--next-master-key-command", nextCommand)
	case next == "":
		source := settings.EnvMasterKey
		if keyCommand != "" {
			source = "master-key-command"
		}
		return seal.MasterKey{}, command.AsUsage(fmt.Errorf("the master key comes from %s; set the new one as %s, or name a command "+
			"that prints it with --next-master-key-command", source, settings.EnvNextMasterKey))
	}
	key, err := seal.ParseMasterKey(secret.String(next))
	if err != nil {
		return seal.MasterKey{}, command.AsUsage(fmt.Errorf("%s: %w", settings.EnvNextMasterKey, err))
	}
	return key, nil
}
