-- The order in which a user was added to its teams. Terraform's list of the teams of a user has an order, and a user was deleted and created
-- again when another one was returned.

ALTER TABLE team_members ADD COLUMN position BIGINT NOT NULL DEFAULT 0;
