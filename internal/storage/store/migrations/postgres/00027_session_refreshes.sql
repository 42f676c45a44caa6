-- The comments are in ../sqlite/00027_session_refreshes.sql.

ALTER TABLE sessions ADD COLUMN refresh_uid TEXT COLLATE "C";
ALTER TABLE sessions ADD COLUMN refreshes BIGINT NOT NULL DEFAULT 0;
