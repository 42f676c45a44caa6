-- The comments are in ../sqlite/00047_logout_tokens.sql.

CREATE TABLE logout_tokens (
    hash       BYTEA            NOT NULL,
    org_uid    TEXT COLLATE "C" NOT NULL REFERENCES orgs (uid) ON DELETE CASCADE,
    expires_at BIGINT           NOT NULL,
    PRIMARY KEY (org_uid, hash)
);
