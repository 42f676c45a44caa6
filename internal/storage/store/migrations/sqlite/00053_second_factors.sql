-- Second factors of users who log in with a password. secret is encrypted. confirmed_at is NULL until the user has proved with a code that
-- an app has the secret. last_step is the time step of the last code that was accepted: codes are of use once.

CREATE TABLE second_factors (
    user_uid     TEXT   NOT NULL PRIMARY KEY REFERENCES users (uid) ON DELETE CASCADE,
    org_uid      TEXT   NOT NULL REFERENCES orgs (uid) ON DELETE CASCADE,
    secret       BYTEA  NOT NULL,
    created_at   BIGINT NOT NULL,
    confirmed_at BIGINT,
    last_step    BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX second_factors_org ON second_factors (org_uid);

-- Codes that replace that of the app once: hash is the SHA-256 of one.
CREATE TABLE recovery_codes (
    user_uid TEXT  NOT NULL REFERENCES users (uid) ON DELETE CASCADE,
    hash     BYTEA NOT NULL,
    PRIMARY KEY (user_uid, hash)
);

-- Logins whose password was right, and that wait for a code: hash is the SHA-256 of their token. password is that of the hash of the
-- password, so that another password ends them. next_hash is the hash of the password that the login sets; empty for none.
CREATE TABLE pending_logins (
    hash       BYTEA  NOT NULL PRIMARY KEY,
    org_uid    TEXT   NOT NULL REFERENCES orgs (uid) ON DELETE CASCADE,
    user_uid   TEXT   NOT NULL REFERENCES users (uid) ON DELETE CASCADE,
    password   BYTEA  NOT NULL,
    next_hash  TEXT   NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX pending_logins_user ON pending_logins (user_uid);
CREATE INDEX pending_logins_org ON pending_logins (org_uid);
CREATE INDEX pending_logins_expiry ON pending_logins (expires_at);

-- 1 if the user has a confirmed second factor.
ALTER TABLE users ADD COLUMN second_factor BIGINT NOT NULL DEFAULT 0;

-- 1 if users of the organization need one to log in with a password.
ALTER TABLE orgs ADD COLUMN second_factor BIGINT NOT NULL DEFAULT 0;
