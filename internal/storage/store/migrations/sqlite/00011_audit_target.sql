-- Where a webhook of an alert channel leads, in the records of its changes.

ALTER TABLE audits ADD COLUMN target TEXT;
