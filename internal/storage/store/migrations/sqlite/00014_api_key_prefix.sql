-- The beginning of an API key, by which people recognize it.

ALTER TABLE api_keys ADD COLUMN prefix TEXT; -- NULL for keys of older versions
