-- The comments are in ../sqlite/00050_invitations.sql.

CREATE TABLE invitations (
    org_uid    TEXT COLLATE "C" NOT NULL,
    user_uid   TEXT COLLATE "C" NOT NULL,
    hash       BYTEA  NOT NULL UNIQUE,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (org_uid, user_uid),
    FOREIGN KEY (org_uid, user_uid) REFERENCES users (org_uid, uid) ON DELETE CASCADE
);
