-- The comments are in ../sqlite/00008_audit_repeats.sql.

ALTER TABLE audits ADD COLUMN repeats BIGINT NOT NULL DEFAULT 0;
