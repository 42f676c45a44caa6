-- The comments are in ../sqlite/00023_service_clock.sql.

CREATE TABLE service_clock (
    id     BIGINT PRIMARY KEY CHECK (id = 1),
    newest BIGINT NOT NULL
);
INSERT INTO service_clock (id, newest) VALUES (1, 0);
