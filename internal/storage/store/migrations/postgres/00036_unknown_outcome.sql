-- The comments are in ../sqlite/00036_unknown_outcome.sql.

DROP INDEX audits_registry_changes;
CREATE INDEX audits_registry_changes ON audits (org_uid, at, uid) WHERE action IN ('registry.create', 'registry.update', 'registry.delete', 'registry.watch') AND outcome IN ('succeeded', 'valid', 'notValid', 'unknown');
