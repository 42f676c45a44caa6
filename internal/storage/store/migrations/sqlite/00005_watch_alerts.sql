-- The watch over kept registries, and the alerts that come of it.
--
-- Both tables of work (registry_watch, alert_channels) are queues of the same kind: next_at is the moment from
-- which a row may be taken, and who takes it moves next_at to the end of its lease. A lease that ran out is then
-- nothing but a row that is due.

CREATE TABLE registry_watch (
    registry_uid TEXT   PRIMARY KEY,
    org_uid      TEXT   NOT NULL,
    next_at      BIGINT NOT NULL,
    lease_owner  TEXT,
    phase        BIGINT NOT NULL,            -- random: spreads what an outage left overdue
    unreachable  BIGINT NOT NULL DEFAULT 0,  -- checks in a row that ended retryable, for backing off
    unconfirmed  BIGINT NOT NULL DEFAULT 0,  -- the newest check ended retryable, and does not count yet
    since        BIGINT,                     -- of the state; NULL while there was no check
    valid        BIGINT NOT NULL DEFAULT 0,  -- the state: the newest verdict that counts
    code         TEXT   NOT NULL DEFAULT '',
    stage        TEXT   NOT NULL DEFAULT '',
    reason       TEXT   NOT NULL DEFAULT '',
    field        TEXT   NOT NULL DEFAULT '',
    expires_soon BIGINT NOT NULL DEFAULT 0,  -- the server's certificate was said to expire soon
    last_at      BIGINT,                     -- the newest check, whether it counts or not
    run          BIGINT NOT NULL DEFAULT 0,  -- the newest row of registry_verdicts
    behaviour    TEXT   NOT NULL DEFAULT '', -- how the registry answered, for cheaper checks
    told_since   BIGINT,                     -- the first alert of the newest ones, whose number is bounded
    told         BIGINT NOT NULL DEFAULT 0,  -- alerts since then
    untold       BIGINT NOT NULL DEFAULT 0,  -- changes of which none was raised
    FOREIGN KEY (org_uid, registry_uid) REFERENCES registries (org_uid, uid) ON DELETE CASCADE
);
CREATE INDEX registry_watch_due ON registry_watch (next_at);
CREATE INDEX registry_watch_org ON registry_watch (org_uid, next_at);
INSERT INTO registry_watch (registry_uid, org_uid, next_at, phase) SELECT uid, org_uid, created_at, created_at FROM registries;

-- One row per run of equal verdicts.
CREATE TABLE registry_verdicts (
    registry_uid TEXT   NOT NULL,
    run          BIGINT NOT NULL,
    org_uid      TEXT   NOT NULL,
    since        BIGINT NOT NULL,
    last_at      BIGINT NOT NULL,
    checks       BIGINT NOT NULL,
    counted      BIGINT NOT NULL, -- 0: not confirmed, so that it never became the state
    valid        BIGINT NOT NULL,
    code         TEXT   NOT NULL,
    stage        TEXT   NOT NULL,
    reason       TEXT   NOT NULL,
    field        TEXT   NOT NULL,
    expires_soon BIGINT NOT NULL,
    report       BYTEA,           -- of the first check of the run; NULL when the definition could not be tried
    PRIMARY KEY (registry_uid, run),
    FOREIGN KEY (org_uid, registry_uid) REFERENCES registries (org_uid, uid) ON DELETE CASCADE
);

CREATE TABLE alert_channels (
    uid             TEXT   PRIMARY KEY,
    org_uid         TEXT   NOT NULL,
    project_uid     TEXT   NOT NULL,
    component       TEXT   NOT NULL,
    position        BIGINT NOT NULL,
    type            TEXT   NOT NULL CHECK (type IN ('email', 'http')),
    active          BIGINT NOT NULL,
    alert_all_users BIGINT NOT NULL,
    identifiers     TEXT   NOT NULL, -- JSON
    sealed          BYTEA,           -- JSON of where and what to send; NULL for email
    created_at      BIGINT NOT NULL,
    next_at         BIGINT,          -- NULL while nothing waits to be sent
    lease_owner     TEXT,
    failures        BIGINT NOT NULL DEFAULT 0, -- in a row
    status_ok       BIGINT NOT NULL DEFAULT 0,
    status_message  TEXT   NOT NULL DEFAULT '',
    status_at       BIGINT,
    UNIQUE (org_uid, uid),
    FOREIGN KEY (org_uid, project_uid) REFERENCES projects (org_uid, uid) ON DELETE CASCADE
);
CREATE INDEX alert_channels_project ON alert_channels (org_uid, project_uid, component, position, uid);
CREATE INDEX alert_channels_component ON alert_channels (org_uid, component);
CREATE INDEX alert_channels_due ON alert_channels (org_uid, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX alert_channels_next ON alert_channels (next_at) WHERE next_at IS NOT NULL;

CREATE TABLE alerts (
    uid       TEXT   PRIMARY KEY,
    org_uid   TEXT   NOT NULL REFERENCES orgs (uid),
    component TEXT   NOT NULL,
    at        BIGINT NOT NULL,
    body      BYTEA  NOT NULL, -- JSON
    UNIQUE (org_uid, uid)
);
CREATE INDEX alerts_at ON alerts (at);

-- The outbox: what is owed to each channel, written with the change that it tells of.
CREATE TABLE alert_deliveries (
    uid         TEXT   PRIMARY KEY,
    org_uid     TEXT   NOT NULL,
    alert_uid   TEXT   NOT NULL,
    channel_uid TEXT   NOT NULL,
    created_at  BIGINT NOT NULL,
    next_at     BIGINT,          -- NULL once it was delivered or given up
    attempts    BIGINT NOT NULL DEFAULT 0,
    told        TEXT   NOT NULL DEFAULT '', -- JSON: the addresses of an e-mail channel that have it already, or refused it
    refused     BIGINT NOT NULL DEFAULT 0,  -- how many of these refused it
    ended_at    BIGINT,
    delivered   BIGINT NOT NULL DEFAULT 0,
    FOREIGN KEY (org_uid, alert_uid) REFERENCES alerts (org_uid, uid) ON DELETE CASCADE,
    FOREIGN KEY (org_uid, channel_uid) REFERENCES alert_channels (org_uid, uid) ON DELETE CASCADE
);
CREATE INDEX alert_deliveries_due ON alert_deliveries (channel_uid, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX alert_deliveries_alert ON alert_deliveries (org_uid, alert_uid);
CREATE INDEX alert_deliveries_channel ON alert_deliveries (org_uid, channel_uid);

-- Which keys were told to expire, with the end they had then.
CREATE TABLE api_key_alerts (
    key_uid    TEXT   NOT NULL REFERENCES api_keys (uid) ON DELETE CASCADE,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (key_uid, expires_at)
);
CREATE INDEX api_keys_expiry ON api_keys (expires_at, uid);
