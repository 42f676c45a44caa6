-- The comments are in ../sqlite/00009_check_requests.sql.

ALTER TABLE registry_watch ADD COLUMN asked BIGINT NOT NULL DEFAULT 0;
ALTER TABLE registry_watch ADD COLUMN answered BIGINT NOT NULL DEFAULT 0;
ALTER TABLE registry_watch ADD COLUMN answer BYTEA;
