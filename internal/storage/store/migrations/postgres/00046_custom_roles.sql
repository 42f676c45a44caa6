-- The comments are in ../sqlite/00046_custom_roles.sql.

CREATE TABLE roles (
    uid         TEXT COLLATE "C" PRIMARY KEY,
    org_uid     TEXT COLLATE "C" NOT NULL REFERENCES orgs (uid) ON DELETE CASCADE,
    name        TEXT COLLATE "C" NOT NULL,
    canonical   TEXT COLLATE "C" NOT NULL,
    description TEXT COLLATE "C" NOT NULL,
    scope       TEXT COLLATE "C" NOT NULL,
    permissions TEXT COLLATE "C" NOT NULL,
    created_at  BIGINT NOT NULL,
    UNIQUE (org_uid, canonical)
);
