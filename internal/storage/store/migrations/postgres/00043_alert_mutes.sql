-- The comments are in ../sqlite/00043_alert_mutes.sql.

CREATE TABLE alert_mutes (
    uid          TEXT COLLATE "C"   PRIMARY KEY,
    org_uid      TEXT COLLATE "C"   NOT NULL REFERENCES orgs (uid) ON DELETE CASCADE,
    registry_uid TEXT COLLATE "C",
    label_key    TEXT COLLATE "C"   NOT NULL,
    label_value  TEXT COLLATE "C"   NOT NULL,
    reason       TEXT COLLATE "C"   NOT NULL,
    created_by   TEXT COLLATE "C"   NOT NULL,
    starts_at    BIGINT NOT NULL,
    ends_at      BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    FOREIGN KEY (org_uid, registry_uid) REFERENCES registries (org_uid, uid) ON DELETE CASCADE
);
CREATE INDEX alert_mutes_org ON alert_mutes (org_uid, ends_at);
CREATE INDEX alert_mutes_registry ON alert_mutes (org_uid, registry_uid);

CREATE TABLE muted_registries (
    registry_uid TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    org_uid      TEXT COLLATE "C" NOT NULL,
    state        TEXT COLLATE "C" NOT NULL,
    FOREIGN KEY (org_uid, registry_uid) REFERENCES registries (org_uid, uid) ON DELETE CASCADE
);
CREATE INDEX muted_registries_org ON muted_registries (org_uid, registry_uid);
