-- What public clients set on projects, and which project a registry definition was stored in. project_uid has no foreign
-- key, since SQLite cannot drop such a column again: whoever writes it or deletes the project locks the project's row first.

-- +goose Up
ALTER TABLE projects ADD COLUMN annotations TEXT; -- JSON
ALTER TABLE projects ADD COLUMN labels TEXT; -- JSON
ALTER TABLE registries ADD COLUMN project_uid TEXT;
CREATE INDEX registries_project ON registries (org_uid, project_uid) WHERE project_uid IS NOT NULL;

-- +goose Down
DROP INDEX registries_project;
ALTER TABLE registries DROP COLUMN project_uid;
ALTER TABLE projects DROP COLUMN labels;
ALTER TABLE projects DROP COLUMN annotations;
