-- The comments are in ../sqlite/00030_auth_settings.sql.

ALTER TABLE registry_details ADD COLUMN auth_settings TEXT COLLATE "C";
