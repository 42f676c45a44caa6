-- How long the stages of the newest check took: NAME=MICROSECONDS, separated by spaces, without those that were skipped.

ALTER TABLE registry_watch ADD COLUMN stage_times TEXT NOT NULL DEFAULT '';
