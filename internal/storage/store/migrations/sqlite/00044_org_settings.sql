-- Settings of an organization that have no table of their own, by name. value is JSON.

CREATE TABLE org_settings (
    org_uid TEXT NOT NULL REFERENCES orgs (uid) ON DELETE CASCADE,
    name    TEXT NOT NULL,
    value   TEXT NOT NULL,
    PRIMARY KEY (org_uid, name)
);
