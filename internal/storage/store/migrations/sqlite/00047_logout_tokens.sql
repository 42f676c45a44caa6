-- Logout tokens of identity providers that were used, until they expire. hash is the SHA-256 of issuer and id.

CREATE TABLE logout_tokens (
    hash       BYTEA  NOT NULL,
    org_uid    TEXT   NOT NULL REFERENCES orgs (uid) ON DELETE CASCADE,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (org_uid, hash)
);
