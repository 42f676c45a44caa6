-- Each migration is in both folders, ../postgres and this one, and a test holds the tables of both to each other. BIGINT and BYTEA
-- are PostgreSQL's names; SQLite stores an integer or blob as it comes, whatever the column is called. Texts compare byte by byte,
-- in PostgreSQL by COLLATE "C": the order of a language differs between databases and C libraries, and a standby that takes over on
-- another machine would find its unique indexes out of order. Times are UTC milliseconds. A moment that has not come is NULL. Foreign
-- keys name the organization too, so that no row can join two. Large tables that requests read by uid are stored in its order in
-- SQLite (WITHOUT ROWID), which saves an index and a page each time; PostgreSQL has no such thing.

CREATE TABLE data_keyset (
    id         BIGINT PRIMARY KEY CHECK (id = 1),
    wrapped    BYTEA  NOT NULL,
    created_at BIGINT NOT NULL,
    wrapped_at BIGINT NOT NULL
);

CREATE TABLE service_keys (
    uid          TEXT   PRIMARY KEY,
    purpose      TEXT   NOT NULL CHECK (purpose IN ('sign', 'mac')),
    public       BYTEA,
    sealed       BYTEA  NOT NULL,
    created_at   BIGINT NOT NULL,
    retired_at   BIGINT,
    verify_until BIGINT
);
-- At most one key of a purpose is in use, whoever makes them at the same time.
CREATE UNIQUE INDEX service_keys_active ON service_keys (purpose) WHERE retired_at IS NULL;

CREATE TABLE orgs (
    uid        TEXT   PRIMARY KEY,
    name       TEXT   NOT NULL,
    canonical  TEXT   NOT NULL UNIQUE,
    created_at BIGINT NOT NULL
);

CREATE TABLE projects (
    uid        TEXT   PRIMARY KEY,
    org_uid    TEXT   NOT NULL REFERENCES orgs (uid),
    name       TEXT   NOT NULL,
    canonical  TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (org_uid, canonical),
    UNIQUE (org_uid, uid)
);

CREATE TABLE users (
    uid                 TEXT   PRIMARY KEY,
    org_uid             TEXT   NOT NULL REFERENCES orgs (uid),
    email               TEXT   NOT NULL,
    canonical           TEXT   NOT NULL,
    role                TEXT   NOT NULL CHECK (role IN ('admin', 'member')),
    password_hash       TEXT   NOT NULL,
    password_changed_at BIGINT NOT NULL,
    created_at          BIGINT NOT NULL,
    last_login_at       BIGINT,
    disabled_at         BIGINT,
    UNIQUE (org_uid, canonical),
    UNIQUE (org_uid, uid)
) WITHOUT ROWID;

CREATE TABLE project_members (
    user_uid    TEXT NOT NULL,
    project_uid TEXT NOT NULL,
    org_uid     TEXT NOT NULL,
    PRIMARY KEY (user_uid, project_uid),
    FOREIGN KEY (org_uid, user_uid) REFERENCES users (org_uid, uid) ON DELETE CASCADE,
    FOREIGN KEY (org_uid, project_uid) REFERENCES projects (org_uid, uid) ON DELETE CASCADE
);
CREATE INDEX project_members_project ON project_members (org_uid, project_uid);

-- One row per session, not per token: a refresh is one conditional update of generation.
CREATE TABLE sessions (
    uid         TEXT   PRIMARY KEY,
    org_uid     TEXT   NOT NULL,
    user_uid    TEXT   NOT NULL,
    generation  BIGINT NOT NULL,
    address     TEXT   NOT NULL,
    created_at  BIGINT NOT NULL,
    advanced_at BIGINT NOT NULL,
    used_at     BIGINT NOT NULL,
    idle_until  BIGINT NOT NULL,
    max_until   BIGINT NOT NULL,
    ended_at    BIGINT,
    end_reason  TEXT,
    FOREIGN KEY (org_uid, user_uid) REFERENCES users (org_uid, uid) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX sessions_user ON sessions (org_uid, user_uid, ended_at);
CREATE INDEX sessions_max ON sessions (max_until);

-- Authorization tokens exchanged at the refresh path: each jti once, with the answer it was given.
CREATE TABLE spent_jtis (
    jti         TEXT   PRIMARY KEY,
    session_uid TEXT   NOT NULL REFERENCES sessions (uid) ON DELETE CASCADE,
    spent_at    BIGINT NOT NULL,
    next_jti    TEXT   NOT NULL,
    next_kid    TEXT   NOT NULL,
    expires_at  BIGINT NOT NULL
);
CREATE INDEX spent_jtis_session ON spent_jtis (session_uid);
CREATE INDEX spent_jtis_expiry ON spent_jtis (expires_at);

CREATE TABLE api_keys (
    uid            TEXT   PRIMARY KEY,
    org_uid        TEXT   NOT NULL,
    user_uid       TEXT   NOT NULL,
    name           TEXT   NOT NULL,
    canonical      TEXT   NOT NULL,
    hash           BYTEA  NOT NULL UNIQUE,
    created_at     BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL,
    deactivated_at BIGINT,
    last_used_at   BIGINT,
    UNIQUE (org_uid, user_uid, canonical),
    FOREIGN KEY (org_uid, user_uid) REFERENCES users (org_uid, uid) ON DELETE CASCADE
);

-- No foreign keys: the record outlives what it tells of.
CREATE TABLE audits (
    uid          TEXT   PRIMARY KEY,
    at           BIGINT NOT NULL,
    org_uid      TEXT,
    actor_uid    TEXT,
    actor_name   TEXT   NOT NULL,
    means        TEXT   NOT NULL,
    action       TEXT   NOT NULL,
    object       TEXT   NOT NULL,
    outcome      TEXT   NOT NULL,
    reason       TEXT   NOT NULL,
    request_id   TEXT   NOT NULL,
    address      TEXT   NOT NULL,
    report       BYTEA
) WITHOUT ROWID;
CREATE INDEX audits_org ON audits (org_uid, at, uid);
CREATE INDEX audits_at ON audits (at);
