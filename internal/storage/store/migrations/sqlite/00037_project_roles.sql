-- The roles of a user in a project, separated by spaces; empty for a member without more rights. granted is 1 for a user who has, or had, other
-- roles than those in its organization: only then they are read.

ALTER TABLE project_members ADD COLUMN roles TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN granted BIGINT NOT NULL DEFAULT 0;
