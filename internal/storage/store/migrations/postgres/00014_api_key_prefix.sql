-- The comments are in ../sqlite/00014_api_key_prefix.sql.

ALTER TABLE api_keys ADD COLUMN prefix TEXT COLLATE "C";
