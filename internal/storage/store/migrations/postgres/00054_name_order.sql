-- The comments are in ../sqlite/00054_name_order.sql.

ALTER TABLE registries ADD COLUMN sort_key TEXT COLLATE "C";

CREATE INDEX registries_by_name ON registries (org_uid, COALESCE(sort_key, canonical));
CREATE INDEX registries_without_sort_key ON registries (uid) WHERE sort_key IS NULL;
