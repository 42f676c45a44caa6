-- What an organization requires of passwords: JSON, empty for nothing.

ALTER TABLE orgs ADD COLUMN password_policy TEXT NOT NULL DEFAULT '';
