-- Pauses of a run without progress, which failures counted too: a run that was paused for the first time was given up after an outage.

ALTER TABLE registry_sync ADD COLUMN pauses BIGINT NOT NULL DEFAULT 0;
