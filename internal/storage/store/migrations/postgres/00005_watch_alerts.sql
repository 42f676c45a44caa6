-- The comments are in ../sqlite/00005_watch_alerts.sql.

CREATE TABLE registry_watch (
    registry_uid TEXT COLLATE "C" PRIMARY KEY,
    org_uid      TEXT COLLATE "C" NOT NULL,
    next_at      BIGINT           NOT NULL,
    lease_owner  TEXT COLLATE "C",
    phase        BIGINT           NOT NULL,
    unreachable  BIGINT           NOT NULL DEFAULT 0,
    unconfirmed  BIGINT           NOT NULL DEFAULT 0,
    since        BIGINT,
    valid        BIGINT           NOT NULL DEFAULT 0,
    code         TEXT COLLATE "C" NOT NULL DEFAULT '',
    stage        TEXT COLLATE "C" NOT NULL DEFAULT '',
    reason       TEXT COLLATE "C" NOT NULL DEFAULT '',
    field        TEXT COLLATE "C" NOT NULL DEFAULT '',
    expires_soon BIGINT           NOT NULL DEFAULT 0,
    last_at      BIGINT,
    run          BIGINT           NOT NULL DEFAULT 0,
    behaviour    TEXT COLLATE "C" NOT NULL DEFAULT '',
    told_since   BIGINT,
    told         BIGINT           NOT NULL DEFAULT 0,
    untold       BIGINT           NOT NULL DEFAULT 0,
    FOREIGN KEY (org_uid, registry_uid) REFERENCES registries (org_uid, uid) ON DELETE CASCADE
);
CREATE INDEX registry_watch_due ON registry_watch (next_at);
CREATE INDEX registry_watch_org ON registry_watch (org_uid, next_at);
INSERT INTO registry_watch (registry_uid, org_uid, next_at, phase) SELECT uid, org_uid, created_at, created_at FROM registries;

CREATE TABLE registry_verdicts (
    registry_uid TEXT COLLATE "C" NOT NULL,
    run          BIGINT           NOT NULL,
    org_uid      TEXT COLLATE "C" NOT NULL,
    since        BIGINT           NOT NULL,
    last_at      BIGINT           NOT NULL,
    checks       BIGINT           NOT NULL,
    counted      BIGINT           NOT NULL,
    valid        BIGINT           NOT NULL,
    code         TEXT COLLATE "C" NOT NULL,
    stage        TEXT COLLATE "C" NOT NULL,
    reason       TEXT COLLATE "C" NOT NULL,
    field        TEXT COLLATE "C" NOT NULL,
    expires_soon BIGINT           NOT NULL,
    report       BYTEA,
    PRIMARY KEY (registry_uid, run),
    FOREIGN KEY (org_uid, registry_uid) REFERENCES registries (org_uid, uid) ON DELETE CASCADE
);

CREATE TABLE alert_channels (
    uid             TEXT COLLATE "C" PRIMARY KEY,
    org_uid         TEXT COLLATE "C" NOT NULL,
    project_uid     TEXT COLLATE "C" NOT NULL,
    component       TEXT COLLATE "C" NOT NULL,
    position        BIGINT           NOT NULL,
    type            TEXT COLLATE "C" NOT NULL CHECK (type IN ('email', 'http')),
    active          BIGINT           NOT NULL,
    alert_all_users BIGINT           NOT NULL,
    identifiers     TEXT COLLATE "C" NOT NULL,
    sealed          BYTEA,
    created_at      BIGINT           NOT NULL,
    next_at         BIGINT,
    lease_owner     TEXT COLLATE "C",
    failures        BIGINT           NOT NULL DEFAULT 0,
    status_ok       BIGINT           NOT NULL DEFAULT 0,
    status_message  TEXT COLLATE "C" NOT NULL DEFAULT '',
    status_at       BIGINT,
    UNIQUE (org_uid, uid),
    FOREIGN KEY (org_uid, project_uid) REFERENCES projects (org_uid, uid) ON DELETE CASCADE
);
CREATE INDEX alert_channels_project ON alert_channels (org_uid, project_uid, component, position, uid);
CREATE INDEX alert_channels_component ON alert_channels (org_uid, component);
CREATE INDEX alert_channels_due ON alert_channels (org_uid, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX alert_channels_next ON alert_channels (next_at) WHERE next_at IS NOT NULL;

CREATE TABLE alerts (
    uid       TEXT COLLATE "C" PRIMARY KEY,
    org_uid   TEXT COLLATE "C" NOT NULL REFERENCES orgs (uid),
    component TEXT COLLATE "C" NOT NULL,
    at        BIGINT           NOT NULL,
    body      BYTEA            NOT NULL,
    UNIQUE (org_uid, uid)
);
CREATE INDEX alerts_at ON alerts (at);

CREATE TABLE alert_deliveries (
    uid         TEXT COLLATE "C" PRIMARY KEY,
    org_uid     TEXT COLLATE "C" NOT NULL,
    alert_uid   TEXT COLLATE "C" NOT NULL,
    channel_uid TEXT COLLATE "C" NOT NULL,
    created_at  BIGINT           NOT NULL,
    next_at     BIGINT,
    attempts    BIGINT           NOT NULL DEFAULT 0,
    told        TEXT COLLATE "C" NOT NULL DEFAULT '',
    refused     BIGINT           NOT NULL DEFAULT 0,
    ended_at    BIGINT,
    delivered   BIGINT           NOT NULL DEFAULT 0,
    FOREIGN KEY (org_uid, alert_uid) REFERENCES alerts (org_uid, uid) ON DELETE CASCADE,
    FOREIGN KEY (org_uid, channel_uid) REFERENCES alert_channels (org_uid, uid) ON DELETE CASCADE
);
CREATE INDEX alert_deliveries_due ON alert_deliveries (channel_uid, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX alert_deliveries_alert ON alert_deliveries (org_uid, alert_uid);
CREATE INDEX alert_deliveries_channel ON alert_deliveries (org_uid, channel_uid);

CREATE TABLE api_key_alerts (
    key_uid    TEXT COLLATE "C" NOT NULL REFERENCES api_keys (uid) ON DELETE CASCADE,
    expires_at BIGINT           NOT NULL,
    PRIMARY KEY (key_uid, expires_at)
);
CREATE INDEX api_keys_expiry ON api_keys (expires_at, uid);
