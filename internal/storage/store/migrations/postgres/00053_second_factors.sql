-- The comments are in ../sqlite/00053_second_factors.sql.

CREATE TABLE second_factors (
    user_uid     TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES users (uid) ON DELETE CASCADE,
    org_uid      TEXT COLLATE "C" NOT NULL REFERENCES orgs (uid) ON DELETE CASCADE,
    secret       BYTEA NOT NULL,
    created_at   BIGINT NOT NULL,
    confirmed_at BIGINT,
    last_step    BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX second_factors_org ON second_factors (org_uid);

CREATE TABLE recovery_codes (
    user_uid TEXT COLLATE "C" NOT NULL REFERENCES users (uid) ON DELETE CASCADE,
    hash     BYTEA NOT NULL,
    PRIMARY KEY (user_uid, hash)
);

CREATE TABLE pending_logins (
    hash       BYTEA NOT NULL PRIMARY KEY,
    org_uid    TEXT COLLATE "C" NOT NULL REFERENCES orgs (uid) ON DELETE CASCADE,
    user_uid   TEXT COLLATE "C" NOT NULL REFERENCES users (uid) ON DELETE CASCADE,
    password   BYTEA NOT NULL,
    next_hash  TEXT COLLATE "C" NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX pending_logins_user ON pending_logins (user_uid);
CREATE INDEX pending_logins_org ON pending_logins (org_uid);
CREATE INDEX pending_logins_expiry ON pending_logins (expires_at);

ALTER TABLE users ADD COLUMN second_factor BIGINT NOT NULL DEFAULT 0;

ALTER TABLE orgs ADD COLUMN second_factor BIGINT NOT NULL DEFAULT 0;
