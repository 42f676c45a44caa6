-- Lists of registries are in the natural order of names: sort_key is names.SortKey of the canonical name. It is NULL in rows that an earlier
-- server wrote, until the next start of a newer one. They are listed by the name until then.

ALTER TABLE registries ADD COLUMN sort_key TEXT;

CREATE INDEX registries_by_name ON registries (org_uid, COALESCE(sort_key, canonical));
CREATE INDEX registries_without_sort_key ON registries (uid) WHERE sort_key IS NULL;
