-- The comments are in ../sqlite/00042_teams.sql.

CREATE TABLE teams (
    uid        TEXT COLLATE "C" PRIMARY KEY,
    org_uid    TEXT COLLATE "C" NOT NULL REFERENCES orgs (uid) ON DELETE CASCADE,
    name       TEXT COLLATE "C" NOT NULL,
    roles      TEXT COLLATE "C" NOT NULL,
    source     TEXT COLLATE "C" NOT NULL,
    created_at BIGINT           NOT NULL,
    UNIQUE (org_uid, name),
    UNIQUE (org_uid, uid)
);

CREATE TABLE team_members (
    team_uid TEXT COLLATE "C" NOT NULL,
    user_uid TEXT COLLATE "C" NOT NULL,
    org_uid  TEXT COLLATE "C" NOT NULL,
    by_group BIGINT NOT NULL,
    PRIMARY KEY (team_uid, user_uid),
    FOREIGN KEY (org_uid, team_uid) REFERENCES teams (org_uid, uid) ON DELETE CASCADE,
    FOREIGN KEY (org_uid, user_uid) REFERENCES users (org_uid, uid) ON DELETE CASCADE
);
CREATE INDEX team_members_team ON team_members (org_uid, team_uid);
CREATE INDEX team_members_user ON team_members (org_uid, user_uid);

CREATE TABLE team_projects (
    team_uid    TEXT COLLATE "C" NOT NULL,
    project_uid TEXT COLLATE "C" NOT NULL,
    org_uid     TEXT COLLATE "C" NOT NULL,
    roles       TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (team_uid, project_uid),
    FOREIGN KEY (org_uid, team_uid) REFERENCES teams (org_uid, uid) ON DELETE CASCADE,
    FOREIGN KEY (org_uid, project_uid) REFERENCES projects (org_uid, uid) ON DELETE CASCADE
);
CREATE INDEX team_projects_team ON team_projects (org_uid, team_uid);
CREATE INDEX team_projects_project ON team_projects (org_uid, project_uid);
