-- The comments are in ../sqlite/00015_registry_health.sql.

ALTER TABLE registry_watch ADD COLUMN message TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE registry_watch ADD COLUMN hint TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE registry_watch SET
    message = COALESCE((SELECT substr(CAST(convert_from(v.report, 'UTF8') AS json) ->> 'message', 1, 1024) FROM registry_verdicts v
        WHERE v.registry_uid = registry_watch.registry_uid AND v.counted = 1 ORDER BY v.run DESC LIMIT 1), ''),
    hint = COALESCE((SELECT substr(CAST(convert_from(v.report, 'UTF8') AS json) ->> 'hint', 1, 1024) FROM registry_verdicts v
        WHERE v.registry_uid = registry_watch.registry_uid AND v.counted = 1 ORDER BY v.run DESC LIMIT 1), '')
    WHERE since IS NOT NULL AND valid = 0;
