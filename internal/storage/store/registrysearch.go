package store

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/storage/rows"
	"github.com/regwarden/regwarden/secret"
)

// RegistrySort is the order of a list of registries. Registries that are equal in it are listed by name.
type RegistrySort string

// Orders of a list of registries. Each has an opposite.
const (
	SortByName   RegistrySort = "name"
	SortByHealth RegistrySort = "health" // failing, unknown, healthy
	SortBySince  RegistrySort = "since"  // the newest change of health first; unknown last in both directions
	SortByExpiry RegistrySort = "expiry" // the first expiry of certificate or credentials first; unknown last in both directions
)

const opposite = "-" // begins the opposite of an order

// Opposite returns the same order in the other direction.
func (s RegistrySort) Opposite() RegistrySort {
	if by, is := s.split(); is {
		return by
	}
	return opposite + s
}

// split returns the order without its direction, and whether it is the opposite.
func (s RegistrySort) split() (by RegistrySort, is bool) {
	name, is := strings.CutPrefix(string(s), opposite)
	return RegistrySort(name), is
}

// RegistryFilter selects registries of an organization. Empty fields match all.
type RegistryFilter struct {
	OrgUID string
	Name   string // part of the canonical name
	Health HealthState
	Sort   RegistrySort

	ExpiresSoon bool      // certificate or credentials
	Label       [2]string // key and value; only the key matters if the value is empty

	InProjects bool     // only registries of Projects
	Projects   []string // by uid
}

// RegistryCursor is the position of a registry in a list. The zero value precedes all.
type RegistryCursor struct {
	Key  int64  // the position in the order of RegistrySort, 0 if that is the name
	Name string // ListedRegistry.SortKey
}

