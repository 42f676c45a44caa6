-- Certificates that a registry needs, as JSON. The next check of each registry sets them.

ALTER TABLE registry_watch ADD COLUMN certificates TEXT;
