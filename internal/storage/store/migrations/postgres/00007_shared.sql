-- The comments are in ../sqlite/00007_shared.sql.

CREATE TABLE schema_floor (
    id    BIGINT PRIMARY KEY CHECK (id = 1),
    least BIGINT NOT NULL
);
INSERT INTO schema_floor (id, least) VALUES (1, 0);

CREATE TABLE allowances (
    holder  TEXT COLLATE "C" PRIMARY KEY,
    full_at BIGINT           NOT NULL
);
CREATE INDEX allowances_full ON allowances (full_at);
