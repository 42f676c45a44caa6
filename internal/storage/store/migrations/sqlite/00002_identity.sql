-- What other processes must hear of within a second: sessions that ended, users and keys that changed. The
-- counter is a row so that its lock orders the transactions: a reader that has seen number n has seen
-- everything before it, on both databases.
CREATE TABLE change_counter (
    id   BIGINT PRIMARY KEY CHECK (id = 1),
    last BIGINT NOT NULL
);
INSERT INTO change_counter (id, last) VALUES (1, 0);

CREATE TABLE changes (
    seq     BIGINT PRIMARY KEY,
    subject TEXT   NOT NULL,
    at      BIGINT NOT NULL
);
CREATE INDEX changes_at ON changes (at);

-- Failed sign-ins. account and source are MACs: people type passwords into the e-mail field, and this
-- table keeps what was typed. The row with an empty source counts an account's failures over all sources
-- that have no success of their own.
CREATE TABLE login_throttles (
    account      BYTEA  NOT NULL,
    source       BYTEA  NOT NULL,
    failures     BIGINT NOT NULL,
    blocked_until BIGINT NOT NULL,
    succeeded_at BIGINT,
    forget_at    BIGINT NOT NULL,
    PRIMARY KEY (account, source)
);
CREATE INDEX login_throttles_forget ON login_throttles (forget_at);
