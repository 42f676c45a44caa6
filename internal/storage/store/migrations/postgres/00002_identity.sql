-- The comments are in ../sqlite/00002_identity.sql.

CREATE TABLE change_counter (
    id   BIGINT PRIMARY KEY CHECK (id = 1),
    last BIGINT NOT NULL
);
INSERT INTO change_counter (id, last) VALUES (1, 0);

CREATE TABLE changes (
    seq     BIGINT           PRIMARY KEY,
    subject TEXT COLLATE "C" NOT NULL,
    at      BIGINT           NOT NULL
);
CREATE INDEX changes_at ON changes (at);

CREATE TABLE login_throttles (
    account       BYTEA  NOT NULL,
    source        BYTEA  NOT NULL,
    failures      BIGINT NOT NULL,
    blocked_until BIGINT NOT NULL,
    succeeded_at  BIGINT,
    forget_at     BIGINT NOT NULL,
    PRIMARY KEY (account, source)
);
CREATE INDEX login_throttles_forget ON login_throttles (forget_at);
