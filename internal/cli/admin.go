package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// The principal and the origin of commands that access the store directly, also while a server runs. Users who may read the data
// directory are trusted.
var (
	operator    = auth.Operator()
	commandLine = audit.Origin{Address: "cli"}
)

// admin is the context of an administration command.
type admin struct {
	cmd  *cobra.Command
	ctx  context.Context
	db   *store.DB
	auth *auth.Service

	keyCommand string // that prints the master key; empty for another source
	dir        string // data directory
}

// adminCommand returns a command that runs do on the opened store.
func adminCommand(use, short string, args cobra.PositionalArgs, do func(*admin, []string) error,
	before ...func(Config) error) *cobra.Command {
	settings := newSettings()
	cmd := &cobra.Command{Use: use, Short: short, Args: args}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := settings.load(os.Getenv); err != nil {
			return err
		}
		for _, check := range before {
			if err := check(settings.Config); err != nil {
				return err
			}
		}
		db, err := settings.openLoaded(cmd.Context())
		if err != nil {
			return err
		}
		defer db.Close()
		authService, err := newAuth(cmd.Context(), db, settings.Config, nil, nil, nil)
		if err != nil {
			return err
		}
		return do(&admin{cmd, cmd.Context(), db, authService, settings.MasterKeyCommand, settings.DataDir}, args)
	}
	settings.addTo(cmd.PersistentFlags(), storeFlags...)
	return cmd
}

// where names the store in messages.
func (a *admin) where() string {
	if a.db.Shared() {
		return "PostgreSQL"
	}
	return a.dir
}

// open reads the settings and opens an existing store.
func (s *settings) open(ctx context.Context) (*store.DB, error) {
	if err := s.load(os.Getenv); err != nil {
		return nil, err
	}
	return s.openLoaded(ctx)
}

func (s *settings) openLoaded(ctx context.Context) (*store.DB, error) {
	options, err := storeOptions(ctx, s.Config)
	if err != nil {
		return nil, err
	}
	options.Existing = true // a mistyped --data-dir must not become a new, empty store
	db, err := store.Open(ctx, options)
	return db, noMasterKey(noStore(err, s.Config))
}

// noMasterKey adds the next step where the master key is missing.
func noMasterKey(err error) error {
	if !errors.Is(err, store.ErrNoMasterKey) {
		return err
	}
	return command.AsUsage(fmt.Errorf("%w; name its file with --master-key-file, give the key in %s, or a command that prints it with "+
		"--master-key-command", err, envMasterKey))
}

// noStore adds the next step where there is no store (sqldb.ErrEmpty).
func noStore(err error, c Config) error {
	switch {
	case !errors.Is(err, sqldb.ErrEmpty):
		return err
	case c.DatabaseURL != "":
		return fmt.Errorf("%w in this database; name the server's with --database-url, or create one with: regwarden serve", err)
	default:
		return fmt.Errorf("%w in the directory %s; name the server's with --data-dir, or create one with: regwarden serve --data-dir %[2]s",
			err, c.DataDir)
	}
}
