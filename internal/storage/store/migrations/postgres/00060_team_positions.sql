-- The comments are in ../sqlite/00060_team_positions.sql.

ALTER TABLE team_members ADD COLUMN position BIGINT NOT NULL DEFAULT 0;
