-- The refreshes of a session share an audit record for each hour and source. refresh_uid is the record of the newest ones, and refreshes is how many
-- of them are not counted by its repeats yet: those after the first, until a refresh of another hour or the end of the row adds them.

ALTER TABLE sessions ADD COLUMN refresh_uid TEXT;
ALTER TABLE sessions ADD COLUMN refreshes BIGINT NOT NULL DEFAULT 0;
