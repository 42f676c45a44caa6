-- Credentials that expire soon, in the health status and its history. The next check of each registry sets it.

ALTER TABLE registry_watch ADD COLUMN credentials_expire_soon BIGINT NOT NULL DEFAULT 0;
ALTER TABLE registry_verdicts ADD COLUMN credentials_expire_soon BIGINT NOT NULL DEFAULT 0;

-- For short lists of what expires soon, and of the newest changes of registries, in organizations with many records.

CREATE INDEX registry_watch_expiry ON registry_watch (org_uid) WHERE expires_soon = 1 OR credentials_expire_soon = 1;
CREATE INDEX api_keys_org_expiry ON api_keys (org_uid, expires_at, uid);
CREATE INDEX audits_registry_changes ON audits (org_uid, at, uid) WHERE action IN ('registry.create', 'registry.update', 'registry.delete', 'registry.watch') AND outcome IN ('succeeded', 'valid', 'notValid');
