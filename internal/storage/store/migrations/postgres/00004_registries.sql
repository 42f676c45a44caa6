-- The comments are in ../sqlite/00004_registries.sql.

CREATE TABLE registries (
    uid               TEXT COLLATE "C" PRIMARY KEY,
    org_uid           TEXT COLLATE "C" NOT NULL REFERENCES orgs (uid),
    name              TEXT COLLATE "C" NOT NULL,
    canonical         TEXT COLLATE "C" NOT NULL,
    version           BIGINT           NOT NULL,
    created_at        BIGINT           NOT NULL,
    updated_at        BIGINT           NOT NULL,
    endpoint          TEXT COLLATE "C" NOT NULL,
    provider_type     TEXT COLLATE "C" NOT NULL,
    scope             TEXT COLLATE "C" NOT NULL,
    sync_supported    BIGINT           NOT NULL,
    spectro_manifest  BIGINT           NOT NULL,
    private           BIGINT           NOT NULL,
    base_path         TEXT COLLATE "C" NOT NULL,
    base_content_path TEXT COLLATE "C" NOT NULL,
    auth_type         TEXT COLLATE "C" NOT NULL,
    username          TEXT COLLATE "C" NOT NULL,
    tls_enabled       BIGINT           NOT NULL,
    tls_skip_verify   BIGINT           NOT NULL,
    has_password      BIGINT           NOT NULL,
    has_token         BIGINT           NOT NULL,
    has_key           BIGINT           NOT NULL,
    UNIQUE (org_uid, canonical),
    UNIQUE (org_uid, uid)
);

CREATE TABLE registry_details (
    org_uid         TEXT COLLATE "C" NOT NULL,
    registry_uid    TEXT COLLATE "C" NOT NULL,
    sealed          BYTEA,
    annotations     TEXT COLLATE "C",
    labels          TEXT COLLATE "C",
    tls_ca          TEXT COLLATE "C" NOT NULL,
    tls_certificate TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (org_uid, registry_uid),
    FOREIGN KEY (org_uid, registry_uid) REFERENCES registries (org_uid, uid) ON DELETE CASCADE
);
