package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/settings"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
	"github.com/regwarden/regwarden/internal/storage/store"
)

func newBackup() *cobra.Command {
	cmd := adminCommand("backup FILE", "Copy the database to a new file", command.OneArg, func(a *admin, args []string) error {
		began := time.Now()
		var leftOut []string
		err := a.recorded(audit.StoreBackup, func() (err error) {
			leftOut, err = a.db.Backup(a.ctx, args[0])
			return err
		})
		if err != nil {
			return backupUsage(err)
		}
		for _, table := range leftOut {
			_, _ = fmt.Fprintf(a.cmd.ErrOrStderr(), "warning: the table %q is not regwarden's, and is not in the backup.\n", table)
		}
		info, err := os.Stat(args[0])
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.cmd.ErrOrStderr(), "Copied the store in %s to %s: %.1f MiB in %v. The backup does not contain the master "+
			"key: back it up separately.\n", a.dir, args[0], float64(info.Size())/(1<<20), time.Since(began).Round(time.Millisecond))
		return err
	}, func(c *settings.Config) error { // before a master key is asked for
		if c.DatabaseURL != "" {
			return backupUsage(sqldb.ErrNoFile)
		}
		return nil
	})
	return cmd
}

func newRestore() *cobra.Command {
	s, r := settings.New(), restoration{}
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore a backup into a data directory",
		Args:  command.OneArg,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := s.Load(os.Getenv); err != nil {
			return err
		}
		options, err := s.StoreOptions(cmd.Context())
		if err != nil {
			return err
		}
		return backupUsage(r.run(cmd, options, args[0]))
	}
	own := []string{"master-key-file", "allow-newer-database"} // the first has another meaning here
	shared := slices.DeleteFunc(slices.Clone(settings.StoreFlags), func(name string) bool { return slices.Contains(own, name) })
	s.AddTo(cmd.Flags(), shared...)
	cmd.Flags().StringVar(&r.keyFile, "master-key-file", "", "file of the master key at the time of the backup (default: the current key)")
	cmd.Flags().BoolVar(&r.AllowUnauthenticated, "allow-unauthenticated", false,
		"accept a backup without an authentication code, as older versions wrote")
	return cmd
}

// restoration are the flags of a restore. keyFile is the file of the backup's master key, empty for the current key.
type restoration struct {
	store.RestoreOptions
	keyFile string
}

func (r restoration) run(cmd *cobra.Command, o store.Options, backup string) error {
	place := ""
	if r.keyFile != "" {
		inPlace, err := exists(o.MasterKeyFile)
		if err != nil {
			return err
		}
		if o.MasterKey.IsZero() && !inPlace {
			place, o.MasterKeyFile = o.MasterKeyFile, r.keyFile
		} else if r.FormerKey, err = seal.LoadMasterKey(r.keyFile); err != nil {
			return err
		}
	}
	at, err := store.Restore(cmd.Context(), o, backup, r.RestoreOptions)
	if err != nil {
		return err
	}
	return errors.Join(printRestored(cmd.ErrOrStderr(), backup, o.DataDir, at), r.printKey(cmd.ErrOrStderr(), place))
}

// printRestored prints when an authenticated backup was written: another backup of the same store may have taken its name.
func printRestored(out io.Writer, backup, dir string, at time.Time) (err error) {
	if at.IsZero() {
		_, err = fmt.Fprintf(out, "Restored %s into %s.\nwarning: %[1]s has no authentication code, so whether it was changed after "+
			"it was written is unknown. "+
			"Backups written from now on have one.\n", backup, dir)
		return err
	}
	_, err = fmt.Fprintf(out, "Restored %s, written at %s, into %s.\n", backup, at.Format(time.RFC3339), dir)
	return err
}

// printKey prints what to do with the key of the backup if no key was in its place.
func (r restoration) printKey(out io.Writer, place string) (err error) {
	if place != "" {
		_, err = fmt.Fprintf(out, "The store is encrypted with the key in %s: start the server with --master-key-file, or copy the "+
			"file to %s.\n", r.keyFile, place)
	}
	return err
}

// backupUsage marks errors that the caller can correct as usage errors.
func backupUsage(err error) error {
	correctable := []error{sqldb.ErrFileExists, sqldb.ErrNoBackup, sqldb.ErrTooNew, sqldb.ErrNoFile, os.ErrNotExist, seal.ErrWrongKey}
	if slices.ContainsFunc(correctable, func(target error) bool { return errors.Is(err, target) }) {
		return command.AsUsage(err)
	}
	return err
}

// recorded runs an operation on the whole store. Its audit record is written first, so that no operation is without one, and completed
// with the outcome, also after an interrupt.
func (a *admin) recorded(action audit.Action, operation func() error) error {
	record := operator.AuditRecord(audit.CommandLine, action)
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

// exists reports whether a file exists.
func exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
