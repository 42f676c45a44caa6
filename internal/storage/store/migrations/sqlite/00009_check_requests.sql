-- Checks of stored registries that users ask for. A server does them like scheduled ones.

ALTER TABLE registry_watch ADD COLUMN asked BIGINT NOT NULL DEFAULT 0;    -- number of requests
ALTER TABLE registry_watch ADD COLUMN answered BIGINT NOT NULL DEFAULT 0; -- requests that a check began after
ALTER TABLE registry_watch ADD COLUMN answer BYTEA;                       -- report of the newest such check; NULL when the definition could not be tried
