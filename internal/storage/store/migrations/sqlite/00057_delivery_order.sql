-- The registry of an incident that an alert begins, changes or ends: such deliveries have an order.

ALTER TABLE alert_deliveries ADD COLUMN registry_uid TEXT NOT NULL DEFAULT '';
DROP INDEX alert_deliveries_due;
CREATE INDEX alert_deliveries_due ON alert_deliveries (channel_uid, next_at, created_at) WHERE next_at IS NOT NULL;
