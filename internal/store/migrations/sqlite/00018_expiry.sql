-- Credentials that expire soon, in the health status and its history. The next check of each registry sets it.

ALTER TABLE registry_watch ADD COLUMN credentials_expire_soon BIGINT NOT NULL DEFAULT 0;
ALTER TABLE registry_verdicts ADD COLUMN credentials_expire_soon BIGINT NOT NULL DEFAULT 0;