const (
	// The names are read in the order of an index, and the others are left out.
	nameMatches          = ` AND r.canonical LIKE $4 ESCAPE '\'`
	sqlSearchByName      = listedByName + nameMatches + byName
	lastNameFirst        = ` AND ` + nameOrder + ` < $2 ORDER BY ` + nameOrder + ` DESC LIMIT $3`
	sqlLastNamesFirst    = selectListed + fromRegistries + lastNameFirst
	sqlSearchLastFirst   = selectListed + fromRegistries + nameMatches + lastNameFirst
	sqlCountSearchByName = `SELECT COUNT(*) FROM (SELECT 1 FROM registries r WHERE r.org_uid = $1 AND r.canonical > $2` + nameMatches +
		` LIMIT $3) AS counted`
	isUndecided = `reason IN ('providerUnavailable', 'providerUnreachable')` // as HealthResult.Undecided
	healthRank  = `CASE WHEN w.since IS NULL OR w.` + isUndecided + ` THEN 1 WHEN w.valid = 1 THEN 2 ELSE 0 END`
	expiryKey   = `COALESCE(CASE WHEN w.credentials_not_after < w.certificate_not_after THEN w.credentials_not_after END,
		w.certificate_not_after, w.credentials_not_after, 9223372036854775807)`
	searchKey = `CASE CAST($12 AS TEXT) WHEN 'health' THEN ` + healthRank + ` WHEN '-health' THEN -(` + healthRank + `)
		WHEN 'since' THEN COALESCE(-w.since, 9223372036854775807) WHEN '-since' THEN COALESCE(w.since, 9223372036854775807)
		WHEN 'expiry' THEN ` + expiryKey + ` WHEN '-expiry' THEN COALESCE(-NULLIF(` + expiryKey + `, 9223372036854775807),
		9223372036854775807) ELSE 0 END`
	// CROSS JOIN makes SQLite read the rows of that health first. They are sorted for each page.
	withHealth = ` FROM registry_watch w CROSS JOIN registries r LEFT JOIN registry_sync s ON s.registry_uid = r.uid
		WHERE w.org_uid = $1 AND w.valid BETWEEN $5 AND $6 AND ` + healthRank +
		` BETWEEN $7 AND $8 AND r.org_uid = w.org_uid AND r.uid = w.registry_uid` + nameMatches +
		` AND (CAST($9 AS BIGINT) = 0 OR w.expires_soon = 1 OR w.credentials_expire_soon = 1)
		AND (CAST($10 AS TEXT) = '' OR EXISTS (
			SELECT 1 FROM registry_details d WHERE d.org_uid = r.org_uid AND d.registry_uid = r.uid
			AND REPLACE(',' || SUBSTR(d.labels, 2), $10, '') <> ',' || SUBSTR(d.labels, 2)))
		AND (CAST($11 AS TEXT) = '' OR $11 LIKE '% ' || r.project_uid || ' %')`
	sqlSearchByHealth = selectListed + withHealth + ` AND (` + searchKey + `, ` + nameOrder + `) > (CAST($13 AS BIGINT), $2) ORDER BY ` +
		searchKey + `, ` + nameOrder + ` LIMIT $3`
	sqlHealthLastFirst     = selectListed + withHealth + lastNameFirst
	sqlCountSearchByHealth = `SELECT COUNT(*) FROM (SELECT 1` + withHealth + ` AND r.canonical > $2 LIMIT $3) AS counted`

	// The condition is that of the index registry_watch_expiry, which has few rows.
	sqlExpiringRegistries = selectListed + ` FROM registry_watch w CROSS JOIN registries r
		LEFT JOIN registry_sync s ON s.registry_uid = r.uid WHERE w.org_uid = $1 AND (w.expires_soon = 1 OR w.credentials_expire_soon = 1)
		AND r.org_uid = w.org_uid AND r.uid = w.registry_uid ORDER BY ` + expiryKey + `, ` + nameOrder + ` LIMIT $2`

	// An empty type is derived from the secrets: without any, the registry is used without credentials.
	sqlOfUsername = `SELECT uid FROM registries WHERE org_uid = $1 AND username = $2
		AND (auth_type = $3 OR auth_type = '' AND (has_password = 1 OR has_token = 1)) ORDER BY canonical LIMIT $4`
	sqlRegistryName = `SELECT name FROM registries WHERE org_uid = $1 AND uid = $2`

	sqlCountHealth = `SELECT COUNT(*), COUNT(since), COUNT(CASE WHEN since IS NOT NULL AND valid = 1 THEN 1 END),
		(SELECT COUNT(*) FROM registry_watch WHERE org_uid = $1 AND valid = 0 AND since IS NOT NULL AND ` + isUndecided + `),
		(SELECT MIN(certificate_not_after) FROM registry_watch WHERE org_uid = $1 AND certificate_not_after IS NOT NULL),
		(SELECT MIN(credentials_not_after) FROM registry_watch WHERE org_uid = $1 AND credentials_not_after IS NOT NULL)
		FROM registry_watch WHERE org_uid = $1`
)

// rankOf is the position of a health status in SortByHealth, as in healthRank.
var rankOf = map[HealthState]int64{Failing: 0, Unknown: 1, Healthy: 2}

// Cursor returns the position of a registry in the list of the filter.
func (f RegistryFilter) Cursor(r ListedRegistry) RegistryCursor {
	at := RegistryCursor{Name: r.SortKey}
	switch by, is := f.Sort.split(); by {
	case SortByHealth:
		if at.Key = rankOf[r.Health.Word()]; is {
			at.Key = -at.Key
		}
	case SortBySince:
		at.Key = timeKey(r.Health.Since, !is)
	case SortByExpiry:
		at.Key = timeKey(r.Health.State.FirstExpiry(), is)
	case SortByName:
	}
	return at
}

// timeKey returns the position of a time in an order. Unknown times are last.
func timeKey(at time.Time, newestFirst bool) int64 {
	switch {
	case at.IsZero():
		return math.MaxInt64
	case newestFirst:
		return -at.UnixMilli()
	}
	return at.UnixMilli()
}

// afterNames is after all names: no name has this character.
const afterNames = "\U0010FFFF"

// Search lists at most limit registries after that position.
func (tx Registries) Search(ctx context.Context, f RegistryFilter, after RegistryCursor, limit int) ([]ListedRegistry, error) {
	if f.Sort == SortByName.Opposite() {
		return tx.searchLastFirst(ctx, f, cmp.Or(after.Name, afterNames), limit)
	}
	byName := f.byName() && (f.Sort == "" || f.Sort == SortByName)
	switch {
	case byName && f.Name == "": // PostgreSQL plans for few matches of a pattern, and would sort all
		return rows.All(ctx, tx.db, scanListed, sqlRegistriesOfOrg, f.OrgUID, after.Name, limit)
	case byName:
		return rows.All(ctx, tx.db, scanListed, sqlSearchByName, f.OrgUID, after.Name, limit, f.pattern())
	case after == (RegistryCursor{}):
		after.Key = math.MinInt64
	}
	return rows.All(ctx, tx.db, scanListed, sqlSearchByHealth, append(f.healthArgs(after.Name, limit), string(f.Sort), after.Key)...)
}

