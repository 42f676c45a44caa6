package auth

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/seal"
	"github.com/regwarden/regwarden/internal/store"
)

// RotateKeys puts a new signing key and a new MAC key into use. The old ones make nothing new, and are
// accepted until the last token that they made has ended. Running servers take the new ones up within a
// second.
//
// Faults: Forbidden for everyone but an operator: the keys serve all organizations.
func (s *Service) RotateKeys(ctx context.Context, p Principal, origin audit.Origin) error {
	if err := p.May(RotateServiceKeys); err != nil {
		return err
	}
	err := s.db.InTx(ctx, func(tx *store.Tx) error {
		now := s.now()
		if err := s.retireKeys(ctx, tx, now); err != nil {
			return err
		}
		if err := makeKeys(ctx, tx, now); err != nil {
			return err
		}
		if err := tx.Changes.Note(ctx, store.ChangedKeys); err != nil {
			return err
		}
		return tx.Audits.Append(ctx, s.succeeded(p, origin, audit.KeysRotate, "", now))
	})
	if err == nil {
		err = s.reloadKeys(ctx)
	}
	return fault.Wrap("rotate the keys", err)
}

// retireKeys retires the keys in use. An authorization token lives 15 minutes at most, and may be exchanged
// for a grace after; a refresh token lives as long as its session. Both are given what a running server may
// sign until it hears of the rotation, and what the clocks of two machines may differ.
func (s *Service) retireKeys(ctx context.Context, tx *store.Tx, now time.Time) error {
	const slack = clockLeeway + time.Minute
	if err := tx.Keys.Retire(ctx, store.KeySign, now, now.Add(2*maxTokenLifetime+slack)); err != nil {
		return err
	}
	last, err := tx.Sessions.LastEnd(ctx)
	if err != nil {
		return err
	}
	if longest := now.Add(s.config.SessionMax); last.Before(longest) {
		last = longest
	}
	return tx.Keys.Retire(ctx, store.KeyMAC, now, last.Add(slack))
}

// RotateMaster re-wraps the keyring of the store with a new master key. With next zero a key is drawn and
// written to the key file, in an order in which the store can be opened after a kill at any moment. With next
// given the store's key came from the environment, and the operator has to set next there from now on. former is the
// file that the old key is kept in, for backups made under it; empty when next was given.
//
// Faults: Forbidden for everyone but an operator.
func (s *Service) RotateMaster(ctx context.Context, p Principal, origin audit.Origin, next seal.MasterKey) (former string, err error) {
	if err := p.May(RotateServiceKeys); err != nil {
		return "", err
	}
	former, err = s.db.RotateMaster(ctx, next, func(tx *store.Tx) error {
		return tx.Audits.Append(ctx, s.succeeded(p, origin, audit.MasterRotate, "", s.now()))
	})
	return former, fault.Wrap("rotate the master key", err)
}
