-- The comments are in ../sqlite/00044_org_settings.sql.

CREATE TABLE org_settings (
    org_uid TEXT COLLATE "C" NOT NULL REFERENCES orgs (uid) ON DELETE CASCADE,
    name    TEXT COLLATE "C" NOT NULL,
    value   TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (org_uid, name)
);
