-- Logins that a program without a browser has begun, and that wait for a person: hash is the SHA-256 of the program's code. session_uid is
-- that of the person who confirmed it.

CREATE TABLE device_logins (
    hash        BYTEA  NOT NULL PRIMARY KEY,
    user_code   TEXT   NOT NULL UNIQUE,
    address     TEXT   NOT NULL,
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    polled_at   BIGINT,
    denied      BIGINT NOT NULL DEFAULT 0,
    session_uid TEXT   REFERENCES sessions (uid) ON DELETE CASCADE
);
CREATE INDEX device_logins_expiry ON device_logins (expires_at);
CREATE INDEX device_logins_session ON device_logins (session_uid) WHERE session_uid IS NOT NULL;
