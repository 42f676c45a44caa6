-- The comments are in ../sqlite/00045_password_policy.sql.

ALTER TABLE orgs ADD COLUMN password_policy TEXT COLLATE "C" NOT NULL DEFAULT '';
