-- How much an organization stores, so that its quotas need no count of all its rows at each change. bytes of a registry is what
-- it was counted with; 0 means that a program which does not know the column added it, and that it was not counted.

ALTER TABLE registries ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;
UPDATE registries SET bytes = 1024 + 2 * octet_length(name) + octet_length(endpoint) + octet_length(scope) + octet_length(base_path)
    + octet_length(base_content_path) + octet_length(username) + COALESCE((SELECT COALESCE(octet_length(d.sealed), 0) + COALESCE(octet_length(d.annotations), 0)
    + COALESCE(octet_length(d.labels), 0) + octet_length(d.tls_ca) + octet_length(d.tls_certificate)
    FROM registry_details d WHERE d.org_uid = registries.org_uid AND d.registry_uid = registries.uid), 0);

CREATE TABLE org_usage (
    org_uid    TEXT   PRIMARY KEY REFERENCES orgs (uid),
    registries BIGINT NOT NULL,
    bytes      BIGINT NOT NULL
);
INSERT INTO org_usage (org_uid, registries, bytes) SELECT org_uid, COUNT(*), CAST(SUM(bytes) AS BIGINT) FROM registries GROUP BY org_uid;
