-- What several servers on one store have in common.

-- least is the oldest migration that a program must know to use this store. Migrations only add, so that the version
-- before goes on while servers are upgraded one after the other; one that breaks with this raises the number.
CREATE TABLE schema_floor (
    id    BIGINT PRIMARY KEY CHECK (id = 1),
    least BIGINT NOT NULL
);
INSERT INTO schema_floor (id, least) VALUES (1, 0);

-- How much of an allowance is used up, as the moment (in microseconds) at which all of it is there again. A user's
-- validations are counted here where several servers run them.
CREATE TABLE allowances (
    holder  TEXT   PRIMARY KEY,
    full_at BIGINT NOT NULL
);
CREATE INDEX allowances_full ON allowances (full_at);
