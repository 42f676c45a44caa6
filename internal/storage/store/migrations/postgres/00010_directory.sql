-- The comments are in ../sqlite/00010_directory.sql.

ALTER TABLE projects ADD COLUMN annotations TEXT COLLATE "C";
ALTER TABLE projects ADD COLUMN labels TEXT COLLATE "C";
ALTER TABLE registries ADD COLUMN project_uid TEXT COLLATE "C";
ALTER TABLE users ADD COLUMN name TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN first_name TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN last_name TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN role_named BIGINT NOT NULL DEFAULT 0;
CREATE INDEX registries_project ON registries (org_uid, project_uid) WHERE project_uid IS NOT NULL;
