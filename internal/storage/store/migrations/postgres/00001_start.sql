-- The comments are in ../sqlite/00001_start.sql.

CREATE TABLE data_keyset (
    id         BIGINT PRIMARY KEY CHECK (id = 1),
    wrapped    BYTEA  NOT NULL,
    created_at BIGINT NOT NULL,
    wrapped_at BIGINT NOT NULL
);

CREATE TABLE service_keys (
    uid          TEXT COLLATE "C" PRIMARY KEY,
    purpose      TEXT COLLATE "C" NOT NULL CHECK (purpose IN ('sign', 'mac')),
    public       BYTEA,
    sealed       BYTEA            NOT NULL,
    created_at   BIGINT           NOT NULL,
    retired_at   BIGINT,
    verify_until BIGINT
);
CREATE UNIQUE INDEX service_keys_active ON service_keys (purpose) WHERE retired_at IS NULL;

CREATE TABLE orgs (
    uid        TEXT COLLATE "C" PRIMARY KEY,
    name       TEXT COLLATE "C" NOT NULL,
    canonical  TEXT COLLATE "C" NOT NULL UNIQUE,
    created_at BIGINT           NOT NULL
);

CREATE TABLE projects (
    uid        TEXT COLLATE "C" PRIMARY KEY,
    org_uid    TEXT COLLATE "C" NOT NULL REFERENCES orgs (uid),
    name       TEXT COLLATE "C" NOT NULL,
    canonical  TEXT COLLATE "C" NOT NULL,
    created_at BIGINT           NOT NULL,
    UNIQUE (org_uid, canonical),
    UNIQUE (org_uid, uid)
);

CREATE TABLE users (
    uid                 TEXT COLLATE "C" PRIMARY KEY,
    org_uid             TEXT COLLATE "C" NOT NULL REFERENCES orgs (uid),
    email               TEXT COLLATE "C" NOT NULL,
    canonical           TEXT COLLATE "C" NOT NULL,
    role                TEXT COLLATE "C" NOT NULL CHECK (role IN ('admin', 'member')),
    password_hash       TEXT COLLATE "C" NOT NULL,
    password_changed_at BIGINT           NOT NULL,
    created_at          BIGINT           NOT NULL,
    last_login_at       BIGINT,
    disabled_at         BIGINT,
    UNIQUE (org_uid, canonical),
    UNIQUE (org_uid, uid)
);

CREATE TABLE project_members (
    user_uid    TEXT COLLATE "C" NOT NULL,
    project_uid TEXT COLLATE "C" NOT NULL,
    org_uid     TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (user_uid, project_uid),
    FOREIGN KEY (org_uid, user_uid) REFERENCES users (org_uid, uid) ON DELETE CASCADE,
    FOREIGN KEY (org_uid, project_uid) REFERENCES projects (org_uid, uid) ON DELETE CASCADE
);
CREATE INDEX project_members_project ON project_members (org_uid, project_uid);

CREATE TABLE sessions (
    uid         TEXT COLLATE "C" PRIMARY KEY,
    org_uid     TEXT COLLATE "C" NOT NULL,
    user_uid    TEXT COLLATE "C" NOT NULL,
    generation  BIGINT           NOT NULL,
    address     TEXT COLLATE "C" NOT NULL,
    created_at  BIGINT           NOT NULL,
    advanced_at BIGINT           NOT NULL,
    used_at     BIGINT           NOT NULL,
    idle_until  BIGINT           NOT NULL,
    max_until   BIGINT           NOT NULL,
    ended_at    BIGINT,
    end_reason  TEXT COLLATE "C",
    FOREIGN KEY (org_uid, user_uid) REFERENCES users (org_uid, uid) ON DELETE CASCADE
);
CREATE INDEX sessions_user ON sessions (org_uid, user_uid, ended_at);
CREATE INDEX sessions_max ON sessions (max_until);

CREATE TABLE spent_jtis (
    jti         TEXT COLLATE "C" PRIMARY KEY,
    session_uid TEXT COLLATE "C" NOT NULL REFERENCES sessions (uid) ON DELETE CASCADE,
    spent_at    BIGINT           NOT NULL,
    next_jti    TEXT COLLATE "C" NOT NULL,
    next_kid    TEXT COLLATE "C" NOT NULL,
    expires_at  BIGINT           NOT NULL
);
CREATE INDEX spent_jtis_session ON spent_jtis (session_uid);
CREATE INDEX spent_jtis_expiry ON spent_jtis (expires_at);

CREATE TABLE api_keys (
    uid            TEXT COLLATE "C" PRIMARY KEY,
    org_uid        TEXT COLLATE "C" NOT NULL,
    user_uid       TEXT COLLATE "C" NOT NULL,
    name           TEXT COLLATE "C" NOT NULL,
    canonical      TEXT COLLATE "C" NOT NULL,
    hash           BYTEA            NOT NULL UNIQUE,
    created_at     BIGINT           NOT NULL,
    expires_at     BIGINT           NOT NULL,
    deactivated_at BIGINT,
    last_used_at   BIGINT,
    UNIQUE (org_uid, user_uid, canonical),
    FOREIGN KEY (org_uid, user_uid) REFERENCES users (org_uid, uid) ON DELETE CASCADE
);

CREATE TABLE audits (
    uid        TEXT COLLATE "C" PRIMARY KEY,
    at         BIGINT           NOT NULL,
    org_uid    TEXT COLLATE "C",
    actor_uid  TEXT COLLATE "C",
    actor_name TEXT COLLATE "C" NOT NULL,
    means      TEXT COLLATE "C" NOT NULL,
    action     TEXT COLLATE "C" NOT NULL,
    object     TEXT COLLATE "C" NOT NULL,
    outcome    TEXT COLLATE "C" NOT NULL,
    reason     TEXT COLLATE "C" NOT NULL,
    request_id TEXT COLLATE "C" NOT NULL,
    address    TEXT COLLATE "C" NOT NULL,
    report     BYTEA
);
CREATE INDEX audits_org ON audits (org_uid, at, uid);
CREATE INDEX audits_at ON audits (at);
