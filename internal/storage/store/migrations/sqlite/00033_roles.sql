-- The roles of a user in its organization, separated by spaces, where these are not the column role alone: that one has admin or member.
-- The first such row sets schema_floor, since older programs take every other role for member.

ALTER TABLE users ADD COLUMN roles TEXT NOT NULL DEFAULT '';
