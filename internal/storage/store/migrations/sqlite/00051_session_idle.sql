-- After how many milliseconds without a refresh a session of the organization ends, if that is earlier than the server sets it; 0 for that of
-- the server.

ALTER TABLE orgs ADD COLUMN session_idle BIGINT NOT NULL DEFAULT 0;
