-- What credentials are obtained with, without secrets, as a JSON object of texts. NULL for given credentials.

ALTER TABLE registry_details ADD COLUMN auth_settings TEXT;
