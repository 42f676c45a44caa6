-- Kept registry definitions, as flat columns of what was sent, byte for byte. What may be long is in a table of
-- its own, so that a list of ten thousand reads few pages. Secrets are in one sealed value, bound to table, row
-- and organization; the has_ columns tell which there are, so that an answer need not open it.

CREATE TABLE registries (
    uid               TEXT   PRIMARY KEY,
    org_uid           TEXT   NOT NULL REFERENCES orgs (uid),
    name              TEXT   NOT NULL,
    canonical         TEXT   NOT NULL,
    version           BIGINT NOT NULL, -- counts the replacements: what was learned of an older one is dropped
    created_at        BIGINT NOT NULL,
    updated_at        BIGINT NOT NULL,
    endpoint          TEXT   NOT NULL,
    provider_type     TEXT   NOT NULL,
    scope             TEXT   NOT NULL,
    sync_supported    BIGINT NOT NULL,
    spectro_manifest  BIGINT NOT NULL,
    private           BIGINT NOT NULL,
    base_path         TEXT   NOT NULL,
    base_content_path TEXT   NOT NULL,
    auth_type         TEXT   NOT NULL,
    username          TEXT   NOT NULL,
    tls_enabled       BIGINT NOT NULL,
    tls_skip_verify   BIGINT NOT NULL,
    has_password      BIGINT NOT NULL,
    has_token         BIGINT NOT NULL,
    has_key           BIGINT NOT NULL,
    UNIQUE (org_uid, canonical),
    UNIQUE (org_uid, uid)
);

CREATE TABLE registry_details (
    org_uid         TEXT  NOT NULL,
    registry_uid    TEXT  NOT NULL,
    sealed          BYTEA,         -- NULL when there is no secret
    annotations     TEXT,          -- JSON
    labels          TEXT,          -- JSON
    tls_ca          TEXT  NOT NULL,
    tls_certificate TEXT  NOT NULL,
    PRIMARY KEY (org_uid, registry_uid),
    FOREIGN KEY (org_uid, registry_uid) REFERENCES registries (org_uid, uid) ON DELETE CASCADE
);
