-- When an organization is reminded that API keys expire: days before the end, the most first, 0 for none. Without a row they are 30, 7 and 1.

CREATE TABLE key_reminders (
    org_uid     TEXT   NOT NULL PRIMARY KEY REFERENCES orgs (uid) ON DELETE CASCADE,
    first_days  BIGINT NOT NULL,
    second_days BIGINT NOT NULL,
    third_days  BIGINT NOT NULL
);

-- The last reminder of a key for this end. Older programs remind once, after seven days.
ALTER TABLE api_key_alerts ADD COLUMN days BIGINT NOT NULL DEFAULT 7;
