-- The comments are in ../sqlite/00021_first_expiry.sql.

CREATE INDEX registry_watch_certificate ON registry_watch (org_uid, certificate_not_after) WHERE certificate_not_after IS NOT NULL;
CREATE INDEX registry_watch_credentials ON registry_watch (org_uid, credentials_not_after) WHERE credentials_not_after IS NOT NULL;
