-- The comments are in ../sqlite/00051_session_idle.sql.

ALTER TABLE orgs ADD COLUMN session_idle BIGINT NOT NULL DEFAULT 0;
