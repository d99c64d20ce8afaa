-- with the server's default algorithm, the clock
CREATE EXTENSION pg_bufferpool;

SELECT name, handler, buffers = pg_size_bytes(current_setting('shared_buffers')) / current_setting('block_size')::int AS all_buffers
FROM pg_bufferpool;
SELECT * FROM pg_bufferpool_algorithms();

-- what has happened is counted
SELECT pg_stat_reset_bufferpools();
CREATE TABLE bufferpool_t AS SELECT i FROM generate_series(1, 1000) i;
SELECT count(*) FROM bufferpool_t;
SELECT name, hits > 0 AS hits, extends >= 4 AS extends, batches, lock_acquisitions, stats_reset <= now() AS reset
FROM pg_stat_bufferpool;

-- the clock has no lists, and nothing to verify
SELECT count(*) FROM pg_bufferpool_lists();
SELECT count(*) FROM pg_bufferpool_check();

-- some for pg_monitor only, some for superusers only
CREATE ROLE regress_bufferpool_user;
SET ROLE regress_bufferpool_user;
SELECT count(*) FROM pg_stat_bufferpool;
SELECT count(*) FROM pg_bufferpool;
SELECT count(*) FROM pg_bufferpool_check();
RESET ROLE;
GRANT pg_monitor TO regress_bufferpool_user;
SET ROLE regress_bufferpool_user;
SELECT count(*) FROM pg_stat_bufferpool;
SELECT count(*) FROM pg_bufferpool;
SELECT count(*) FROM pg_bufferpool_check();
SELECT pg_stat_reset_bufferpools();
RESET ROLE;

DROP ROLE regress_bufferpool_user;
DROP TABLE bufferpool_t;
DROP EXTENSION pg_bufferpool;
