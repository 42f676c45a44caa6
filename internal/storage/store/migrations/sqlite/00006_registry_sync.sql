-- Synchronizations: what is in the registries whose definitions are kept. registry_sync is a queue like
-- registry_watch: next_at is the moment from which a row may be taken, and who takes it moves next_at to the end
-- of its lease. A run writes its content under its own number, and is seen only when it is finished.

CREATE TABLE registry_sync (
    registry_uid     TEXT   PRIMARY KEY,
    org_uid          TEXT   NOT NULL,
    next_at          BIGINT,                   -- NULL: only when it is asked for
    asked            BIGINT NOT NULL,          -- 1: somebody waits for it
    lease_owner      TEXT,
    status           TEXT   NOT NULL CHECK (status IN ('Pending', 'InProgress', 'Success', 'Failed')),
    message          TEXT   NOT NULL,
    last_run_at      BIGINT,
    last_synced_at   BIGINT,
    run              BIGINT NOT NULL DEFAULT 0, -- the newest; counts up when a run begins or is to be dropped, and never back
    resume_after     TEXT   NOT NULL DEFAULT '', -- the repository that the run has finished last; empty: it begins
    run_repositories BIGINT NOT NULL DEFAULT 0,
    run_tags         BIGINT NOT NULL DEFAULT 0,
    failures         BIGINT NOT NULL DEFAULT 0, -- in a row, or pauses of a run without progress
    shown_run        BIGINT NOT NULL DEFAULT 0, -- the run whose content is seen; 0: none
    repositories     BIGINT NOT NULL DEFAULT 0, -- of shown_run
    tags             BIGINT NOT NULL DEFAULT 0, -- of shown_run
    FOREIGN KEY (org_uid, registry_uid) REFERENCES registries (org_uid, uid) ON DELETE CASCADE
);
CREATE INDEX registry_sync_due ON registry_sync (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX registry_sync_turns ON registry_sync (org_uid, asked, next_at) WHERE next_at IS NOT NULL;
INSERT INTO registry_sync (registry_uid, org_uid, next_at, asked, status, message)
    SELECT uid, org_uid, updated_at, 0, 'Pending', '' FROM registries WHERE sync_supported = 1;

-- The runs that have content. One that nobody will see any more is only marked, since its content may be 50,000 rows,
-- which are deleted in steps; so it refers to no registry, and outlives it.
CREATE TABLE registry_runs (
    registry_uid TEXT   NOT NULL,
    run          BIGINT NOT NULL,
    org_uid      TEXT   NOT NULL,
    entries      BIGINT NOT NULL DEFAULT 0, -- rows in registry_contents; more when a part was written twice
    dropped      BIGINT NOT NULL DEFAULT 0, -- 1: its content is to be deleted
    PRIMARY KEY (registry_uid, run)
);
CREATE INDEX registry_runs_of_org ON registry_runs (org_uid, registry_uid, run, entries);
CREATE INDEX registry_runs_dropped ON registry_runs (org_uid) WHERE dropped = 1;

-- One row per tag, and one with an empty tag for a repository without any. Names are as long as the distribution
-- specification lets them be: PostgreSQL's index takes rows of 2,704 bytes, SQLite's any.
CREATE TABLE registry_contents (
    registry_uid TEXT   NOT NULL,
    run          BIGINT NOT NULL,
    repository   TEXT   NOT NULL CHECK (octet_length(repository) <= 255),
    tag          TEXT   NOT NULL CHECK (octet_length(tag) <= 128),
    kind         TEXT   NOT NULL,
    digest       TEXT   NOT NULL,
    problem      TEXT   NOT NULL,
    PRIMARY KEY (registry_uid, run, repository, tag),
    FOREIGN KEY (registry_uid, run) REFERENCES registry_runs (registry_uid, run)
);
