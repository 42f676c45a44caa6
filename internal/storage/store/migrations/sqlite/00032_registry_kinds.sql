-- The kind of a stored registry: ecr, helm (a chart repository), or empty for other registries.

ALTER TABLE registries ADD COLUMN kind TEXT NOT NULL DEFAULT '';

UPDATE registries SET kind = 'ecr' WHERE auth_type = 'ecr';
