-- The comments are in ../sqlite/00052_channel_names.sql.

ALTER TABLE alert_channels ADD COLUMN name TEXT COLLATE "C" NOT NULL DEFAULT '';
