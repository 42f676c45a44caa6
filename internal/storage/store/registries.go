package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/regwarden/regwarden/internal/storage/jsontext"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/secret"
)

// Registry is a stored registry definition, its fields as they were sent. Canonical is the spelling by which its name is
// unique in the organization. Version counts its replacements, from 1.
type Registry struct {
	UID, OrgUID, Name, Canonical string
	Version                      int64
	CreatedAt, UpdatedAt         time.Time

	Endpoint, ProviderType, Scope           string
	SyncSupported, SpectroManifest, Private bool
	BasePath, BaseContentPath               string
	References                              []string
	AuthType, Username                      string
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
	UID, Name, Canonical                    string
	CreatedAt, UpdatedAt                    time.Time
	Endpoint, ProviderType, Scope           string // Scope is cut to 64 bytes
	SyncSupported, SpectroManifest, Private bool
	Sync                                    RegistrySync // status, message, times and progress; zero without any run
	Health                                  Health
}

const (
	registryColumns = `uid, org_uid, name, canonical, version, created_at, updated_at, endpoint, provider_type, scope,
		sync_supported, spectro_manifest, private, base_path, base_content_path, auth_type, username, tls_enabled, tls_skip_verify,
		has_password, has_token, has_key, bytes, identity, identity_secrets, identity_version`
	selectRegistry = `SELECT r.uid, r.org_uid, r.name, r.canonical, r.version, r.created_at, r.updated_at, r.endpoint, r.provider_type, r.scope,
		r.sync_supported, r.spectro_manifest, r.private, r.base_path, r.base_content_path, r.auth_type, r.username, r.tls_enabled, r.tls_skip_verify,
		r.has_password, r.has_token, r.has_key, d.sealed, d.annotations, d.labels, d.tls_ca, d.tls_certificate, d.content_references
		FROM registries r JOIN registry_details d ON d.org_uid = r.org_uid AND d.registry_uid = r.uid WHERE r.org_uid = $1`

	sqlInsertRegistry = `INSERT INTO registries (` + registryColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
		$11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $5)`
	sqlInsertRegistryDetails = `INSERT INTO registry_details
		(registry_uid, org_uid, sealed, annotations, labels, tls_ca, tls_certificate, content_references)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`
	sqlRegistry        = selectRegistry + ` AND r.uid = $2`
	sqlRegistryByName  = selectRegistry + ` AND r.canonical = $2`
	sqlReplaceRegistry = `UPDATE registries SET name = $3, canonical = $4, version = version + 1, updated_at = $6, endpoint = $7, provider_type = $8,
		scope = $9, sync_supported = $10, spectro_manifest = $11, private = $12, base_path = $13, base_content_path = $14, auth_type = $15,
		username = $16, tls_enabled = $17, tls_skip_verify = $18, has_password = $19, has_token = $20, has_key = $21, bytes = $22,
		identity = $23, identity_secrets = $24, identity_version = version + 1
		WHERE org_uid = $2 AND uid = $1 AND version = $5`
	sqlReplaceRegistryDetails = `UPDATE registry_details SET sealed = $3, annotations = $4, labels = $5, tls_ca = $6, tls_certificate = $7,
		content_references = $8
		WHERE org_uid = $2 AND registry_uid = $1`
	// Every transaction locks a registry first, then org_usage, then registry_watch, then registry_sync: on PostgreSQL, two with different
	// orders would wait for each other, and all other changes of the organization for them.
	lockRegistry      = `UPDATE registries SET version = version WHERE org_uid = $1 AND uid = $2`
	sqlLockRegistry   = lockRegistry + ` RETURNING sync_supported`
	sqlLockSize       = lockRegistry + ` RETURNING bytes`
	sqlDeleteRegistry = `DELETE FROM registries WHERE org_uid = $1 AND uid = $2`
	selectListed      = `SELECT r.uid, r.name, r.canonical, r.created_at, r.updated_at, r.endpoint, r.provider_type, r.scope,
		r.sync_supported, r.spectro_manifest, r.private, s.status, s.message, s.next_at, s.last_run_at, s.last_synced_at, COALESCE(s.run_repositories, 0),
		w.since, w.valid, w.code, w.stage, w.reason, w.field, w.expires_soon, w.credentials_expire_soon, w.message, w.hint,
		w.last_at, w.next_at, w.unconfirmed,
		w.certificate_not_after, w.credentials_not_after`
	listedByName = selectListed + ` FROM registries r LEFT JOIN registry_sync s ON s.registry_uid = r.uid LEFT JOIN registry_watch w ON w.registry_uid = r.uid
		WHERE r.org_uid = $1 AND r.canonical > $2`
	sqlRegistriesOfOrg = listedByName + ` ORDER BY r.canonical LIMIT $3`
)

func registryLocation(orgUID, uid string) seal.Location {
	return seal.Location{Table: "registry_details", Row: uid, Org: orgUID, Column: "sealed"}
}

// Registries reads and changes stored registries.
type Registries struct{ *conn }

// Insert adds a registry. Its canonical name being taken in the organization is ErrExists.
func (tx Registries) Insert(ctx context.Context, r Registry) error {
	args := append([]any{r.UID, r.OrgUID, r.Name, r.Canonical, r.Version, millis(r.CreatedAt)}, tx.values(r)...)
	if err := tx.changeOne(ctx, sqlInsertRegistry, args...); err != nil {
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
	before, err := one(ctx, tx.conn, scanCount, sqlRegistryBytes, r.OrgUID, r.UID, r.Version)
	if err != nil {
		return err
	}
	args := append([]any{r.UID, r.OrgUID, r.Name, r.Canonical, r.Version}, tx.values(r)...)
	if err := tx.changeOne(ctx, sqlReplaceRegistry, args...); err != nil {
		return err
	}
	if err := tx.writeDetails(ctx, sqlReplaceRegistryDetails, r); err != nil {
		return err
	}
	return tx.countUsage(ctx, r.OrgUID, before, r.size())
}

// values are the columns from updated_at on.
func (tx Registries) values(r Registry) []any {
	return []any{millis(r.UpdatedAt), r.Endpoint, r.ProviderType, r.Scope, flag(r.SyncSupported), flag(r.SpectroManifest), flag(r.Private),
		r.BasePath, r.BaseContentPath, r.AuthType, r.Username, flag(r.TLSEnabled), flag(r.TLSSkipVerify),
		flag(r.Secrets.Password != ""), flag(r.Secrets.Token != ""), flag(r.Secrets.Key != ""), r.size(),
		tx.identityHash(r.OrgUID, r.Identity.Open), tx.identityHash(r.OrgUID, r.Identity.Full.Reveal())}
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
	return tx.changeOne(ctx, query, r.UID, r.OrgUID, ciphertext, annotations, labels, r.CA, r.Certificate, references)
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

func scanRegistry(row scanner, r *Registry, ciphertext *[]byte) error {
	return row.Scan(&r.UID, &r.OrgUID, &r.Name, &r.Canonical, &r.Version, moment{&r.CreatedAt}, moment{&r.UpdatedAt}, &r.Endpoint,
		&r.ProviderType, &r.Scope, truth{&r.SyncSupported}, truth{&r.SpectroManifest}, truth{&r.Private}, &r.BasePath, &r.BaseContentPath,
		&r.AuthType, &r.Username, truth{&r.TLSEnabled}, truth{&r.TLSSkipVerify}, truth{&r.HasPassword}, truth{&r.HasToken}, truth{&r.HasKey},
		ciphertext, jsontext.To(&r.Annotations), jsontext.To(&r.Labels), &r.CA, &r.Certificate, jsontext.To(&r.References))
}

// scanPlainRegistry reads a registry without its secrets.
func scanPlainRegistry(row scanner, r *Registry) error {
	var ciphertext []byte
	return scanRegistry(row, r, &ciphertext)
}

// Get looks a registry up within its organization and decrypts its secrets. When these cannot be decrypted, the
// error is seal.ErrDamaged, and the record is returned without them.
func (tx Registries) Get(ctx context.Context, orgUID, uid string) (Registry, error) {
	var ciphertext []byte
	r, err := one(ctx, tx.conn, func(row scanner, r *Registry) error { return scanRegistry(row, r, &ciphertext) }, sqlRegistry, orgUID, uid)
	if err != nil {
		return Registry{}, err
	}
	return r, tx.decrypt(&r, ciphertext)
}

// GetPlain looks a registry up within its organization without its secrets, so that it can be shown, replaced and deleted
// when they are damaged.
func (tx Registries) GetPlain(ctx context.Context, orgUID, uid string) (Registry, error) {
	return one(ctx, tx.conn, scanPlainRegistry, sqlRegistry, orgUID, uid)
}

// ByName looks a registry up by its canonical name, without its secrets.
func (tx Registries) ByName(ctx context.Context, orgUID, canonical string) (Registry, error) {
	return one(ctx, tx.conn, scanPlainRegistry, sqlRegistryByName, orgUID, canonical)
}

// Lock prevents that a registry is replaced or deleted until the transaction ends, and reports whether its content is
// synchronized.
func (tx Registries) Lock(ctx context.Context, orgUID, uid string) (syncSupported bool, err error) {
	return one(ctx, tx.conn, func(row scanner, is *bool) error { return row.Scan(truth{is}) }, sqlLockRegistry, orgUID, uid)
}

// Delete deletes a registry with its status and history. Sweep deletes its content later.
func (tx Registries) Delete(ctx context.Context, orgUID, uid string) error {
	bytes, err := one(ctx, tx.conn, scanCount, sqlLockSize, orgUID, uid)
	if err != nil {
		return err
	}
	if err := tx.countUsage(ctx, orgUID, bytes, 0); err != nil {
		return err
	}
	if err := tx.changeOne(ctx, sqlDeleteRegistry, orgUID, uid); err != nil {
		return err
	}
	return Contents(tx).dropRuns(ctx, uid, 0)
}

// maxListedScope bounds the scope of a registry in a list, in bytes. Clients know short words; the single registry has all of it.
const maxListedScope = 64

// OfOrg returns the page of an organization's registries, by name, that follows one of them. The zero value
// precedes all. It reports whether there may be more. reuse is an earlier page, which is overwritten, or nil.
func (tx Registries) OfOrg(ctx context.Context, orgUID string, after ListedRegistry, reuse []ListedRegistry) ([]ListedRegistry, bool, error) {
	return pageIn(ctx, tx.conn, reuse, pageSize, scanListed, sqlRegistriesOfOrg, orgUID, after.Canonical)
}

func scanListed(row scanner, r *ListedRegistry) error {
	h, v := &r.Health, &r.Health.State
	err := row.Scan(&r.UID, &r.Name, &r.Canonical, moment{&r.CreatedAt}, moment{&r.UpdatedAt}, &r.Endpoint, &r.ProviderType, &r.Scope,
		truth{&r.SyncSupported}, truth{&r.SpectroManifest}, truth{&r.Private},
		text{(*string)(&r.Sync.Status)}, text{&r.Sync.Message}, moment{&r.Sync.NextAt}, moment{&r.Sync.LastRunAt}, moment{&r.Sync.LastSyncedAt}, &r.Sync.RunRepositories,
		moment{&h.Since}, truth{&v.Valid}, text{&v.Code}, text{&v.Stage}, text{&v.Reason}, text{&v.Field}, truth{&v.CertificateExpiresSoon}, truth{&v.CredentialsExpireSoon}, text{&v.Message}, text{&v.Hint},
		moment{&h.LastAt}, moment{&h.NextAt}, truth{&h.Unconfirmed}, moment{&v.CertificateNotAfter}, moment{&v.CredentialsNotAfter})
	r.Scope = cutText(r.Scope, maxListedScope)
	return err
}
