package settings

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// Environment variables that are not settings.
const (
	EnvMasterKey     = command.EnvPrefix + "MASTER_KEY"      // the master key itself, if it cannot be in a file
	EnvNextMasterKey = command.EnvPrefix + "NEXT_MASTER_KEY" // the new one, if the current one comes from the environment

	EnvBootstrapOrg          = command.EnvPrefix + "BOOTSTRAP_ORG" // of the first start
	EnvBootstrapEmail        = command.EnvPrefix + "BOOTSTRAP_EMAIL"
	EnvBootstrapPasswordFile = command.EnvPrefix + "BOOTSTRAP_PASSWORD_FILE"
)

// StoreOptions returns what opens the store of the settings. It reads the master key, unless that is in a file.
func (c *Config) StoreOptions(ctx context.Context) (options store.Options, err error) {
	options = store.Options{DatabaseURL: c.DatabaseURL, DataDir: c.DataDir, MasterKeyFile: c.MasterKeyFile, AllowNewer: c.AllowNewer}
	if c.MasterKeyCommand != "" {
		options.MasterKey, err = KeyByCommand(ctx, "master-key-command", c.MasterKeyCommand)
		return options, err
	}
	if text := os.Getenv(EnvMasterKey); text != "" {
		key, err := seal.ParseMasterKey(secret.String(text))
		if err != nil {
			return options, fmt.Errorf("%s: %w", EnvMasterKey, err)
		}
		options.MasterKey = key
	}
	return options, nil
}

// OpenStore opens the store of the settings, and creates it where there is none. Its errors say what to do.
func (c *Config) OpenStore(ctx context.Context) (*store.DB, error) {
	options, err := c.StoreOptions(ctx)
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, options)
	return db, noMasterKey(err)
}

// OpenExisting opens the store of the settings if there is one: a mistyped --data-dir must not become a new, empty store.
func (c *Config) OpenExisting(ctx context.Context) (*store.DB, error) {
	options, err := c.StoreOptions(ctx)
	if err != nil {
		return nil, err
	}
	options.Existing = true
	db, err := store.Open(ctx, options)
	return db, noMasterKey(NoStore(err, c))
}

// noMasterKey adds the next step where the master key is missing.
func noMasterKey(err error) error {
	if !errors.Is(err, store.ErrNoMasterKey) {
		return err
	}
	return command.AsUsage(fmt.Errorf("%w; name its file with --master-key-file, give the key in %s, or a command that prints it with "+
		"--master-key-command", err, EnvMasterKey))
}

// NoStore adds the next step where there is no store (sqldb.ErrEmpty).
func NoStore(err error, c *Config) error {
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
