-- Times without alerts: of one registry, of those with a label, or without both of the organization.

CREATE TABLE alert_mutes (
    uid          TEXT   PRIMARY KEY,
    org_uid      TEXT   NOT NULL REFERENCES orgs (uid) ON DELETE CASCADE,
    registry_uid TEXT,
    label_key    TEXT   NOT NULL,
    label_value  TEXT   NOT NULL,
    reason       TEXT   NOT NULL,
    created_by   TEXT   NOT NULL,
    starts_at    BIGINT NOT NULL,
    ends_at      BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    FOREIGN KEY (org_uid, registry_uid) REFERENCES registries (org_uid, uid) ON DELETE CASCADE
);
CREATE INDEX alert_mutes_org ON alert_mutes (org_uid, ends_at);
CREATE INDEX alert_mutes_registry ON alert_mutes (org_uid, registry_uid);

-- The health that a registry had before its first change without an alert. state is JSON.
CREATE TABLE muted_registries (
    registry_uid TEXT NOT NULL PRIMARY KEY,
    org_uid      TEXT NOT NULL,
    state        TEXT NOT NULL,
    FOREIGN KEY (org_uid, registry_uid) REFERENCES registries (org_uid, uid) ON DELETE CASCADE
);
CREATE INDEX muted_registries_org ON muted_registries (org_uid, registry_uid);
