-- When a channel alerts of a registry: after it failed for so many minutes, and again each so many hours while it fails. 0: at once, not again.

ALTER TABLE alert_channels ADD COLUMN after_minutes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE alert_channels ADD COLUMN repeat_hours BIGINT NOT NULL DEFAULT 0;

-- Registries that fail, for channels that alert later or again: when they do, and how often they did.
CREATE TABLE alert_incidents (
    channel_uid  TEXT   NOT NULL,
    registry_uid TEXT   NOT NULL,
    org_uid      TEXT   NOT NULL,
    alert_uid    TEXT   NOT NULL, -- the newest one
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
