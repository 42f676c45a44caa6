package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/store"
)

func newBackup() *cobra.Command {
	cmd := adminCommand("backup FILE", "Copy the database to a new file, also while the server runs", cobra.ExactArgs(1), false, func(a *admin, args []string) error {
		if a.db.Shared() {
			return backupUsage(store.ErrNoFile)
		}
		if err := a.record(audit.StoreBackup); err != nil { // first, so that the copy has it too
			return err
		}
		began := time.Now()
		if err := a.db.Backup(a.ctx, args[0]); err != nil {
			return backupUsage(err)
		}
		info, err := os.Stat(args[0])
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.cmd.ErrOrStderr(), "%s: %.1f MiB in %v. The master key is not in it: keep that too, in another place.\n",
			args[0], float64(info.Size())/(1<<20), time.Since(began).Round(time.Millisecond))
		return err
	})
	cmd.Long = `Copy the database, as of one moment, to FILE, which must not be there yet. Others may read and write meanwhile. Secrets in the
copy are sealed with the master key, which is not part of it. A database on PostgreSQL is backed up with PostgreSQL's own means.`
	return cmd
}

func newRestore() *cobra.Command {
	settings := newSettings()
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup into a data folder without a database",
		Long: `Put a backup into a data folder that has no database. The master key that the backup was made under must be in its place
already (master.key in the folder, --master-key-file or ` + envMasterKey + `). The backup is looked at whole before anything is changed.

Sessions and API keys are then what they were at the time of the backup: what was revoked since has to be revoked again.`,
		Args: usageArgs(cobra.ExactArgs(1)),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := settings.load(os.Getenv); err != nil {
			return err
		}
		options, err := storeOptions(settings.Config)
		if err != nil {
			return err
		}
		return backupUsage(store.Restore(cmd.Context(), options, args[0]))
	}
	settings.addTo(cmd.Flags(), storeFlags...)
	return cmd
}

// backupUsage tells the mistakes that can be made with files from what went wrong.
func backupUsage(err error) error {
	if errors.Is(err, store.ErrInTheWay) || errors.Is(err, store.ErrNoBackup) || errors.Is(err, store.ErrNoFile) || errors.Is(err, os.ErrNotExist) {
		return usageError{err}
	}
	return err
}

// record writes that the operator does something to the store as a whole.
func (a *admin) record(action audit.Action) error {
	event := a.operator.Event(a.origin, action)
	event.UID, event.At, event.Outcome = uuid.NewString(), time.Now(), audit.Succeeded
	return a.db.InTx(a.ctx, func(tx *store.Tx) error { return tx.AppendAudit(a.ctx, event) })
}
