-- The comments are in ../sqlite/00058_held_syncs.sql.

UPDATE registry_sync SET next_at = last_synced_at
WHERE next_at IS NULL AND asked = 1 AND status = 'Pending' AND last_synced_at IS NOT NULL;
