package registries

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// identityOf returns what identifies a definition: registry, path, credentials and trust. The texts are stored as hashes, so a definition
// must have the same ones in later versions; a field that is added to definitions is appended if it is set.
func identityOf(d regcheck.Definition) store.RegistryIdentity {
	a, tls := d.Auth, d.Auth.TLS
	if !tls.Enabled {
		tls = regcheck.TLS{}
	}
	open := []any{d.Registry(), strings.Trim(d.BaseContentPath, "/"), cmp.Or(d.ProviderType, regcheck.Helm), a.Kind(), a.Username,
		tls.Enabled, tls.InsecureSkipVerify, tls.CA, tls.Certificate}
	if len(d.References) > 0 {
		open = append(open, d.References)
	}
	if d.Kind == regcheck.KindChartRepository {
		open = append(open, d.Kind)
	}
	settings, encrypted := settingsOf(a)
	if len(settings) > 0 {
		open = append(open, settings) // json.Marshal sorts its names
	}
	full := slices.Concat(open, []any{valueOf(encrypted.first).Reveal(), valueOf(encrypted.second).Reveal(), tls.Key.Reveal()})
	return store.RegistryIdentity{Open: textOf(open), Full: secret.String(textOf(full))}
}

func textOf(parts []any) string {
	text, err := json.Marshal(parts)
	if err != nil {
		panic(err) // texts and truth values can always be encoded
	}
	return string(text)
}

// identityBatch is how many registries get their identity in a transaction.
const identityBatch = 100

// addIdentities stores the identities of registries that an earlier version stored without. It decrypts the secrets of each once.
func (s *Service) addIdentities(ctx context.Context, orgUID string) error {
	last := ""
	for {
		uids, err := store.Read(ctx, s.db, func(tx *store.Tx) ([]string, error) {
			return tx.Registries.WithoutIdentity(ctx, orgUID, last, identityBatch)
		})
		if err != nil || len(uids) == 0 {
			return err
		}
		err = s.db.InTx(ctx, func(tx *store.Tx) error {
			for _, uid := range uids {
				if err := addIdentity(ctx, tx, orgUID, uid); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		last = uids[len(uids)-1]
	}
}

// addIdentity stores the identity of one registry. One whose secrets cannot be decrypted equals no other with secrets.
func addIdentity(ctx context.Context, tx *store.Tx, orgUID, uid string) error {
	r, err := tx.Registries.Get(ctx, orgUID, uid)
	damaged := errors.Is(err, seal.ErrDamaged)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil // deleted since it was listed
	case err != nil && !damaged:
		return err
	}
	id := identityOf(definitionOf(r))
	if damaged {
		id.Full = ""
	}
	return tx.Registries.SetIdentity(ctx, r, id)
}
