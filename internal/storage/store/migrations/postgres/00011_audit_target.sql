-- The comments are in ../sqlite/00011_audit_target.sql.

ALTER TABLE audits ADD COLUMN target TEXT COLLATE "C";
