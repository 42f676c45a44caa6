-- The comments are in ../sqlite/00025_audit_chain.sql.

CREATE TABLE audit_unlinked (
    uid      TEXT COLLATE "C" PRIMARY KEY,
    ready_at BIGINT           NOT NULL,
    mac      BYTEA            NOT NULL
);

CREATE TABLE audit_batches (
    number       BIGINT           PRIMARY KEY,
    org_uid      TEXT COLLATE "C" NOT NULL,
    linked_at    BIGINT           NOT NULL,
    entries      BYTEA            NOT NULL,
    previous     BYTEA,
    org_previous BYTEA,
    hash         BYTEA            NOT NULL
);
CREATE INDEX audit_batches_org ON audit_batches (org_uid, number);

CREATE TABLE audit_chain (
    id            BIGINT PRIMARY KEY CHECK (id = 1),
    began_at      BIGINT NOT NULL,
    swept_before  BIGINT NOT NULL,
    swept_batches BIGINT NOT NULL,
    mac           BYTEA  NOT NULL
);
