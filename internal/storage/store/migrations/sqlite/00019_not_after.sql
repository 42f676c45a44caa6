-- When the certificate of the server and the credentials expire, as the newest check saw it. NULL until a check has seen it, and for
-- credentials that do not show it.

ALTER TABLE registry_watch ADD COLUMN certificate_not_after BIGINT;
ALTER TABLE registry_watch ADD COLUMN credentials_not_after BIGINT;
ALTER TABLE registry_verdicts ADD COLUMN certificate_not_after BIGINT;
ALTER TABLE registry_verdicts ADD COLUMN credentials_not_after BIGINT;
