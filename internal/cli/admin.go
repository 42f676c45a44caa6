package cli

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/cli/serve"
	"github.com/regwarden/regwarden/internal/cli/settings"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// operator is the principal of commands that access the store directly, also while a server runs. Users who may read the data directory
// are trusted.
var operator = auth.Operator()

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
	before ...func(*settings.Config) error) *cobra.Command {
	s := settings.New()
	cmd := &cobra.Command{Use: use, Short: short, Args: args}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := s.Load(os.Getenv); err != nil {
			return err
		}
		for _, check := range before {
			if err := check(&s.Config); err != nil {
				return err
			}
		}
		db, err := s.OpenExisting(cmd.Context())
		if err != nil {
			return err
		}
		defer db.Close()
		authService, err := serve.NewAuth(cmd.Context(), db, &s.Config, nil, nil, nil, nil)
		if err != nil {
			return err
		}
		return do(&admin{cmd, cmd.Context(), db, authService, s.MasterKeyCommand, s.DataDir}, args)
	}
	s.AddTo(cmd.PersistentFlags(), settings.StoreFlags...)
	return cmd
}

// where names the store in messages.
func (a *admin) where() string {
	if a.db.Shared() {
		return "PostgreSQL"
	}
	return a.dir
}
