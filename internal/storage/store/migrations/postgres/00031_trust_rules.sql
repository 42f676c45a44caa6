-- The comments are in ../sqlite/00031_trust_rules.sql.

ALTER TABLE users ADD COLUMN workload BIGINT NOT NULL DEFAULT 0;

CREATE TABLE trust_rules (
    uid        TEXT COLLATE "C" PRIMARY KEY,
    org_uid    TEXT COLLATE "C" NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    canonical  TEXT COLLATE "C" NOT NULL,
    issuer     TEXT COLLATE "C" NOT NULL,
    audience   TEXT COLLATE "C" NOT NULL,
    claims     TEXT COLLATE "C" NOT NULL,
    ca         TEXT COLLATE "C" NOT NULL,
    jwks       TEXT COLLATE "C" NOT NULL,
    reusable   BIGINT           NOT NULL,
    created_at BIGINT           NOT NULL,
    UNIQUE (org_uid, canonical),
    FOREIGN KEY (org_uid, uid) REFERENCES users (org_uid, uid) ON DELETE CASCADE
);
CREATE INDEX trust_rules_user ON trust_rules (org_uid, uid);

CREATE TABLE used_tokens (
    hash       BYTEA  NOT NULL PRIMARY KEY,
    expires_at BIGINT NOT NULL
);
CREATE INDEX used_tokens_expiry ON used_tokens (expires_at);
