-- The comments are in ../sqlite/00012_alert_addresses.sql.

CREATE TABLE alert_addresses (
    org_uid      TEXT COLLATE "C" NOT NULL REFERENCES orgs (uid),
    address      TEXT COLLATE "C" NOT NULL,
    token_hash   BYTEA,
    asked_at     BIGINT           NOT NULL,
    confirmed_at BIGINT,
    PRIMARY KEY (org_uid, address)
);
CREATE UNIQUE INDEX alert_addresses_token ON alert_addresses (token_hash) WHERE token_hash IS NOT NULL;
CREATE INDEX alert_addresses_asked ON alert_addresses (asked_at) WHERE confirmed_at IS NULL;

INSERT INTO alert_addresses (org_uid, address, asked_at, confirmed_at)
    SELECT DISTINCT c.org_uid, lower(a.value), c.created_at, c.created_at FROM alert_channels c, json_array_elements_text(CAST(c.identifiers AS json)) AS a WHERE c.type = 'email'
    ON CONFLICT DO NOTHING;
INSERT INTO alert_addresses (org_uid, address, asked_at, confirmed_at)
    SELECT u.org_uid, lower(u.email), u.created_at, u.created_at FROM users u
    WHERE EXISTS (SELECT 1 FROM alert_channels c WHERE c.org_uid = u.org_uid AND c.type = 'email' AND c.alert_all_users = 1)
    ON CONFLICT DO NOTHING;
