-- Lists are read from these indexes, the newest record first, without sorting. A member reads what it did
-- itself, in a table where others' records are many.

CREATE INDEX audits_actor ON audits (org_uid, actor_uid, at, uid);
DROP INDEX audits_at;
CREATE INDEX audits_at ON audits (at, uid);
