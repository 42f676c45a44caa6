-- The artifacts that must be complete, as a JSON array. NULL when there are none.

ALTER TABLE registry_details ADD COLUMN content_references TEXT;
