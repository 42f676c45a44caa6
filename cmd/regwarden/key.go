package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/seal"
	"github.com/regwarden/regwarden/secret"
)

// envNextMasterKey holds the key to rotate to, where the one in force comes from the environment.
const envNextMasterKey = envPrefix + "NEXT_MASTER_KEY"

func newKey() *cobra.Command {
	var master bool
	rotate := adminCommand("rotate", "Put new signing keys into use; with --master, a new master key", noArgs, false, func(a *admin, _ []string) error {
		if !master {
			return a.auth.RotateKeys(a.ctx, a.operator, a.origin)
		}
		next, err := nextMasterKey(os.Getenv)
		if err != nil {
			return err
		}
		former, err := a.auth.RotateMaster(a.ctx, a.operator, a.origin, next)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(a.cmd.ErrOrStderr(), rotatedWarning(former, time.Now()))
		return err
	})
	rotate.Long = `Put new keys into use for authorization and refresh tokens. Tokens of the old ones stay good until they end. A running
server takes the new keys up within a second.

With --master the key that encrypts the store is replaced. A key file gets a new key, and the former key stays next to it as
FILE.<time>: backups made before the rotation open only with it. A key from the environment cannot be written: set
` + envNextMasterKey + ` for this command, and its value as ` + envMasterKey + ` from then on, and keep the former value.`
	rotate.Flags().BoolVar(&master, "master", false, "replace the master key")
	return group("key", "Manage the keys of the service", rotate)
}

// rotatedWarning names the key that earlier backups need. former is its file, empty for a key from the environment.
func rotatedWarning(former string, now time.Time) string {
	at := now.UTC().Format(time.RFC3339)
	if former == "" {
		return "warning: backups made before " + at + " open only with the former value of " + envMasterKey + ". Keep it, apart from them, as long as you keep any of them.\n" +
			"Set " + envMasterKey + " to the new value now. To restore such a backup, put the former value into a file: regwarden restore FILE --master-key-file KEYFILE"
	}
	return "warning: backups made before " + at + " open only with the former master key, which is kept as " + former + ". Keep it, apart from them, as long as you keep any of them.\n" +
		"To restore such a backup: regwarden restore FILE --master-key-file " + shellQuote(former)
}

// nextMasterKey is the key to rotate to, the zero one to have it drawn and written to the key file.
func nextMasterKey(getenv func(string) string) (seal.MasterKey, error) {
	current, next := getenv(envMasterKey), getenv(envNextMasterKey)
	switch {
	case current == "" && next == "":
		return seal.MasterKey{}, nil
	case current == "":
		return seal.MasterKey{}, usageError{fmt.Errorf("%s is for a master key from the environment; this one is in a file, which is written anew", envNextMasterKey)}
	case next == "":
		return seal.MasterKey{}, usageError{fmt.Errorf("the master key comes from %s; set the new one as %s", envMasterKey, envNextMasterKey)}
	case next == current:
		return seal.MasterKey{}, usageError{errors.New(envNextMasterKey + " is the key in force")}
	}
	key, err := seal.ParseMasterKey(secret.String(next))
	if err != nil {
		return seal.MasterKey{}, usageError{fmt.Errorf("%s: %w", envNextMasterKey, err)}
	}
	return key, nil
}
