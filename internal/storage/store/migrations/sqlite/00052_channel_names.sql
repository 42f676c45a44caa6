-- A name that people give a channel, empty for none.

ALTER TABLE alert_channels ADD COLUMN name TEXT NOT NULL DEFAULT '';
