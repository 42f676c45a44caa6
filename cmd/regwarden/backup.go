package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/command"
	"github.com/regwarden/regwarden/internal/seal"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/internal/store/sqldb"
)

func newBackup() *cobra.Command {
	cmd := adminCommand("backup FILE", "Copy the database to a new file", command.OneArg, func(a *admin, args []string) error {
		if a.db.Shared() {
			return backupUsage(sqldb.ErrNoFile)
		}
		began := time.Now()
		if err := a.recorded(audit.StoreBackup, func() error { return a.db.Backup(a.ctx, args[0]) }); err != nil {
			return backupUsage(err)
		}
		info, err := os.Stat(args[0])
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.cmd.ErrOrStderr(), "%s: %.1f MiB in %v. The backup does not contain the master key: back it up separately.\n",
			args[0], float64(info.Size())/(1<<20), time.Since(began).Round(time.Millisecond))
		return err
	})
	return cmd
}

func newRestore() *cobra.Command {
	settings, backupKeyFile := newSettings(), ""
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore a backup into a data directory",
		Args:  command.OneArg,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := settings.load(os.Getenv); err != nil {
			return err
		}
		options, err := storeOptions(settings.Config)
		if err != nil {
			return err
		}
		return backupUsage(restore(cmd, options, args[0], backupKeyFile))
	}
	settings.addTo(cmd.Flags(), slices.DeleteFunc(slices.Clone(storeFlags), func(name string) bool { return name == "master-key-file" })...)
	cmd.Flags().StringVar(&backupKeyFile, "master-key-file", "", "file of the master key at the time of the backup (default: the current key)")
	return cmd
}

// restore restores a backup. keyFile is the file of its master key, empty for the current key.
func restore(cmd *cobra.Command, o store.Options, backup, keyFile string) error {
	if keyFile == "" {
		return store.Restore(cmd.Context(), o, backup, seal.MasterKey{})
	}
	inPlace, err := exists(o.MasterKeyFile)
	if err != nil {
		return err
	}
	if o.MasterKey.IsZero() && !inPlace {
		place := o.MasterKeyFile
		o.MasterKeyFile = keyFile
		if err := store.Restore(cmd.Context(), o, backup, seal.MasterKey{}); err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.ErrOrStderr(), "The store is encrypted with the key in %s: start the server with --master-key-file, or copy the file to %s.\n", keyFile, place)
		return err
	}
	former, err := seal.LoadMasterKey(keyFile)
	if err != nil {
		return err
	}
	return store.Restore(cmd.Context(), o, backup, former)
}

// backupUsage marks errors that the caller can correct as usage errors.
func backupUsage(err error) error {
	if errors.Is(err, sqldb.ErrFileExists) || errors.Is(err, sqldb.ErrNoBackup) || errors.Is(err, sqldb.ErrNoFile) || errors.Is(err, os.ErrNotExist) || errors.Is(err, seal.ErrWrongKey) {
		return command.AsUsage(err)
	}
	return err
}

// recorded runs an operation on the whole store. Its audit record is written first, so that no operation is without one, and completed
// with the outcome, also after an interrupt.
func (a *admin) recorded(action audit.Action, operation func() error) error {
	record := operator.AuditRecord(commandLine, action)
	record.UID, record.At, record.Outcome = audit.NewUID(), time.Now(), audit.Started
	if err := a.db.InTx(a.ctx, func(tx *store.Tx) error { return tx.Audits.Append(a.ctx, record) }); err != nil {
		return err
	}
	err, outcome := operation(), audit.Succeeded
	if err != nil {
		outcome = audit.Failed
	}
	ctx := context.WithoutCancel(a.ctx)
	recordErr := a.db.InTx(ctx, func(tx *store.Tx) error { return tx.Audits.Complete(ctx, record.UID, outcome, "", nil) })
	if recordErr != nil {
		recordErr = fmt.Errorf("record the outcome %q of %s: %w", outcome, action, recordErr)
	}
	return errors.Join(err, recordErr)
}
