-- The chain of audit records. A record waits in audit_unlinked, in the transaction that writes it, until a server adds it to a batch. mac is
-- a keyed hash of the record as it was written. From ready_at on it changes no more.

CREATE TABLE audit_unlinked (
    uid      TEXT   PRIMARY KEY,
    ready_at BIGINT NOT NULL,
    mac      BYTEA  NOT NULL
) WITHOUT ROWID;

-- A batch has records of one organization ("" for none). entries has uid, time, repeats and keyed hash of each. hash is a keyed hash of the
-- batch, of the hash of the batch before it, and of that of the organization's batch before it, which are NULL in the first ones.

CREATE TABLE audit_batches (
    number       BIGINT PRIMARY KEY,
    org_uid      TEXT   NOT NULL,
    linked_at    BIGINT NOT NULL,
    entries      BYTEA  NOT NULL,
    previous     BYTEA,
    org_previous BYTEA,
    hash         BYTEA  NOT NULL
);
CREATE INDEX audit_batches_org ON audit_batches (org_uid, number);

-- One row: from when on every record is in the chain, and what the retention time has deleted since: records from before a time, and batches
-- up to a number. mac is a keyed hash of the row.

CREATE TABLE audit_chain (
    id            BIGINT PRIMARY KEY CHECK (id = 1),
    began_at      BIGINT NOT NULL,
    swept_before  BIGINT NOT NULL,
    swept_batches BIGINT NOT NULL,
    mac           BYTEA  NOT NULL
);
