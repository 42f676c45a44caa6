-- The link by which a user sets its password, by the hash of its key. It can be used once.

CREATE TABLE invitations (
    org_uid    TEXT   NOT NULL,
    user_uid   TEXT   NOT NULL,
    hash       BYTEA  NOT NULL UNIQUE,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (org_uid, user_uid),
    FOREIGN KEY (org_uid, user_uid) REFERENCES users (org_uid, uid) ON DELETE CASCADE
);
