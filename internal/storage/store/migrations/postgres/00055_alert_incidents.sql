-- The comments are in ../sqlite/00055_alert_incidents.sql.

ALTER TABLE alert_channels ADD COLUMN after_minutes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE alert_channels ADD COLUMN repeat_hours BIGINT NOT NULL DEFAULT 0;

CREATE TABLE alert_incidents (
    channel_uid  TEXT COLLATE "C" NOT NULL,
    registry_uid TEXT COLLATE "C" NOT NULL,
    org_uid      TEXT COLLATE "C" NOT NULL,
    alert_uid    TEXT COLLATE "C" NOT NULL,
    due_at       BIGINT NOT NULL,
    sent         BIGINT NOT NULL,
    PRIMARY KEY (channel_uid, registry_uid),
    FOREIGN KEY (org_uid, channel_uid) REFERENCES alert_channels (org_uid, uid) ON DELETE CASCADE,
    FOREIGN KEY (org_uid, registry_uid) REFERENCES registries (org_uid, uid) ON DELETE CASCADE,
    FOREIGN KEY (org_uid, alert_uid) REFERENCES alerts (org_uid, uid) ON DELETE CASCADE
);
CREATE INDEX alert_incidents_due ON alert_incidents (due_at);
CREATE INDEX alert_incidents_channel ON alert_incidents (org_uid, channel_uid);
CREATE INDEX alert_incidents_registry ON alert_incidents (org_uid, registry_uid);
CREATE INDEX alert_incidents_alert ON alert_incidents (org_uid, alert_uid);
