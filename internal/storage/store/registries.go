package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/storage/jsontext"
	"github.com/regwarden/regwarden/internal/storage/rows"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/secret"
)

// Registry is a stored registry definition, its fields as they were sent. Canonical is the spelling by which its name is
// unique in the organization. Version counts its replacements, from 1.
type Registry struct {
	UID, OrgUID, Name, Canonical string
	Version                      int64
	CreatedAt, UpdatedAt         time.Time

	ProjectUID                              string // read with the record; Projects.SetOfRegistry sets it
	Origin                                  string // read with the record; Origins.Set sets it
	Kind                                    string // "", ecr or helm
	Endpoint, ProviderType, Scope           string
	SyncSupported, SpectroManifest, Private bool
	BasePath, BaseContentPath               string
	References                              []string
	AuthType, Username                      string
	AuthSettings                            map[string]string // of types whose credentials are obtained
	TLSEnabled, TLSSkipVerify               bool
	CA, Certificate                         string
	Annotations, Labels                     map[string]string

	HasPassword, HasToken, HasKey bool             // read with the record; on the way in Secrets decides
	Secrets                       RegistrySecrets  // read by Registry alone
	Identity                      RegistryIdentity // of the definition; never read
}

// RegistrySecrets are the secrets of a registry definition, encrypted in the database and clear here.
type RegistrySecrets struct{ Password, Token, Key secret.String }

// ListedRegistry is a registry in a page of a list.
type ListedRegistry struct {
	UID, Name, SortKey                      string // SortKey is the position in a list by name
	CreatedAt, UpdatedAt                    time.Time
	Kind, Endpoint, ProviderType, Scope     string // Scope is cut to 64 bytes
	SyncSupported, SpectroManifest, Private bool
	Sync                                    RegistrySync // status, message, times and progress; zero without any run
	Health                                  Health
}

