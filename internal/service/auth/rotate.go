package auth

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// Rotate puts a new signing key and a new MAC key into use. The old keys issue nothing new, and verify until their
// last token has expired. Running servers load the new keys within a second.
//
// Faults: Forbidden except for an operator: the keys serve all organizations.
func (k *Keys) Rotate(ctx context.Context, p Principal, origin audit.Origin) error {
	if err := p.May(access.RotateServiceKeys); err != nil {
		return err
	}
	err := k.db.InTx(ctx, func(tx *store.Tx) error {
		now := k.now()
		if err := k.retireKeys(ctx, tx, now); err != nil {
			return err
		}
		if err := generateKeys(ctx, tx, now); err != nil {
			return err
		}
		if err := tx.Changes.Note(ctx, store.ChangedKeys); err != nil {
			return err
		}
		return tx.Audits.Append(ctx, p.Succeeded(origin, audit.KeysRotate, "", now))
	})
	if err == nil {
		err = k.reload(ctx)
	}
	return fault.Wrap("rotate the keys", err)
}

// retireKeys retires the keys in use. An authorization token is valid for at most 15 minutes, and may be exchanged for
// the grace period after; a refresh token is valid as long as its session. slack covers tokens that a running server
// signs before it polls the rotation, and the clock difference of two machines.
func (k *Keys) retireKeys(ctx context.Context, tx *store.Tx, now time.Time) error {
	const slack = clockLeeway + time.Minute
	if err := tx.Keys.Retire(ctx, store.KeySign, now, now.Add(2*maxTokenLifetime+slack)); err != nil {
		return err
	}
	last, err := tx.Sessions.LastEnd(ctx)
	if err != nil {
		return err
	}
	if longest := now.Add(k.sessionMax); last.Before(longest) {
		last = longest
	}
	return tx.Keys.Retire(ctx, store.KeyMAC, now, last.Add(slack))
}

// RotateMaster wraps the keyset of the store with a new master key. If next is zero, a key is generated and written to
// the key file, in an order in which the store can be opened after a crash at any moment. If next is given, the key of
// the store came from the environment, and the operator has to set next there. former is the file with the old key, for
// backups made with it; empty if next was given.
//
// Faults: Forbidden except for an operator.
func (k *Keys) RotateMaster(ctx context.Context, p Principal, origin audit.Origin, next seal.MasterKey) (former string, err error) {
	if err := p.May(access.RotateServiceKeys); err != nil {
		return "", err
	}
	former, err = k.db.RotateMaster(ctx, next, func(tx *store.Tx) error {
		return tx.Audits.Append(ctx, p.Succeeded(origin, audit.MasterRotate, "", k.now()))
	})
	return former, fault.Wrap("rotate the master key", err)
}
