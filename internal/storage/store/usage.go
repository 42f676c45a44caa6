package store

import (
	"context"

	"github.com/regwarden/regwarden/internal/storage/rows"
)

// Usage is how many registries an organization stores, and how many bytes they take, as Registry.size estimates them.
type Usage struct{ Registries, Bytes int64 }

const (
	sqlCountUsage = `INSERT INTO org_usage (org_uid, registries, bytes) VALUES ($1, $2, $3)
		ON CONFLICT (org_uid) DO UPDATE SET registries = org_usage.registries + excluded.registries,
		bytes = org_usage.bytes + excluded.bytes`
	sqlUsage         = `SELECT registries, bytes FROM org_usage WHERE org_uid = $1`
	sqlRegistryBytes = `SELECT bytes FROM registries WHERE org_uid = $1 AND uid = $2 AND version = $3`
	sqlLockUsage     = `UPDATE org_usage SET bytes = bytes WHERE org_uid = $1`
	sqlRecountUsage  = `UPDATE org_usage SET registries = (SELECT COUNT(*) FROM registries r WHERE r.org_uid = $1 AND r.bytes > 0),
		bytes = (SELECT CAST(COALESCE(SUM(r.bytes), 0) AS BIGINT) FROM registries r WHERE r.org_uid = $1) WHERE org_uid = $1`
)

// rowBytes is what a registry takes in addition to its texts: numbers, indexes, and rows of its state.
const rowBytes = 1024

// size estimates the bytes that a registry takes in the database.
func (r Registry) size() int64 {
	size := rowBytes
	for _, text := range []string{r.Name, r.Canonical, r.Endpoint, r.Scope, r.BasePath, r.BaseContentPath, r.Username, r.CA, r.Certificate,
		r.Secrets.Password.Reveal(), r.Secrets.Token.Reveal(), r.Secrets.Key.Reveal()} {
		size += len(text)
	}
	for _, reference := range r.References {
		size += len(reference)
	}
	for _, pairs := range []map[string]string{r.Annotations, r.Labels, r.AuthSettings} {
		for name, value := range pairs {
			size += len(name) + len(value)
		}
	}
	return int64(size)
}

// Usage returns what an organization stores. After a change of its registries, it is exact until the transaction ends, since
// every such change locks the row.
func (tx Registries) Usage(ctx context.Context, orgUID string) (Usage, error) {
	return rows.OneOrZero(ctx, tx.db, func(row rows.Scanner, u *Usage) error { return row.Scan(&u.Registries, &u.Bytes) }, sqlUsage, orgUID)
}

// RecountUsage corrects the counts: servers of an older version do not count.
func (tx Registries) RecountUsage(ctx context.Context, orgUID string) error {
	if _, err := tx.db.Change(ctx, sqlLockUsage, orgUID); err != nil { // or a concurrent change would be counted twice
		return err
	}
	return tx.db.ChangeAny(ctx, sqlRecountUsage, orgUID)
}

// countUsage counts a registry whose size was before, and is now; 0 means that it does not count.
func (tx Registries) countUsage(ctx context.Context, orgUID string, before, now int64) error {
	return tx.db.ChangeOne(ctx, sqlCountUsage, orgUID, rows.Flag(now > 0)-rows.Flag(before > 0), now-before)
}
