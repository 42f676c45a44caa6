-- The comments are in ../sqlite/00028_audit_partitions.sql.

UPDATE schema_floor SET least = least WHERE id = 1;
