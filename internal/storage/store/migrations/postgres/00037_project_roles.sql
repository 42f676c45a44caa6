-- The comments are in ../sqlite/00037_project_roles.sql.

ALTER TABLE project_members ADD COLUMN roles TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN granted BIGINT NOT NULL DEFAULT 0;
