-- The comments are in ../sqlite/00006_registry_sync.sql.

CREATE TABLE registry_sync (
    registry_uid     TEXT COLLATE "C" PRIMARY KEY,
    org_uid          TEXT COLLATE "C" NOT NULL,
    next_at          BIGINT,
    asked            BIGINT           NOT NULL,
    lease_owner      TEXT COLLATE "C",
    status           TEXT COLLATE "C" NOT NULL CHECK (status IN ('Pending', 'InProgress', 'Success', 'Failed')),
    message          TEXT COLLATE "C" NOT NULL,
    last_run_at      BIGINT,
    last_synced_at   BIGINT,
    run              BIGINT           NOT NULL DEFAULT 0,
    resume_after     TEXT COLLATE "C" NOT NULL DEFAULT '',
    run_repositories BIGINT           NOT NULL DEFAULT 0,
    run_tags         BIGINT           NOT NULL DEFAULT 0,
    failures         BIGINT           NOT NULL DEFAULT 0,
    shown_run        BIGINT           NOT NULL DEFAULT 0,
    repositories     BIGINT           NOT NULL DEFAULT 0,
    tags             BIGINT           NOT NULL DEFAULT 0,
    FOREIGN KEY (org_uid, registry_uid) REFERENCES registries (org_uid, uid) ON DELETE CASCADE
);
CREATE INDEX registry_sync_due ON registry_sync (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX registry_sync_turns ON registry_sync (org_uid, asked, next_at) WHERE next_at IS NOT NULL;
INSERT INTO registry_sync (registry_uid, org_uid, next_at, asked, status, message)
    SELECT uid, org_uid, updated_at, 0, 'Pending', '' FROM registries WHERE sync_supported = 1;

CREATE TABLE registry_runs (
    registry_uid TEXT COLLATE "C" NOT NULL,
    run          BIGINT           NOT NULL,
    org_uid      TEXT COLLATE "C" NOT NULL,
    entries      BIGINT           NOT NULL DEFAULT 0,
    dropped      BIGINT           NOT NULL DEFAULT 0,
    PRIMARY KEY (registry_uid, run)
);
CREATE INDEX registry_runs_of_org ON registry_runs (org_uid, registry_uid, run, entries);
CREATE INDEX registry_runs_dropped ON registry_runs (org_uid) WHERE dropped = 1;

CREATE TABLE registry_contents (
    registry_uid TEXT COLLATE "C" NOT NULL,
    run          BIGINT           NOT NULL,
    repository   TEXT COLLATE "C" NOT NULL CHECK (octet_length(repository) <= 255),
    tag          TEXT COLLATE "C" NOT NULL CHECK (octet_length(tag) <= 128),
    kind         TEXT COLLATE "C" NOT NULL,
    digest       TEXT COLLATE "C" NOT NULL,
    problem      TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (registry_uid, run, repository, tag),
    FOREIGN KEY (registry_uid, run) REFERENCES registry_runs (registry_uid, run)
);
