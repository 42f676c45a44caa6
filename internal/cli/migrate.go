package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/output"
	"github.com/regwarden/regwarden/internal/cli/settings"
	"github.com/regwarden/regwarden/internal/storage/datamigration"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
	"github.com/regwarden/regwarden/internal/storage/store"
)

func newMigrate() *cobra.Command {
	s := settings.New()
	var from, to, format string
	cmd := &cobra.Command{
		Use:   "migrate --from sqlite:DIR --to postgres://HOST/DATABASE?sslmode=verify-full",
		Short: "Copy a store from SQLite to PostgreSQL",
		Args:  command.NoArgs,
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := migrateBetween(s, from, to); err != nil {
			return err
		}
		if err := s.Load(os.Getenv); err != nil {
			return err
		}
		source, target, err := migrateOptions(cmd.Context(), &s.Config)
		if err != nil {
			return err
		}
		copied, err := datamigration.CopyToPostgres(cmd.Context(), source, target, progressTo(cmd.ErrOrStderr()))
		if err != nil {
			return migrateUsage(settings.NoStore(err, &settings.Config{DataDir: s.DataDir}))
		}
		return printCopied(cmd, copied, format, &s.Config)
	}
	cmd.Flags().StringVar(&from, "from", "", "store to copy, as sqlite:DIR (default: that of data-dir)")
	cmd.Flags().StringVar(&to, "to", "", "empty database, as postgres://…; requires sslmode=… unless it is on this machine (default: "+
		"that of database-url)")
	command.OutputFlag(cmd, &format)
	s.AddTo(cmd.Flags(), settings.StoreFlags...)
	return cmd
}

// migrateBetween treats --from and --to as other names of data-dir and database-url, so that the same rules hold for both.
func migrateBetween(s *settings.Settings, from, to string) error {
	directory, isSQLite := strings.CutPrefix(from, "sqlite:")
	if from != "" && (!isSQLite || directory == "") {
		return command.AsUsage(errors.New("--from must be sqlite:DIR, where DIR is the data directory of the store"))
	}
	for name, value := range map[string]string{"data-dir": directory, "database-url": to} {
		if value == "" {
			continue
		}
		if err := s.Flags.Set(name, value); err != nil {
			return command.AsUsage(fmt.Errorf("%s: %w", name, err))
		}
	}
	return nil
}

// migrateOptions returns where the store is and where it is copied to.
func migrateOptions(ctx context.Context, c *settings.Config) (source, target store.Options, err error) {
	if c.DatabaseURL == "" {
		return source, target, command.AsUsage(errors.New("give the empty database with --to postgres://…\n" +
			"See 'regwarden migrate --help'"))
	}
	target, err = c.StoreOptions(ctx)
	source = target
	source.DatabaseURL = ""
	return source, target, err
}

func migrateUsage(err error) error {
	if errors.Is(err, store.ErrNotEmpty) || errors.Is(err, sqldb.ErrLocked) || errors.Is(err, seal.ErrWrongKey) {
		return command.AsUsage(err)
	}
	return err
}

// progressTo reports the progress of a long copy.
func progressTo(out io.Writer) datamigration.Progress {
	return func(table string, rows int64) {
		if rows > 0 {
			fmt.Fprintf(out, "%s: %d rows\n", table, rows)
		}
	}
}

// printCopied prints what was copied, and what to do next: the directory stays as it is, and a server could start on it again.
func printCopied(cmd *cobra.Command, copied datamigration.Result, format string, c *settings.Config) error {
	for _, table := range copied.LeftOut {
		fmt.Fprintf(cmd.ErrOrStderr(), "warning: the table %q is not regwarden's, and was not copied.\n", table)
	}
	rows := make([][]any, len(copied.Tables))
	for i, t := range copied.Tables {
		rows[i] = []any{t.Table, t.Rows, t.Digest}
		if format == "text" {
			rows[i][2] = t.Digest[:16]
		}
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "Copied the store in %s. Start servers with the new --database-url, and with the same master key: "+
		"%s.\nwarning: %[1]s can still be written to. Move it away, so that no server or command changes "+
		"it by mistake.\n", c.DataDir, masterKeySource(c, os.Getenv))
	return output.PrintTable(cmd, format, []string{"table", "rows", "digest"}, rows)
}

// masterKeySource returns the setting that the master key comes from. The text of a command is not repeated: it may have a secret.
func masterKeySource(c *settings.Config, getenv func(string) string) string {
	switch {
	case c.MasterKeyCommand != "":
		return "that of --master-key-command"
	case getenv(settings.EnvMasterKey) != "":
		return "that of " + settings.EnvMasterKey
	default:
		return "--master-key-file " + command.ShellQuote(c.MasterKeyFile)
	}
}
