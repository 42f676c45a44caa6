-- The comments are in ../sqlite/00003_audit_lists.sql.

CREATE INDEX audits_actor ON audits (org_uid, actor_uid, at, uid);
DROP INDEX audits_at;
CREATE INDEX audits_at ON audits (at, uid);