// searchLastFirst lists at most limit registries before a name, the last name first.
func (tx Registries) searchLastFirst(ctx context.Context, f RegistryFilter, before string, limit int) ([]ListedRegistry, error) {
	switch {
	case !f.byName():
		return rows.All(ctx, tx.db, scanListed, sqlHealthLastFirst, f.healthArgs(before, limit)...)
	case f.Name == "":
		return rows.All(ctx, tx.db, scanListed, sqlLastNamesFirst, f.OrgUID, before, limit)
	}
	return rows.All(ctx, tx.db, scanListed, sqlSearchLastFirst, f.OrgUID, before, limit, f.pattern())
}

// CountSearch counts the registries of Search, up to atMost.
func (tx Registries) CountSearch(ctx context.Context, f RegistryFilter, atMost int) (int64, error) {
	if f.byName() {
		return rows.One(ctx, tx.db, rows.ScanCount, sqlCountSearchByName, f.OrgUID, "", atMost, f.pattern())
	}
	return rows.One(ctx, tx.db, rows.ScanCount, sqlCountSearchByHealth, f.healthArgs("", atMost)...)
}

// byName reports whether only the name decides what matches.
func (f RegistryFilter) byName() bool {
	return f.Health == "" && !f.ExpiresSoon && f.Label == [2]string{} && !f.InProjects
}

// pattern returns the pattern of LIKE for names that contain Name.
func (f RegistryFilter) pattern() string {
	return "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(f.Name) + "%"
}

// labelText returns what only the JSON of the label contains, with a comma for the brace: quotes inside of other texts are escaped.
func (f RegistryFilter) labelText() string {
	if f.Label[0] == "" {
		return ""
	}
	encoded, _ := json.Marshal(map[string]string{f.Label[0]: f.Label[1]}) // never fails: texts only
	member := "," + strings.Trim(string(encoded), "{}")
	if f.Label[1] == "" {
		member = strings.TrimSuffix(member, `""`)
	}
	return member
}

// projectsText returns the projects between spaces, "" for all.
func (f RegistryFilter) projectsText() string {
	if !f.InProjects {
		return ""
	}
	return " " + strings.Join(f.Projects, " ") + " "
}

// healthArgs returns the arguments of withHealth.
func (f RegistryFilter) healthArgs(name string, limit int) []any {
	valid, rank := [2]int64{0, 1}, [2]int64{0, 2}
	if f.Health != "" {
		valid, rank = [2]int64{}, [2]int64{rankOf[f.Health], rankOf[f.Health]}
	}
	if f.Health == Healthy {
		valid = [2]int64{1, 1}
	}
	return []any{f.OrgUID, name, limit, f.pattern(), valid[0], valid[1], rank[0], rank[1], rows.Flag(f.ExpiresSoon),
		f.labelText(), f.projectsText()}
}

// Expiring lists at most limit registries of an organization whose certificate or credentials expire soon, as SortByExpiry does.
func (tx Registries) Expiring(ctx context.Context, orgUID string, limit int) ([]ListedRegistry, error) {
	return rows.All(ctx, tx.db, scanListed, sqlExpiringRegistries, orgUID, limit)
}

// OfUsername lists the uids of at most limit registries of an organization with a username and a type of credentials, by name. Those
// whose type is derived from their secrets are listed too.
func (tx Registries) OfUsername(ctx context.Context, orgUID, username, authType string, limit int) ([]string, error) {
	return rows.All(ctx, tx.db, rows.ScanText, sqlOfUsername, orgUID, username, authType, limit)
}

// Name returns the name of a registry, "" if it does not exist.
func (tx Registries) Name(ctx context.Context, orgUID, uid string) (string, error) {
	return rows.OneOrZero(ctx, tx.db, rows.ScanText, sqlRegistryName, orgUID, uid)
}

