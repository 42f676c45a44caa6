-- What limits an API key: the scope, empty for none, and the uid of a project. The first such row sets schema_floor, since older programs ignore
-- limits. A key whose project was deleted stays, and may do nothing.

ALTER TABLE api_keys ADD COLUMN scope TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN project_uid TEXT;
