-- Who agreed to get the alerts of an organization by email.

CREATE TABLE alert_addresses (
    org_uid      TEXT   NOT NULL REFERENCES orgs (uid),
    address      TEXT   NOT NULL, -- in lower case
    token_hash   BYTEA,           -- SHA-256 of the token of the newest link
    asked_at     BIGINT NOT NULL, -- when the link was sent
    confirmed_at BIGINT,
    PRIMARY KEY (org_uid, address)
);
CREATE UNIQUE INDEX alert_addresses_token ON alert_addresses (token_hash) WHERE token_hash IS NOT NULL;
CREATE INDEX alert_addresses_asked ON alert_addresses (asked_at) WHERE confirmed_at IS NULL;

-- Addresses that alerts went to before go on getting them.
INSERT INTO alert_addresses (org_uid, address, asked_at, confirmed_at)
    SELECT DISTINCT c.org_uid, lower(a.value), c.created_at, c.created_at FROM alert_channels c, json_each(c.identifiers) AS a WHERE c.type = 'email'
    ON CONFLICT DO NOTHING;
INSERT INTO alert_addresses (org_uid, address, asked_at, confirmed_at)
    SELECT u.org_uid, lower(u.email), u.created_at, u.created_at FROM users u
    WHERE EXISTS (SELECT 1 FROM alert_channels c WHERE c.org_uid = u.org_uid AND c.type = 'email' AND c.alert_all_users = 1)
    ON CONFLICT DO NOTHING;
