-- The comments are in ../sqlite/00059_sync_pauses.sql.

ALTER TABLE registry_sync ADD COLUMN pauses BIGINT NOT NULL DEFAULT 0;
