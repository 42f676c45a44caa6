package store

import (
	"context"
	"math"
	"math/rand/v2"
	"time"
)

// Watched is a registry whose turn it is to be checked, with what was learned before. The zero Since says that
// no check has counted yet.
type Watched struct {
	RegistryUID, OrgUID string
	Unreachable         int64 // checks in a row that ended retryable
	State               WatchState
	Run                 int64 // the newest run of verdicts, 0 for none
	Behaviour           string
	NextAt              time.Time
}

// WatchState is the newest verdict that counts.
type WatchState struct {
	Since time.Time
	Verdict
}

// Verdict is what a check came to, as far as two checks are compared by it.
type Verdict struct {
	Valid                      bool
	Code, Stage, Reason, Field string
	ExpiresSoon                bool // the server's certificate
}

const sqlScheduleWatch = `INSERT INTO registry_watch (registry_uid, org_uid, next_at, phase) VALUES ($1, $2, $3, $4)
	ON CONFLICT (registry_uid) DO UPDATE SET next_at = excluded.next_at, lease_owner = NULL, unreachable = 0, behaviour = ''`

// ScheduleWatch has a registry checked from that moment on. It belongs in the transaction that makes or replaces
// the record: a check of the older one that is under way loses its lease, and with it the right to be heard.
func (tx *Tx) ScheduleWatch(ctx context.Context, orgUID, registryUID string, at time.Time) error {
	return tx.changeOne(ctx, sqlScheduleWatch, registryUID, orgUID, millis(at), rand.Int64N(math.MaxInt32))
}
