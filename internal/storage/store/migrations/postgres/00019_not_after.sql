-- The comments are in ../sqlite/00019_not_after.sql.

ALTER TABLE registry_watch ADD COLUMN certificate_not_after BIGINT;
ALTER TABLE registry_watch ADD COLUMN credentials_not_after BIGINT;
ALTER TABLE registry_verdicts ADD COLUMN certificate_not_after BIGINT;
ALTER TABLE registry_verdicts ADD COLUMN credentials_not_after BIGINT;
