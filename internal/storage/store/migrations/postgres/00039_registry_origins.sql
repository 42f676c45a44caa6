-- The comments are in ../sqlite/00039_registry_origins.sql.

CREATE TABLE registry_origins (
    registry_uid    TEXT COLLATE "C" PRIMARY KEY,
    org_uid         TEXT COLLATE "C" NOT NULL,
    origin          TEXT COLLATE "C" NOT NULL,
    entry           TEXT COLLATE "C" NOT NULL,
    announced_since BIGINT,
    announced_valid BIGINT NOT NULL DEFAULT 1,
    announced_at    BIGINT,
    UNIQUE (org_uid, origin, entry),
    FOREIGN KEY (org_uid, registry_uid) REFERENCES registries (org_uid, uid) ON DELETE CASCADE
);

CREATE TABLE cluster_leases (
    org_uid     TEXT COLLATE "C" NOT NULL REFERENCES orgs (uid) ON DELETE CASCADE,
    cluster     TEXT COLLATE "C" NOT NULL,
    owner       TEXT COLLATE "C" NOT NULL,
    lease_until BIGINT NOT NULL,
    PRIMARY KEY (org_uid, cluster)
);
