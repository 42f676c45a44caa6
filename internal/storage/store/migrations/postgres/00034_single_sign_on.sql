-- The comments are in ../sqlite/00034_single_sign_on.sql.

CREATE TABLE identity_providers (
    org_uid       TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES orgs (uid) ON DELETE CASCADE,
    issuer        TEXT COLLATE "C" NOT NULL,
    settings      TEXT COLLATE "C" NOT NULL,
    client_secret BYTEA,
    changed_at    BIGINT NOT NULL
);

CREATE TABLE identities (
    uid           TEXT COLLATE "C" PRIMARY KEY,
    org_uid       TEXT COLLATE "C" NOT NULL,
    user_uid      TEXT COLLATE "C" NOT NULL,
    issuer        TEXT COLLATE "C" NOT NULL,
    subject       TEXT COLLATE "C" NOT NULL,
    refresh_token BYTEA,
    recheck_at    BIGINT,
    created_at    BIGINT NOT NULL,
    UNIQUE (org_uid, issuer, subject),
    FOREIGN KEY (org_uid, user_uid) REFERENCES users (org_uid, uid) ON DELETE CASCADE
);
CREATE INDEX identities_user ON identities (org_uid, user_uid);

CREATE TABLE session_identities (
    session_uid  TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES sessions (uid) ON DELETE CASCADE,
    identity_uid TEXT COLLATE "C" NOT NULL REFERENCES identities (uid) ON DELETE CASCADE,
    sid          TEXT COLLATE "C" NOT NULL,
    id_token     BYTEA
);
CREATE INDEX session_identities_identity ON session_identities (identity_uid);

ALTER TABLE sessions ADD COLUMN recheck_at BIGINT;
