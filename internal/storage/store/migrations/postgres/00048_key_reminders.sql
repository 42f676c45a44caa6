-- The comments are in ../sqlite/00048_key_reminders.sql.

CREATE TABLE key_reminders (
    org_uid     TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES orgs (uid) ON DELETE CASCADE,
    first_days  BIGINT NOT NULL,
    second_days BIGINT NOT NULL,
    third_days  BIGINT NOT NULL
);

ALTER TABLE api_key_alerts ADD COLUMN days BIGINT NOT NULL DEFAULT 7;
