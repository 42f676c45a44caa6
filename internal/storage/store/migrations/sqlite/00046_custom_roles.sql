-- Roles that organizations define. Users, teams and trust rules have them by uid. scope is tenant, or project for a role that can be given in
-- projects too. permissions is a JSON list.

CREATE TABLE roles (
    uid         TEXT   PRIMARY KEY,
    org_uid     TEXT   NOT NULL REFERENCES orgs (uid) ON DELETE CASCADE,
    name        TEXT   NOT NULL,
    canonical   TEXT   NOT NULL,
    description TEXT   NOT NULL,
    scope       TEXT   NOT NULL,
    permissions TEXT   NOT NULL,
    created_at  BIGINT NOT NULL,
    UNIQUE (org_uid, canonical)
);
