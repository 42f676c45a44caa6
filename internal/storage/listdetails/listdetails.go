// Package listdetails reads what pages show of the registries of a list in addition to the list itself.
package listdetails

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"time"

	"github.com/regwarden/regwarden/internal/storage/jsontext"
	"github.com/regwarden/regwarden/internal/storage/rows"
)

// Details are those of one registry.
type Details struct {
	ProjectUID, Project string // empty if it is in none
	AuthType            string
	Labels              map[string]string
	Repositories, Tags  int64 // of the newest synchronization
	SyncedAt            time.Time
}

// Change is the begin of a period of equal results.
type Change struct {
	At     time.Time
	Valid  bool
	Reason string
}

// Certificate is one that the newest check of a registry saw, or an earlier check if that one ended before TLS.
type Certificate struct {
	Role        string    `json:"role"`
	Subject     string    `json:"subject"`
	Fingerprint string    `json:"fingerprint"`
	NotAfter    time.Time `json:"notAfter"`
}

// Certificates are a column: NULL for none.
type Certificates []Certificate

// Value implements driver.Valuer.
func (all Certificates) Value() (driver.Value, error) {
	if len(all) == 0 {
		return nil, nil
	}
	text, err := json.Marshal([]Certificate(all))
	return string(text), err
}

const (
	// CROSS JOIN makes SQLite begin with the chosen ones.
	sqliteChosen   = ` FROM json_each($2) c CROSS JOIN `
	postgresChosen = ` FROM jsonb_array_elements_text(CAST($2 AS JSONB)) AS c (value) CROSS JOIN `

	selectDetails = `SELECT r.uid, r.project_uid, p.name, r.auth_type, d.labels, COALESCE(s.repositories, 0), COALESCE(s.tags, 0),
		s.last_synced_at`
	ofDetails = `registries r JOIN registry_details d ON d.org_uid = r.org_uid AND d.registry_uid = r.uid
		LEFT JOIN registry_sync s ON s.registry_uid = r.uid LEFT JOIN projects p ON p.org_uid = r.org_uid AND p.uid = r.project_uid
		WHERE r.org_uid = $1 AND r.uid = c.value`
	selectChanges      = `SELECT v.registry_uid, v.since, v.valid, v.reason`
	ofChanges          = `registry_verdicts v WHERE v.registry_uid = c.value AND v.org_uid = $1 AND v.counted = 1 ORDER BY v.run DESC`
	selectCertificates = `SELECT w.registry_uid, w.certificates`
	ofCertificates     = `registry_watch w WHERE w.registry_uid = c.value AND w.org_uid = $1`

	sqliteDetails   = selectDetails + sqliteChosen + ofDetails
	postgresDetails = selectDetails + postgresChosen + ofDetails
	sqliteChanges   = selectChanges + sqliteChosen + ofChanges
	postgresChanges = selectChanges + postgresChosen + ofChanges

	sqliteCertificates   = selectCertificates + sqliteChosen + ofCertificates
	postgresCertificates = selectCertificates + postgresChosen + ofCertificates
)

// Lists reads details of registries.
type Lists struct{ db *rows.Conn }

// In returns the details in one transaction.
func In(db *rows.Conn) Lists { return Lists{db} }

// Of returns the details of registries of an organization, by uid.
func (tx Lists) Of(ctx context.Context, orgUID string, uids []string) (map[string]Details, error) {
	found := make(map[string]Details, len(uids))
	return found, tx.db.Each(ctx, func(row rows.Scanner) error {
		var uid string
		var d Details
		err := row.Scan(&uid, rows.Text(&d.ProjectUID), rows.Text(&d.Project), &d.AuthType, jsontext.To(&d.Labels), &d.Repositories,
			&d.Tags, rows.Moment(&d.SyncedAt))
		found[uid] = d
		return err
	}, tx.db.Either(sqliteDetails, postgresDetails), orgUID, jsonOf(uids))
}

// Changes returns the changes of the results of registries of an organization, by uid, the newest first.
func (tx Lists) Changes(ctx context.Context, orgUID string, uids []string) (map[string][]Change, error) {
	found := make(map[string][]Change, len(uids))
	return found, tx.db.Each(ctx, func(row rows.Scanner) error {
		var uid string
		var c Change
		err := row.Scan(&uid, rows.Moment(&c.At), rows.Truth(&c.Valid), &c.Reason)
		found[uid] = append(found[uid], c)
		return err
	}, tx.db.Either(sqliteChanges, postgresChanges), orgUID, jsonOf(uids))
}

// Certificates returns the certificates of registries of an organization, by uid.
func (tx Lists) Certificates(ctx context.Context, orgUID string, uids []string) (map[string]Certificates, error) {
	found := make(map[string]Certificates, len(uids))
	return found, tx.db.Each(ctx, func(row rows.Scanner) error {
		var uid string
		var all Certificates
		err := row.Scan(&uid, jsontext.To(&all))
		found[uid] = all
		return err
	}, tx.db.Either(sqliteCertificates, postgresCertificates), orgUID, jsonOf(uids))
}

// jsonOf encodes uids, which cannot fail.
func jsonOf(uids []string) string {
	text, _ := json.Marshal(append([]string{}, uids...)) // never null, from which PostgreSQL reads no elements
	return string(text)
}
