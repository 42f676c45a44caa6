-- A claim of a registry sets lease_until and leaves next_at, so that on PostgreSQL it changes no index: a claimed row is due, but leased.

ALTER TABLE registry_watch ADD COLUMN lease_until BIGINT NOT NULL DEFAULT 0; -- of the lease of lease_owner
