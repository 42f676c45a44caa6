-- The comments are in ../sqlite/00032_registry_kinds.sql.

ALTER TABLE registries ADD COLUMN kind TEXT COLLATE "C" NOT NULL DEFAULT '';

UPDATE registries SET kind = 'ecr' WHERE auth_type = 'ecr';
