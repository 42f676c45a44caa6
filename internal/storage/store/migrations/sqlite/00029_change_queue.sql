-- Changes that have no number yet. On PostgreSQL a transaction adds a row here, which waits for no other transaction. A server then moves the
-- committed rows to changes, where they get their numbers. SQLite has one writer, which numbers a change at once.

CREATE TABLE change_queue (
    id      BIGINT PRIMARY KEY,
    subject TEXT   NOT NULL,
    at      BIGINT NOT NULL
);