const (
	registryColumns = `uid, org_uid, name, canonical, version, created_at, updated_at, endpoint, provider_type, scope,
		sync_supported, spectro_manifest, private, base_path, base_content_path, auth_type, username, tls_enabled, tls_skip_verify,
		has_password, has_token, has_key, bytes, identity, identity_secrets, kind, sort_key, identity_version`
	selectRegistry = `SELECT r.uid, r.org_uid, r.name, r.canonical, r.version, r.created_at, r.updated_at, r.endpoint, r.provider_type,
		r.scope, r.sync_supported, r.spectro_manifest, r.private, r.base_path, r.base_content_path, r.auth_type, r.username, r.tls_enabled,
		r.tls_skip_verify, r.has_password, r.has_token, r.has_key, d.sealed, d.annotations, d.labels, d.tls_ca, d.tls_certificate,
		d.content_references, d.auth_settings, r.kind, COALESCE(r.project_uid, ''), o.origin
		FROM registries r JOIN registry_details d ON d.org_uid = r.org_uid AND d.registry_uid = r.uid
		LEFT JOIN registry_origins o ON o.registry_uid = r.uid
		WHERE r.org_uid = $1`

	sqlInsertRegistry = `INSERT INTO registries (` + registryColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
		$11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $5)`
	sqlInsertRegistryDetails = `INSERT INTO registry_details
		(registry_uid, org_uid, sealed, annotations, labels, tls_ca, tls_certificate, content_references, auth_settings)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`
	sqlRegistry        = selectRegistry + ` AND r.uid = $2`
	sqlRegistryByName  = selectRegistry + ` AND r.canonical = $2`
	sqlReplaceRegistry = `UPDATE registries SET name = $3, canonical = $4, version = version + 1, updated_at = $6, endpoint = $7,
		provider_type = $8, scope = $9, sync_supported = $10, spectro_manifest = $11, private = $12, base_path = $13,
		base_content_path = $14, auth_type = $15, username = $16, tls_enabled = $17, tls_skip_verify = $18, has_password = $19,
		has_token = $20, has_key = $21, bytes = $22, identity = $23, identity_secrets = $24, kind = $25, sort_key = $26,
		identity_version = version + 1
		WHERE org_uid = $2 AND uid = $1 AND version = $5`
	sqlReplaceRegistryDetails = `UPDATE registry_details SET sealed = $3, annotations = $4, labels = $5, tls_ca = $6, tls_certificate = $7,
		content_references = $8, auth_settings = $9
		WHERE org_uid = $2 AND registry_uid = $1`
	// Every transaction locks a registry first, then org_usage, then registry_watch, then registry_sync: on PostgreSQL, two with different
	// orders would wait for each other, and all other changes of the organization for them.
	lockRegistry      = `UPDATE registries SET version = version WHERE org_uid = $1 AND uid = $2`
	sqlLockRegistry   = lockRegistry + ` RETURNING sync_supported`
	sqlLockSize       = lockRegistry + ` RETURNING bytes`
	sqlDeleteRegistry = `DELETE FROM registries WHERE org_uid = $1 AND uid = $2`
	nameOrder         = `COALESCE(r.sort_key, r.canonical)` // of the index registries_by_name
	// A value takes about as long as all else of its row. So flags are one number, and empty texts are NULL, which is not copied.
	selectListed = `SELECT r.uid, r.name, ` + nameOrder + `, r.created_at, r.updated_at, r.endpoint, NULLIF(r.provider_type, ''),
		NULLIF(r.scope, ''), r.sync_supported + 2 * r.spectro_manifest + 4 * r.private + COALESCE(8 * w.valid + 16 * w.expires_soon
		+ 32 * w.credentials_expire_soon + 64 * w.unconfirmed, 0) + CASE r.kind WHEN 'ecr' THEN 128 WHEN 'helm' THEN 256 ELSE 0 END,
		s.status, s.message, s.next_at, s.last_run_at, s.last_synced_at, COALESCE(s.run_repositories, 0),
		w.since, NULLIF(w.code, ''), NULLIF(w.stage, ''), NULLIF(w.reason, ''), NULLIF(w.field, ''), NULLIF(w.message, ''),
		NULLIF(w.hint, ''), w.last_at, w.next_at, w.certificate_not_after, w.credentials_not_after`
	fromRegistries = ` FROM registries r LEFT JOIN registry_sync s ON s.registry_uid = r.uid
		LEFT JOIN registry_watch w ON w.registry_uid = r.uid WHERE r.org_uid = $1`
	listedByName       = selectListed + fromRegistries + ` AND ` + nameOrder + ` > $2`
	byName             = ` ORDER BY ` + nameOrder + ` LIMIT $3`
	sqlRegistriesOfOrg = listedByName + byName
)

func registryLocation(orgUID, uid string) seal.Location {
	return seal.Location{Table: "registry_details", Row: uid, Org: orgUID, Column: "sealed"}
}

// Registries reads and changes stored registries.
type Registries struct{ *conn }

// Insert adds a registry. Its canonical name being taken in the organization is ErrExists.
func (tx Registries) Insert(ctx context.Context, r Registry) error {
	args := append([]any{r.UID, r.OrgUID, r.Name, r.Canonical, r.Version, rows.Millis(r.CreatedAt)}, tx.values(r)...)
	if err := tx.db.ChangeOne(ctx, sqlInsertRegistry, args...); err != nil {
		return err
	}
	if err := tx.writeDetails(ctx, sqlInsertRegistryDetails, r); err != nil {
		return err
	}
	return tx.countUsage(ctx, r.OrgUID, 0, r.size())
}

// Replace stores every field of a registry except CreatedAt and increments its version, if the stored version is r.Version.
// Otherwise, or when the registry does not exist, it returns ErrNotFound; ErrExists when another registry has the name.
func (tx Registries) Replace(ctx context.Context, r Registry) error {
	before, err := rows.One(ctx, tx.db, rows.ScanCount, sqlRegistryBytes, r.OrgUID, r.UID, r.Version)
	if err != nil {
		return err
	}
	args := append([]any{r.UID, r.OrgUID, r.Name, r.Canonical, r.Version}, tx.values(r)...)
	if err := tx.db.ChangeOne(ctx, sqlReplaceRegistry, args...); err != nil {
		return err
	}
	if err := tx.writeDetails(ctx, sqlReplaceRegistryDetails, r); err != nil {
		return err
	}
	return tx.countUsage(ctx, r.OrgUID, before, r.size())
}

// values are the columns from updated_at on.
func (tx Registries) values(r Registry) []any {
	return []any{rows.Millis(r.UpdatedAt), r.Endpoint, r.ProviderType, r.Scope, rows.Flag(r.SyncSupported), rows.Flag(r.SpectroManifest),
		rows.Flag(r.Private),
		r.BasePath, r.BaseContentPath, r.AuthType, r.Username, rows.Flag(r.TLSEnabled), rows.Flag(r.TLSSkipVerify),
		rows.Flag(r.Secrets.Password != ""), rows.Flag(r.Secrets.Token != ""), rows.Flag(r.Secrets.Key != ""), r.size(),
		tx.identityHash(r.OrgUID, r.Identity.Open), tx.identityHash(r.OrgUID, r.Identity.Full.Reveal()), r.Kind,
		names.SortKey(r.Canonical)}
}

func (tx Registries) writeDetails(ctx context.Context, query string, r Registry) error {
	ciphertext, err := tx.encrypt(r)
	if err != nil {
		return err
	}
	annotations, labels, err := jsontext.Both(r.Annotations, r.Labels)
	if err != nil {
		return err
	}
	references, err := jsontext.Of(r.References)
	if err != nil {
		return err
	}
	settings, err := jsontext.Of(r.AuthSettings)
	if err != nil {
		return err
	}
	return tx.db.ChangeOne(ctx, query, r.UID, r.OrgUID, ciphertext, annotations, labels, r.CA, r.Certificate, references, settings)
}

// encryptedRegistry is the text that is encrypted. Only here are its strings plain, because they must be written.
type encryptedRegistry struct {
	Password string `json:"password,omitempty"`
	Token    string `json:"token,omitempty"`
	Key      string `json:"key,omitempty"`
}

func (tx Registries) encrypt(r Registry) ([]byte, error) {
	if r.Secrets == (RegistrySecrets{}) {
		return nil, nil
	}
	// #nosec G117 -- encrypted below
	plain, err := json.Marshal(encryptedRegistry{r.Secrets.Password.Reveal(), r.Secrets.Token.Reveal(), r.Secrets.Key.Reveal()})
	if err != nil {
		return nil, fmt.Errorf("encode the secrets of a registry: %w", err)
	}
	return tx.ring.Encrypt(plain, registryLocation(r.OrgUID, r.UID))
}

func (tx Registries) decrypt(r *Registry, ciphertext []byte) error {
	if !r.HasPassword && !r.HasToken && !r.HasKey {
		return nil
	}
	text, err := tx.ring.Decrypt(ciphertext, registryLocation(r.OrgUID, r.UID))
	if err != nil {
		return err
	}
	var plain encryptedRegistry
	if err := json.Unmarshal(text, &plain); err != nil {
		return fmt.Errorf("registry %s: %w", r.UID, seal.ErrDamaged) // the decoder's error may quote the text
	}
	r.Secrets = RegistrySecrets{secret.String(plain.Password), secret.String(plain.Token), secret.String(plain.Key)}
	return nil
}

func scanRegistry(row rows.Scanner, r *Registry, ciphertext *[]byte) error {
	return row.Scan(&r.UID, &r.OrgUID, &r.Name, &r.Canonical, &r.Version, rows.Moment(&r.CreatedAt), rows.Moment(&r.UpdatedAt), &r.Endpoint,
		&r.ProviderType, &r.Scope, rows.Truth(&r.SyncSupported), rows.Truth(&r.SpectroManifest), rows.Truth(&r.Private), &r.BasePath,
		&r.BaseContentPath, &r.AuthType, &r.Username, rows.Truth(&r.TLSEnabled), rows.Truth(&r.TLSSkipVerify), rows.Truth(&r.HasPassword),
		rows.Truth(&r.HasToken),
		rows.Truth(&r.HasKey),
		ciphertext, jsontext.To(&r.Annotations), jsontext.To(&r.Labels), &r.CA, &r.Certificate, jsontext.To(&r.References),
		jsontext.To(&r.AuthSettings), &r.Kind, &r.ProjectUID, rows.Text(&r.Origin))
}

// scanPlainRegistry reads a registry without its secrets.
func scanPlainRegistry(row rows.Scanner, r *Registry) error {
	var ciphertext []byte
	return scanRegistry(row, r, &ciphertext)
}

// Get looks a registry up within its organization and decrypts its secrets. When these cannot be decrypted, the
// error is seal.ErrDamaged, and the record is returned without them.
func (tx Registries) Get(ctx context.Context, orgUID, uid string) (Registry, error) {
	var ciphertext []byte
	r, err := rows.One(ctx, tx.db, func(row rows.Scanner, r *Registry) error { return scanRegistry(row, r, &ciphertext) }, sqlRegistry,
		orgUID, uid)
	if err != nil {
		return Registry{}, err
	}
	return r, tx.decrypt(&r, ciphertext)
}

// GetPlain looks a registry up within its organization without its secrets, so that it can be shown, replaced and deleted
// when they are damaged.
func (tx Registries) GetPlain(ctx context.Context, orgUID, uid string) (Registry, error) {
	return rows.One(ctx, tx.db, scanPlainRegistry, sqlRegistry, orgUID, uid)
}

// ByName looks a registry up by its canonical name, without its secrets.
func (tx Registries) ByName(ctx context.Context, orgUID, canonical string) (Registry, error) {
	return rows.One(ctx, tx.db, scanPlainRegistry, sqlRegistryByName, orgUID, canonical)
}

// Lock prevents that a registry is replaced or deleted until the transaction ends, and reports whether its content is synchronized.
func (tx Registries) Lock(ctx context.Context, orgUID, uid string) (syncSupported bool, err error) {
	return rows.One(ctx, tx.db, func(row rows.Scanner, is *bool) error { return row.Scan(rows.Truth(is)) }, sqlLockRegistry, orgUID, uid)
}

// Delete deletes a registry with its status and history. Sweep deletes its content later.
func (tx Registries) Delete(ctx context.Context, orgUID, uid string) error {
	bytes, err := rows.One(ctx, tx.db, rows.ScanCount, sqlLockSize, orgUID, uid)
	if err != nil {
		return err
	}
	if err := tx.countUsage(ctx, orgUID, bytes, 0); err != nil {
		return err
	}
	if err := tx.db.ChangeOne(ctx, sqlDeleteRegistry, orgUID, uid); err != nil {
		return err
	}
	return Contents(tx).dropRuns(ctx, uid, 0)
}

// pageSize is the number of records in a page of a list, where these have no long fields. A list that is sent page by page
// holds one of them while its client is slow.
const pageSize = 100

// maxListedScope bounds the scope of a registry in a list, in bytes. Clients know short words; the single registry has all of it.
const maxListedScope = 64

// OfOrg returns the page of an organization's registries, by name, that follows one of them. The zero value
// precedes all. It reports whether there may be more. reuse is an earlier page, which is overwritten, or nil.
func (tx Registries) OfOrg(ctx context.Context, orgUID string, after ListedRegistry,
	reuse []ListedRegistry) ([]ListedRegistry, bool, error) {
	return rows.PageIn(ctx, tx.db, reuse, pageSize, scanListed, sqlRegistriesOfOrg, orgUID, after.SortKey)
}

func scanListed(row rows.Scanner, r *ListedRegistry) error {
	h, v := &r.Health, &r.Health.State
	var flags int64
	err := row.Scan(&r.UID, &r.Name, &r.SortKey, rows.Moment(&r.CreatedAt), rows.Moment(&r.UpdatedAt), &r.Endpoint,
		rows.Text(&r.ProviderType), rows.Text(&r.Scope), &flags,
		rows.Text((*string)(&r.Sync.Status)), rows.Text(&r.Sync.Message), rows.Moment(&r.Sync.NextAt), rows.Moment(&r.Sync.LastRunAt),
		rows.Moment(&r.Sync.LastSyncedAt), &r.Sync.RunRepositories,
		rows.Moment(&h.Since), rows.Text(&v.Code), rows.Text(&v.Stage), rows.Text(&v.Reason), rows.Text(&v.Field), rows.Text(&v.Message),
		rows.Text(&v.Hint), rows.Moment(&h.LastAt), rows.Moment(&h.NextAt), rows.Moment(&v.CertificateNotAfter),
		rows.Moment(&v.CredentialsNotAfter))
	r.SyncSupported, r.SpectroManifest, r.Private = flags&1 != 0, flags&2 != 0, flags&4 != 0
	v.Valid, v.CertificateExpiresSoon, v.CredentialsExpireSoon = flags&8 != 0, flags&16 != 0, flags&32 != 0
	h.Unconfirmed = flags&64 != 0
	switch {
	case flags&128 != 0:
		r.Kind = "ecr"
	case flags&256 != 0:
		r.Kind = "helm"
	default:
		r.Kind = ""
	}
	r.Scope = rows.CutText(r.Scope, maxListedScope)
	return err
}
