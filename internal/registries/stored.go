package registries

import (
	"context"
	"errors"
	"fmt"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/seal"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/regcheck"
)

// CodeSecretUnreadable says that a record's secrets do not open, so that nothing can be done that needs them.
const CodeSecretUnreadable = "RegistrySecretUnreadable"

// record is a kept definition ready to be used: its secrets are in it.
type record struct {
	UID, OrgUID, Name string
	Version           int64 // what is learned of the definition belongs to this version
	SyncSupported     bool
	SpectroManifest   bool
	Definition        regcheck.Definition
}

// stored reads a record for use by the service itself; what a principal may is for the caller to ask.
//
// Faults: NotFound; Conflict with CodeSecretUnreadable, and then the record comes without its secrets.
func (s *Service) stored(ctx context.Context, orgUID, uid string) (record, error) {
	var r store.Registry
	err := s.db.View(ctx, func(tx *store.Tx) (err error) {
		r, err = tx.Registries.Get(ctx, orgUID, uid)
		return err
	})
	usable := record{UID: r.UID, OrgUID: r.OrgUID, Name: r.Name, Version: r.Version, SyncSupported: r.SyncSupported, SpectroManifest: r.SpectroManifest, Definition: definitionOf(r)}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return record{}, noSuchRegistry()
	case errors.Is(err, seal.ErrDamaged):
		return usable, unreadable(err)
	case err != nil:
		return record{}, fmt.Errorf("read a registry: %w", err)
	}
	return usable, nil
}

// definitionOf is a kept record as the engine takes it, with such secrets as were read.
func definitionOf(r store.Registry) regcheck.Definition {
	return regcheck.Definition{
		Endpoint: r.Endpoint, BasePath: r.BasePath, BaseContentPath: r.BaseContentPath,
		ProviderType: regcheck.ProviderType(r.ProviderType),
		Auth: &regcheck.Auth{
			Type: regcheck.AuthType(r.AuthType), Username: r.Username, Password: r.Secrets.Password, Token: r.Secrets.Token,
			TLS: regcheck.TLS{CA: r.CA, Certificate: r.Certificate, Enabled: r.TLSEnabled, InsecureSkipVerify: r.TLSSkipVerify, Key: r.Secrets.Key},
		},
	}
}

func noSuchRegistry() error {
	return &fault.Error{Kind: fault.NotFound, Code: fault.CodeResourceNotFound, Message: "There is no such registry."}
}

func unreadable(cause error) error {
	return &fault.Error{Kind: fault.Conflict, Code: CodeSecretUnreadable, Cause: cause,
		Message: "The stored secrets of this registry cannot be read. Send the registry again with its secrets."}
}
