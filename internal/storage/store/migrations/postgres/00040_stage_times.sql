-- The comments are in ../sqlite/00040_stage_times.sql.

ALTER TABLE registry_watch ADD COLUMN stage_times TEXT COLLATE "C" NOT NULL DEFAULT '';
