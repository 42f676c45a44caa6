-- What the health status of a registry says, and how to fix it, so that lists need no report.

ALTER TABLE registry_watch ADD COLUMN message TEXT NOT NULL DEFAULT '';
ALTER TABLE registry_watch ADD COLUMN hint TEXT NOT NULL DEFAULT '';
UPDATE registry_watch SET
    message = COALESCE((SELECT substr(json_extract(CAST(v.report AS TEXT), '$.message'), 1, 1024) FROM registry_verdicts v
        WHERE v.registry_uid = registry_watch.registry_uid AND v.counted = 1 ORDER BY v.run DESC LIMIT 1), ''),
    hint = COALESCE((SELECT substr(json_extract(CAST(v.report AS TEXT), '$.hint'), 1, 1024) FROM registry_verdicts v
        WHERE v.registry_uid = registry_watch.registry_uid AND v.counted = 1 ORDER BY v.run DESC LIMIT 1), '')
    WHERE since IS NOT NULL AND valid = 0;
