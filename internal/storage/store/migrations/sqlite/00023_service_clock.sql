-- The newest time that a server has seen: a clock that is far behind was set back.

CREATE TABLE service_clock (
    id     BIGINT PRIMARY KEY CHECK (id = 1),
    newest BIGINT NOT NULL
);
INSERT INTO service_clock (id, newest) VALUES (1, 0);
