package store

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/storage/rows"
)

// Origin is the object of a cluster that a registry is read from, cluster/namespace/kind/name. Entry distinguishes the definitions of
// one object.
type Origin struct{ Object, Entry string }

// OriginRegistry is a registry of a cluster. Identity is the stored hash of its definition, as Origins.Identity returns it.
type OriginRegistry struct {
	Origin
	UID      string
	Identity string
}

// Announcement is a health status that no Event of the object says yet, or not for a while.
type Announcement struct {
	Origin
	RegistryUID, Name string
	Health            Health
	WasFailing        bool   // what the last Event says
	Report            []byte // of the health status; nil if it has none
}

const (
	sqlSetOrigin = `INSERT INTO registry_origins (registry_uid, org_uid, origin, entry) VALUES ($1, $2, $3, $4)`
	inCluster    = ` o.org_uid = $1 AND o.origin >= $2 AND o.origin < $3`
	sqlReadFrom  = `SELECT o.origin FROM registry_origins o JOIN cluster_leases l ON l.org_uid = o.org_uid AND l.lease_until > $3
		AND l.cluster || '/' = SUBSTR(o.origin, 1, LENGTH(l.cluster) + 1) WHERE o.registry_uid = $2 AND o.org_uid = $1`
	sqlOriginsOf = `SELECT o.origin, o.entry, o.registry_uid, r.identity_secrets FROM registry_origins o
		JOIN registries r ON r.org_uid = o.org_uid AND r.uid = o.registry_uid WHERE` + inCluster + ` ORDER BY o.origin, o.entry`
	sqlUnannounced = `SELECT o.origin, o.entry, o.registry_uid, r.name, 1 - o.announced_valid, w.since, w.valid, w.code, w.stage, w.reason,
		w.field, w.message, w.hint, v.report FROM registry_origins o
		JOIN registries r ON r.org_uid = o.org_uid AND r.uid = o.registry_uid
		JOIN registry_watch w ON w.registry_uid = o.registry_uid
		LEFT JOIN registry_verdicts v ON v.registry_uid = w.registry_uid AND v.run = w.run AND v.valid = w.valid AND v.code = w.code
		WHERE` + inCluster + ` AND (o.origin > $2 OR o.entry > $6) AND w.since IS NOT NULL
		AND (o.announced_since IS NULL OR o.announced_since <> w.since OR w.valid = 0 AND o.announced_at < $4)
		ORDER BY o.origin, o.entry LIMIT $5`
	sqlAnnounced = `UPDATE registry_origins SET announced_since = $3, announced_valid = $4, announced_at = $5
		WHERE org_uid = $1 AND registry_uid = $2`
	sqlHoldCluster = `INSERT INTO cluster_leases (org_uid, cluster, owner, lease_until) VALUES ($1, $2, $3, $4)
		ON CONFLICT (org_uid, cluster) DO UPDATE SET owner = excluded.owner, lease_until = excluded.lease_until
		WHERE cluster_leases.owner = excluded.owner OR cluster_leases.lease_until <= $5`
	sqlLeaveCluster = `DELETE FROM cluster_leases WHERE org_uid = $1 AND cluster = $2 AND owner = $3`
)

// Origins reads and changes which registries are read from clusters, and what Events say of their health.
type Origins struct{ *conn }

// Set makes a new registry one of an object. ErrExists: the object has another one with that entry.
func (tx Origins) Set(ctx context.Context, orgUID, registryUID string, o Origin) error {
	return tx.db.ChangeOne(ctx, sqlSetOrigin, registryUID, orgUID, o.Object, o.Entry)
}

// ReadFrom returns the object of a registry whose cluster a server reads at that moment, "" for another registry.
func (tx Origins) ReadFrom(ctx context.Context, orgUID, registryUID string, now time.Time) (string, error) {
	return rows.OneOrZero(ctx, tx.db, rows.ScanText, sqlReadFrom, orgUID, registryUID, rows.Millis(now))
}

// List lists the registries of a cluster by origin.
func (tx Origins) List(ctx context.Context, orgUID, cluster string) ([]OriginRegistry, error) {
	return rows.All(ctx, tx.db, func(row rows.Scanner, r *OriginRegistry) error {
		var identity []byte
		err := row.Scan(&r.Object, &r.Entry, &r.UID, &identity)
		r.Identity = string(identity)
		return err
	}, sqlOriginsOf, orgUID, cluster+"/", cluster+"0") // 0 follows / in ASCII
}

// Identity returns the hash of a definition as List has it.
func (tx Origins) Identity(orgUID string, id RegistryIdentity) string {
	hash, _ := Registries(tx).identityHash(orgUID, id.Full.Reveal()).([]byte)
	return string(hash)
}

// Unannounced lists up to n registries of a cluster, after one of them, whose health no Event says: it changed since the last one, or
// that of a registry which fails was written before repeat.
func (tx Origins) Unannounced(ctx context.Context, orgUID, cluster string, after Origin, repeat time.Time, n int) ([]Announcement, error) {
	return rows.All(ctx, tx.db, func(row rows.Scanner, a *Announcement) error {
		v := &a.Health.State
		return row.Scan(&a.Object, &a.Entry, &a.RegistryUID, &a.Name, rows.Truth(&a.WasFailing), rows.Moment(&a.Health.Since),
			rows.Truth(&v.Valid), &v.Code, &v.Stage, &v.Reason, &v.Field, &v.Message, &v.Hint, &a.Report)
	}, sqlUnannounced, orgUID, max(cluster+"/", after.Object), cluster+"0", rows.Millis(repeat), n, after.Entry)
}

// Announced stores that an Event says a health status.
func (tx Origins) Announced(ctx context.Context, orgUID string, a Announcement, at time.Time) error {
	return tx.db.ChangeAny(ctx, sqlAnnounced, orgUID, a.RegistryUID, rows.Millis(a.Health.Since), rows.Flag(a.Health.State.Valid),
		rows.Millis(at))
}

// Hold takes or renews the lease of a cluster, and reports whether owner has it until then.
func (tx Origins) Hold(ctx context.Context, orgUID, cluster, owner string, now, until time.Time) (bool, error) {
	return tx.db.Changed(ctx, sqlHoldCluster, orgUID, cluster, owner, rows.Millis(until), rows.Millis(now))
}

// Leave ends the lease of an owner, so that another server need not wait for its end.
func (tx Origins) Leave(ctx context.Context, orgUID, cluster, owner string) error {
	return tx.db.ChangeAny(ctx, sqlLeaveCluster, orgUID, cluster, owner)
}
