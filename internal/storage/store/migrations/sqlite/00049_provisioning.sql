-- What the identity provider calls the users and teams that it provisions by SCIM. created is 1 for a user that it created: only then does
-- the same id in a login lead to that user.

CREATE TABLE provisioned_users (
    user_uid    TEXT   NOT NULL PRIMARY KEY,
    org_uid     TEXT   NOT NULL,
    external_id TEXT,
    created     BIGINT NOT NULL,
    UNIQUE (org_uid, external_id),
    FOREIGN KEY (org_uid, user_uid) REFERENCES users (org_uid, uid) ON DELETE CASCADE
);

CREATE TABLE provisioned_teams (
    team_uid    TEXT NOT NULL PRIMARY KEY,
    org_uid     TEXT NOT NULL,
    external_id TEXT,
    UNIQUE (org_uid, external_id),
    FOREIGN KEY (org_uid, team_uid) REFERENCES teams (org_uid, uid) ON DELETE CASCADE
);
