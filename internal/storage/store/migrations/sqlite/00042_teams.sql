-- Teams of an organization: their members have the roles of the team in the organization (teams.roles, separated by spaces) and in projects,
-- in addition to their own. users.granted is 1 for every member. The name is in the normal form NFC, and its case counts, since groups of an
-- identity provider are compared with it. source is empty, or sso for a team that was made for a group.
-- by_group is 1 for a member by a group of the identity provider, who leaves the team when it leaves the group.

CREATE TABLE teams (
    uid        TEXT   PRIMARY KEY,
    org_uid    TEXT   NOT NULL REFERENCES orgs (uid) ON DELETE CASCADE,
    name       TEXT   NOT NULL,
    roles      TEXT   NOT NULL,
    source     TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (org_uid, name),
    UNIQUE (org_uid, uid)
);

CREATE TABLE team_members (
    team_uid TEXT NOT NULL,
    user_uid TEXT NOT NULL,
    org_uid  TEXT NOT NULL,
    by_group BIGINT NOT NULL,
    PRIMARY KEY (team_uid, user_uid),
    FOREIGN KEY (org_uid, team_uid) REFERENCES teams (org_uid, uid) ON DELETE CASCADE,
    FOREIGN KEY (org_uid, user_uid) REFERENCES users (org_uid, uid) ON DELETE CASCADE
);
CREATE INDEX team_members_team ON team_members (org_uid, team_uid);
CREATE INDEX team_members_user ON team_members (org_uid, user_uid);

CREATE TABLE team_projects (
    team_uid    TEXT NOT NULL,
    project_uid TEXT NOT NULL,
    org_uid     TEXT NOT NULL,
    roles       TEXT NOT NULL,
    PRIMARY KEY (team_uid, project_uid),
    FOREIGN KEY (org_uid, team_uid) REFERENCES teams (org_uid, uid) ON DELETE CASCADE,
    FOREIGN KEY (org_uid, project_uid) REFERENCES projects (org_uid, uid) ON DELETE CASCADE
);
CREATE INDEX team_projects_team ON team_projects (org_uid, team_uid);
CREATE INDEX team_projects_project ON team_projects (org_uid, project_uid);
