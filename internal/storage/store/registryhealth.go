package store

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/storage/rows"
)

// RegistryHealth is the health of a registry with its names.
type RegistryHealth struct {
	UID, OrgUID        string
	Org, Project, Name string // Project is empty if it is in none
	Kind               string // oci, ecr or helm
	Health             Health // without what is not in a metric
	Stages             []StageTime
}

// StageTime is how long a stage of the newest check took. Stages that were skipped have none.
type StageTime struct {
	Stage string
	Took  time.Duration
}

const (
	selectHealth = `SELECT r.uid, r.org_uid, o.name, COALESCE(p.name, ''), r.name, CASE WHEN r.kind = '' THEN 'oci' ELSE r.kind END,
		w.since, w.valid, w.code, w.reason, w.stage, w.last_at, w.certificate_not_after, w.credentials_not_after, w.stage_times
		FROM orgs o JOIN registries r ON r.org_uid = o.uid JOIN registry_watch w ON w.registry_uid = r.uid
		LEFT JOIN projects p ON p.org_uid = r.org_uid AND p.uid = r.project_uid`
	sqlHealthOfAll  = selectHealth + ` LIMIT $1`
	sqlHealthByName = selectHealth + ` WHERE r.org_uid IN (SELECT uid FROM orgs) AND r.canonical = $1 LIMIT $2`
	sqlHastenWatch  = `UPDATE registry_watch SET next_at = $3 WHERE org_uid = $1 AND registry_uid = $2 AND lease_owner IS NULL
		AND next_at > $3`
	stageTimesBetween = " "
)

// HealthOfAll returns the health of the registries of all organizations, of at most that many.
func (tx Watch) HealthOfAll(ctx context.Context, atMost int) ([]RegistryHealth, error) {
	return rows.All(ctx, tx.db, scanRegistryHealth, sqlHealthOfAll, atMost)
}

// HealthByName returns the health of the registries that have a canonical name in any organization, of at most that many.
func (tx Watch) HealthByName(ctx context.Context, canonical string, atMost int) ([]RegistryHealth, error) {
	return rows.All(ctx, tx.db, scanRegistryHealth, sqlHealthByName, canonical, atMost)
}

// Hasten makes a registry due at that moment, unless it is due earlier or is being checked.
func (tx Watch) Hasten(ctx context.Context, orgUID, registryUID string, at time.Time) error {
	return tx.db.ChangeAny(ctx, sqlHastenWatch, orgUID, registryUID, rows.Millis(at))
}

func scanRegistryHealth(row rows.Scanner, r *RegistryHealth) error {
	h, times := &r.Health, ""
	err := row.Scan(&r.UID, &r.OrgUID, &r.Org, &r.Project, &r.Name, &r.Kind, rows.Moment(&h.Since), rows.Truth(&h.State.Valid),
		&h.State.Code, &h.State.Reason, &h.State.Stage, rows.Moment(&h.LastAt), rows.Moment(&h.State.CertificateNotAfter),
		rows.Moment(&h.State.CredentialsNotAfter), &times)
	r.Stages = splitStageTimes(times)
	return err
}

// joinStageTimes writes times in microseconds.
func joinStageTimes(times []StageTime) string {
	texts := make([]string, 0, len(times))
	for _, t := range times {
		texts = append(texts, t.Stage+"="+strconv.FormatInt(t.Took.Microseconds(), 10))
	}
	return strings.Join(texts, stageTimesBetween)
}

func splitStageTimes(text string) (times []StageTime) {
	for part := range strings.SplitSeq(text, stageTimesBetween) {
		stage, number, found := strings.Cut(part, "=")
		if micros, err := strconv.ParseInt(number, 10, 64); found && err == nil {
			times = append(times, StageTime{stage, time.Duration(micros) * time.Microsecond})
		}
	}
	return times
}
