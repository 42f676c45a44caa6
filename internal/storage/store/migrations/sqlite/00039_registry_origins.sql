-- Registries that are read from objects of a Kubernetes cluster, and not changed by users. origin is cluster/namespace/kind/name, and entry
-- distinguishes the definitions of one object. announced_since is since of registry_watch for the health that an Event of the object says, and
-- announced_valid what that was; announced_at is when the Event was written.

CREATE TABLE registry_origins (
    registry_uid    TEXT   PRIMARY KEY,
    org_uid         TEXT   NOT NULL,
    origin          TEXT   NOT NULL,
    entry           TEXT   NOT NULL,
    announced_since BIGINT,
    announced_valid BIGINT NOT NULL DEFAULT 1,
    announced_at    BIGINT,
    UNIQUE (org_uid, origin, entry),
    FOREIGN KEY (org_uid, registry_uid) REFERENCES registries (org_uid, uid) ON DELETE CASCADE
);

-- Which server reads a cluster for an organization now.
CREATE TABLE cluster_leases (
    org_uid     TEXT   NOT NULL REFERENCES orgs (uid) ON DELETE CASCADE,
    cluster     TEXT   NOT NULL,
    owner       TEXT   NOT NULL,
    lease_until BIGINT NOT NULL,
    PRIMARY KEY (org_uid, cluster)
);
