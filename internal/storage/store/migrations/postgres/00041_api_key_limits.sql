-- The comments are in ../sqlite/00041_api_key_limits.sql.

ALTER TABLE api_keys ADD COLUMN scope TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN project_uid TEXT COLLATE "C";
