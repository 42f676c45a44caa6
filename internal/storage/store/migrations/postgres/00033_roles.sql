-- The comments are in ../sqlite/00033_roles.sql.

ALTER TABLE users ADD COLUMN roles TEXT COLLATE "C" NOT NULL DEFAULT '';
