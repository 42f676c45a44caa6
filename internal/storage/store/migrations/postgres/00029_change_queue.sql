-- The comments are in ../sqlite/00029_change_queue.sql.

CREATE TABLE change_queue (
    id      BIGINT           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    subject TEXT COLLATE "C" NOT NULL,
    at      BIGINT           NOT NULL
);
