-- For lists and counts by health.

CREATE INDEX registry_watch_health ON registry_watch (org_uid, valid, since);
