-- New labels and skipPackSync had ended the synchronizations of a registry for good, until somebody requested one.

UPDATE registry_sync SET next_at = last_synced_at
WHERE next_at IS NULL AND asked = 1 AND status = 'Pending' AND last_synced_at IS NOT NULL;
