package store

import (
	"context"
	"time"
)

// CheckRequest is the state of a check that somebody asked for.
type CheckRequest struct {
	Answered   int64     // number of requests that a check began after
	LeaseOwner string    // who checks the registry now, or did until NextAt
	NextAt     time.Time // when the registry is due, or until when a check may last
	State      Verdict   // the newest one that counts
	Answer     []byte    // JSON report of the check that answered; nil when the definition could not be tried
}

const (
	// A check that runs began before the request, so it does not answer it: sqlEndWatch makes the registry due again.
	sqlRequestCheck = `UPDATE registry_watch SET asked = asked + 1, next_at = CASE WHEN lease_owner IS NULL AND next_at > CAST($3 AS BIGINT) THEN CAST($3 AS BIGINT) ELSE next_at END
		WHERE org_uid = $1 AND registry_uid = $2 RETURNING asked`
	sqlCheckRequest = `SELECT answered, lease_owner, next_at, code, field, answer FROM registry_watch WHERE org_uid = $1 AND registry_uid = $2`
)

// RequestCheck makes a registry due at that moment, or earlier if it is, and returns the number of the request. A check that
// runs goes on.
func (tx Watch) RequestCheck(ctx context.Context, orgUID, registryUID string, at time.Time) (int64, error) {
	return one(ctx, tx.conn, scanCount, sqlRequestCheck, orgUID, registryUID, millis(at))
}

// CheckRequest returns the state of a registry's newest request. It is answered when Answered has reached its number.
func (tx Watch) CheckRequest(ctx context.Context, orgUID, registryUID string) (CheckRequest, error) {
	return one(ctx, tx.conn, func(row scanner, c *CheckRequest) error {
		return row.Scan(&c.Answered, text{&c.LeaseOwner}, moment{&c.NextAt}, &c.State.Code, &c.State.Field, &c.Answer)
	}, sqlCheckRequest, orgUID, registryUID)
}
