-- The comments are in ../sqlite/00057_delivery_order.sql.

ALTER TABLE alert_deliveries ADD COLUMN registry_uid TEXT COLLATE "C" NOT NULL DEFAULT '';
DROP INDEX alert_deliveries_due;
CREATE INDEX alert_deliveries_due ON alert_deliveries (channel_uid, next_at, created_at) WHERE next_at IS NOT NULL;
