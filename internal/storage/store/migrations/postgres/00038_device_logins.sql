-- The comments are in ../sqlite/00038_device_logins.sql.

CREATE TABLE device_logins (
    hash        BYTEA  NOT NULL PRIMARY KEY,
    user_code   TEXT COLLATE "C" NOT NULL UNIQUE,
    address     TEXT COLLATE "C" NOT NULL,
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    polled_at   BIGINT,
    denied      BIGINT NOT NULL DEFAULT 0,
    session_uid TEXT COLLATE "C" REFERENCES sessions (uid) ON DELETE CASCADE
);
CREATE INDEX device_logins_expiry ON device_logins (expires_at);
CREATE INDEX device_logins_session ON device_logins (session_uid) WHERE session_uid IS NOT NULL;
