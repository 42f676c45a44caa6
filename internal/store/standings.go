package store

import (
	"context"
	"time"
)

// RegistryStanding is a kept registry in a list, with what is known of it.
type RegistryStanding struct {
	UID, Name, Endpoint, ProviderType string
	Since                             time.Time // of the state; zero while no check has counted
	Valid                             bool
	Code                              string
	LastAt                            time.Time // the newest check
	Sync                              SyncStatus
}

const sqlRegistryStandings = `SELECT r.uid, r.name, r.endpoint, r.provider_type, w.since, COALESCE(w.valid, 0), COALESCE(w.code, ''), w.last_at, COALESCE(s.status, '')
	FROM registries r LEFT JOIN registry_watch w ON w.registry_uid = r.uid LEFT JOIN registry_sync s ON s.registry_uid = r.uid
	WHERE r.org_uid = $1 ORDER BY r.canonical`

// Standings lists an organization's registries by name.
func (tx Registries) Standings(ctx context.Context, orgUID string) ([]RegistryStanding, error) {
	return all(ctx, tx.conn, func(row scanner, s *RegistryStanding) error {
		return row.Scan(&s.UID, &s.Name, &s.Endpoint, &s.ProviderType, moment{&s.Since}, truth{&s.Valid}, &s.Code, moment{&s.LastAt}, &s.Sync)
	}, sqlRegistryStandings, orgUID)
}
