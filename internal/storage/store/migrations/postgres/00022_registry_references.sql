-- The comments are in ../sqlite/00022_registry_references.sql.

ALTER TABLE registry_details ADD COLUMN content_references TEXT COLLATE "C";
