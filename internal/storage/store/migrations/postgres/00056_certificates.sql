-- The comments are in ../sqlite/00056_certificates.sql.

ALTER TABLE registry_watch ADD COLUMN certificates TEXT COLLATE "C";