// HealthCounts are the numbers of an organization's registries with each health status, and the first expiry among their certificates
// and credentials.
type HealthCounts struct {
	Healthy, Failing, Unknown                int64
	CertificateNotAfter, CredentialsNotAfter time.Time // zero if none is known
}

// CountHealth counts the registries of an organization by their health.
func (tx Registries) CountHealth(ctx context.Context, orgUID string) (HealthCounts, error) {
	return rows.One(ctx, tx.db, func(row rows.Scanner, n *HealthCounts) error {
		var all, checked, undecided int64
		err := row.Scan(&all, &checked, &n.Healthy, &undecided, rows.Moment(&n.CertificateNotAfter), rows.Moment(&n.CredentialsNotAfter))
		n.Unknown, n.Failing = all-checked+undecided, checked-n.Healthy-undecided
		return err
	}, sqlCountHealth, orgUID)
}

// RegistryIdentity has what identifies a definition, as texts without and with its secrets. Definitions with equal texts need not be
// stored twice. The database has keyed hashes of them only, so that they are compared without decrypting a secret.
type RegistryIdentity struct {
	Open string
	Full secret.String // empty: it equals no other
}

const (
	selectSame = `SELECT name FROM registries WHERE org_uid = $1 AND identity_version = version
		AND (CAST($3 AS TEXT) = '' OR $3 LIKE '% ' || project_uid || ' %') `
	sqlSameRegistry        = selectSame + `AND identity = $2 ORDER BY canonical LIMIT 1`
	sqlSameRegistrySecrets = selectSame + `AND identity_secrets = $2 ORDER BY canonical LIMIT 1`
	sqlWithoutIdentity     = `SELECT uid FROM registries WHERE org_uid = $1 AND uid > $2 AND identity_version <> version
		ORDER BY uid LIMIT $3`
	sqlSetIdentity = `UPDATE registries SET identity = $4, identity_secrets = $5, identity_version = version
		WHERE org_uid = $1 AND uid = $2 AND version = $3`
	sqlNameInUse = `SELECT COUNT(*) FROM registries WHERE org_uid = $1 AND canonical = $2`
)

// identityPurpose is part of the stored hashes.
const identityPurpose = "registry identity "

// identityHash returns the keyed hash of one text of an identity, NULL for none. Equal definitions of two organizations have different
// hashes.
func (tx Registries) identityHash(orgUID, text string) any {
	if text == "" {
		return nil
	}
	return tx.ring.MAC(identityPurpose+orgUID, []byte(text))
}

// Same returns the name of the first registry in the projects of a filter with this identity, with its secrets or without, "" for none.
func (tx Registries) Same(ctx context.Context, in RegistryFilter, id RegistryIdentity, secrets bool) (string, error) {
	query, text := sqlSameRegistry, id.Open
	if secrets {
		query, text = sqlSameRegistrySecrets, id.Full.Reveal()
	}
	return rows.OneOrZero(ctx, tx.db, rows.ScanText, query, in.OrgUID, tx.identityHash(in.OrgUID, text), in.projectsText())
}

// WithoutIdentity lists registries that an earlier version stored without their identity, by uid after one.
func (tx Registries) WithoutIdentity(ctx context.Context, orgUID, after string, limit int) ([]string, error) {
	return rows.All(ctx, tx.db, rows.ScanText, sqlWithoutIdentity, orgUID, after, limit)
}

// SetIdentity stores the identity of a registry, unless it was replaced or deleted since it was read.
func (tx Registries) SetIdentity(ctx context.Context, r Registry, id RegistryIdentity) error {
	return tx.db.ChangeAny(ctx, sqlSetIdentity, r.OrgUID, r.UID, r.Version,
		tx.identityHash(r.OrgUID, id.Open), tx.identityHash(r.OrgUID, id.Full.Reveal()))
}

// NameInUse reports whether a registry of the organization has this canonical name.
func (tx Registries) NameInUse(ctx context.Context, orgUID, canonical string) (bool, error) {
	n, err := rows.One(ctx, tx.db, rows.ScanCount, sqlNameInUse, orgUID, canonical)
	return n > 0, err
}
