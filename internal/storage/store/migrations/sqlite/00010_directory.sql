-- What public clients set on users and projects, and which project a registry definition was stored in. project_uid has no foreign
-- key, since SQLite cannot drop such a column again: whoever writes it or deletes the project locks the project's row first.

ALTER TABLE projects ADD COLUMN annotations TEXT; -- JSON
ALTER TABLE projects ADD COLUMN labels TEXT; -- JSON
ALTER TABLE registries ADD COLUMN project_uid TEXT;
ALTER TABLE users ADD COLUMN name TEXT NOT NULL DEFAULT ''; -- empty: shown by the email
ALTER TABLE users ADD COLUMN first_name TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN last_name TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN role_named BIGINT NOT NULL DEFAULT 0; -- 1: the role was given by name, 0: a member since none was named
CREATE INDEX registries_project ON registries (org_uid, project_uid) WHERE project_uid IS NOT NULL;
