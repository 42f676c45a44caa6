-- The comments are in ../sqlite/00017_health_index.sql.

CREATE INDEX registry_watch_health ON registry_watch (org_uid, valid, since);
