-- Rules by which an organization accepts tokens of other issuers. Who presents one acts as the user of the same uid, which has role and
-- projects, and no password. claims is a JSON object of texts, jwks a JSON Web Key Set or empty.

ALTER TABLE users ADD COLUMN workload BIGINT NOT NULL DEFAULT 0;

CREATE TABLE trust_rules (
    uid        TEXT   PRIMARY KEY,
    org_uid    TEXT   NOT NULL,
    name       TEXT   NOT NULL,
    canonical  TEXT   NOT NULL,
    issuer     TEXT   NOT NULL,
    audience   TEXT   NOT NULL,
    claims     TEXT   NOT NULL,
    ca         TEXT   NOT NULL,
    jwks       TEXT   NOT NULL,
    reusable   BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (org_uid, canonical),
    FOREIGN KEY (org_uid, uid) REFERENCES users (org_uid, uid) ON DELETE CASCADE
);
CREATE INDEX trust_rules_user ON trust_rules (org_uid, uid);

-- Tokens of other issuers that were exchanged: each once, unless its rule says otherwise. hash is a SHA-256 of issuer and jti.
CREATE TABLE used_tokens (
    hash       BYTEA  NOT NULL PRIMARY KEY,
    expires_at BIGINT NOT NULL
);
CREATE INDEX used_tokens_expiry ON used_tokens (expires_at);
