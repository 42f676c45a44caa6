package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/seal"
	"github.com/regwarden/regwarden/secret"
)

// envNextMasterKey holds the key to rotate to, where the one in force comes from the environment.
const envNextMasterKey = envPrefix + "NEXT_MASTER_KEY"

func newKey() *cobra.Command {
	var master bool
	rotate := adminCommand("rotate", "Put new signing keys into use; with --master, a new master key", cobra.NoArgs, false, func(a *admin, _ []string) error {
		if !master {
			return a.auth.RotateKeys(a.ctx, a.origin, a.operator)
		}
		next, err := nextMasterKey(os.Getenv)
		if err != nil {
			return err
		}
		return a.auth.RotateMaster(a.ctx, a.origin, a.operator, next)
	})
	rotate.Long = `Put new keys into use for authorization and refresh tokens. Tokens of the old ones stay good until they end. A running
server takes the new keys up within a second.

With --master the key that seals the store is replaced. A key file is written anew. A key from the environment cannot be:
set ` + envNextMasterKey + ` for this command, and its value as ` + envMasterKey + ` from then on.`
	rotate.Flags().BoolVar(&master, "master", false, "replace the master key")
	return group("key", "Keys of the service", rotate)
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
