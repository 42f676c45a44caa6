-- On PostgreSQL, servers divide the table of audit records into one for each month, a day after this (internal/storage/partitions). Programs that
-- do not know this migration cannot use the divided table. A file stays as it is.

UPDATE schema_floor SET least = least WHERE id = 1;
