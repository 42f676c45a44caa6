package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/command"
	"github.com/regwarden/regwarden/internal/seal"
	"github.com/regwarden/regwarden/secret"
)

// envNextMasterKey contains the new master key, if the current one comes from the environment.
const envNextMasterKey = command.EnvPrefix + "NEXT_MASTER_KEY"

func newKey() *cobra.Command {
	var master bool
	rotate := adminCommand("rotate", "Rotate the signing keys or, with --master, the master key", command.NoArgs, func(a *admin, _ []string) error {
		if !master {
			return a.auth.RotateKeys(a.ctx, operator, commandLine)
		}
		next, err := nextMasterKey(os.Getenv)
		if err != nil {
			return err
		}
		former, err := a.auth.RotateMaster(a.ctx, operator, commandLine, next)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(a.cmd.ErrOrStderr(), rotatedWarning(former, time.Now()))
		return err
	})
	rotate.Flags().BoolVar(&master, "master", false, "replace the master key")
	return command.Group("key", "Manage the keys of the service", rotate)
}

// rotatedWarning returns the warning that earlier backups need the former key. former is its file, empty for a key from the environment.
func rotatedWarning(former string, now time.Time) string {
	at := now.UTC().Format(time.RFC3339)
	if former == "" {
		return "warning: backups made before " + at + " open only with the former value of " + envMasterKey + ". Store it separately from the backups for as long as you need any of them.\n" +
			"Set " + envMasterKey + " to the new value now. To restore such a backup, write the former value to a file: regwarden restore FILE --master-key-file KEYFILE"
	}
	return "warning: backups made before " + at + " open only with the former master key, which is now in " + former + ". Store it separately from the backups for as long as you need any of them.\n" +
		"To restore such a backup: regwarden restore FILE --master-key-file " + command.ShellQuote(former)
}

// nextMasterKey returns the new master key, or the zero value to have a new key generated and written to the key file.
func nextMasterKey(getenv func(string) string) (seal.MasterKey, error) {
	current, next := getenv(envMasterKey), getenv(envNextMasterKey)
	switch {
	case current == "" && next == "":
		return seal.MasterKey{}, nil
	case current == "":
		return seal.MasterKey{}, command.AsUsage(fmt.Errorf("%s requires a master key from the environment, but the current one is in a file", envNextMasterKey))
	case next == "":
		return seal.MasterKey{}, command.AsUsage(fmt.Errorf("the master key comes from %s; set the new one as %s", envMasterKey, envNextMasterKey))
	case next == current:
		return seal.MasterKey{}, command.AsUsage(errors.New(envNextMasterKey + " must differ from the current key"))
	}
	key, err := seal.ParseMasterKey(secret.String(next))
	if err != nil {
		return seal.MasterKey{}, command.AsUsage(fmt.Errorf("%s: %w", envNextMasterKey, err))
	}
	return key, nil
}
