-- Refusals of one kind within a minute share a record, which counts those after the first.

ALTER TABLE audits ADD COLUMN repeats BIGINT NOT NULL DEFAULT 0;
