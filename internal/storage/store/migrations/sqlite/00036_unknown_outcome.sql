-- Checks of registries whose provider of credentials is down have an outcome of their own, which the newest changes of registries show.

DROP INDEX audits_registry_changes;
CREATE INDEX audits_registry_changes ON audits (org_uid, at, uid) WHERE action IN ('registry.create', 'registry.update', 'registry.delete', 'registry.watch') AND outcome IN ('succeeded', 'valid', 'notValid', 'unknown');
