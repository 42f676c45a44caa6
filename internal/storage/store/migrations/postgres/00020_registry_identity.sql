-- The comments are in ../sqlite/00020_registry_identity.sql.

ALTER TABLE registries ADD COLUMN identity BYTEA;
ALTER TABLE registries ADD COLUMN identity_secrets BYTEA;
ALTER TABLE registries ADD COLUMN identity_version BIGINT NOT NULL DEFAULT 0;

CREATE INDEX registries_identity ON registries (org_uid, identity, canonical);
CREATE INDEX registries_identity_secrets ON registries (org_uid, identity_secrets, canonical);
CREATE INDEX registries_without_identity ON registries (org_uid, uid) WHERE identity_version <> version;
