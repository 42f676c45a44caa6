-- The comments are in ../sqlite/00018_expiry.sql.

ALTER TABLE registry_watch ADD COLUMN credentials_expire_soon BIGINT NOT NULL DEFAULT 0;
ALTER TABLE registry_verdicts ADD COLUMN credentials_expire_soon BIGINT NOT NULL DEFAULT 0;
