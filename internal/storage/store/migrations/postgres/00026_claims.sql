-- The comments are in ../sqlite/00026_claims.sql.

ALTER TABLE registry_watch ADD COLUMN lease_until BIGINT NOT NULL DEFAULT 0;
-- Each check changes a row of both tables twice: the new version fits into the same page, and dead ones are removed early.
ALTER TABLE registry_watch SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
ALTER TABLE registry_verdicts SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
