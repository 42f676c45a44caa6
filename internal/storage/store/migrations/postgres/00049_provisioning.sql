-- The comments are in ../sqlite/00049_provisioning.sql.

CREATE TABLE provisioned_users (
    user_uid    TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    org_uid     TEXT COLLATE "C" NOT NULL,
    external_id TEXT COLLATE "C",
    created     BIGINT NOT NULL,
    UNIQUE (org_uid, external_id),
    FOREIGN KEY (org_uid, user_uid) REFERENCES users (org_uid, uid) ON DELETE CASCADE
);

CREATE TABLE provisioned_teams (
    team_uid    TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    org_uid     TEXT COLLATE "C" NOT NULL,
    external_id TEXT COLLATE "C",
    UNIQUE (org_uid, external_id),
    FOREIGN KEY (org_uid, team_uid) REFERENCES teams (org_uid, uid) ON DELETE CASCADE
);
