-- Logins by an identity provider. settings is a JSON object. client_secret, refresh_token and id_token are encrypted.

CREATE TABLE identity_providers (
    org_uid       TEXT NOT NULL PRIMARY KEY REFERENCES orgs (uid) ON DELETE CASCADE,
    issuer        TEXT NOT NULL,
    settings      TEXT NOT NULL,
    client_secret BYTEA,
    changed_at    BIGINT NOT NULL
);

-- Who a user is at an issuer. At recheck_at the provider is asked whether it still is so.
CREATE TABLE identities (
    uid           TEXT PRIMARY KEY,
    org_uid       TEXT NOT NULL,
    user_uid      TEXT NOT NULL,
    issuer        TEXT NOT NULL,
    subject       TEXT NOT NULL,
    refresh_token BYTEA,
    recheck_at    BIGINT,
    created_at    BIGINT NOT NULL,
    UNIQUE (org_uid, issuer, subject),
    FOREIGN KEY (org_uid, user_uid) REFERENCES users (org_uid, uid) ON DELETE CASCADE
);
CREATE INDEX identities_user ON identities (org_uid, user_uid);

-- Sessions that an identity began. sid is the provider's name of its own session, or empty.
CREATE TABLE session_identities (
    session_uid  TEXT NOT NULL PRIMARY KEY REFERENCES sessions (uid) ON DELETE CASCADE,
    identity_uid TEXT NOT NULL REFERENCES identities (uid) ON DELETE CASCADE,
    sid          TEXT NOT NULL,
    id_token     BYTEA
);
CREATE INDEX session_identities_identity ON session_identities (identity_uid);

-- A session with an identity is not renewed after this time before the provider was asked. NULL: never asked.
ALTER TABLE sessions ADD COLUMN recheck_at BIGINT;
