-- The reference by which a browser uses its session. The browser has it in a cookie; the table has its SHA-256.

CREATE TABLE session_references (
    hash        BYTEA NOT NULL PRIMARY KEY,
    session_uid TEXT  COLLATE "C" NOT NULL UNIQUE REFERENCES sessions (uid) ON DELETE CASCADE
);
