/* contrib/pg_bufferpool/pg_bufferpool--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION pg_bufferpool" to load this file. \quit

-- Other users may be able to create objects in the extension's schema, so the
-- views' queries qualify what they use.

-- ---- pools ----

CREATE FUNCTION pg_bufferpool_pools(
    OUT name text,
    OUT algorithm text,
    OUT parameters text,
    OUT buffers bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_bufferpool_pools()
    IS 'buffer pools, with their replacement algorithms and sizes';

CREATE VIEW pg_bufferpool AS
    SELECT p.name, p.algorithm, p.parameters, p.buffers,
           p.buffers OPERATOR(pg_catalog.*)
           pg_catalog.current_setting('block_size')::bigint AS bytes
    FROM pg_bufferpool_pools() AS p;
COMMENT ON VIEW pg_bufferpool IS 'buffer pools';
COMMENT ON COLUMN pg_bufferpool.name IS 'name of the pool';
COMMENT ON COLUMN pg_bufferpool.algorithm IS 'replacement algorithm, which chooses the pages to evict';
COMMENT ON COLUMN pg_bufferpool.parameters IS 'parameters of the algorithm as configured; those not listed have their defaults';
COMMENT ON COLUMN pg_bufferpool.buffers IS 'number of buffers in the pool';
COMMENT ON COLUMN pg_bufferpool.bytes IS 'size of these buffers in bytes';

CREATE FUNCTION pg_bufferpool_algorithms(OUT name text)
RETURNS SETOF text
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_bufferpool_algorithms()
    IS 'values that bufferpool.algorithm accepts with the current shared_preload_libraries';

CREATE FUNCTION pg_bufferpool_reset()
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION pg_bufferpool_reset()
    IS 'write dirty pages, empty all buffers and reset the replacement algorithm, as at server start';

-- ---- statistics ----

CREATE FUNCTION pg_stat_get_bufferpools(
    OUT name text,
    OUT hits bigint,
    OUT reads bigint,
    OUT extends bigint,
    OUT evictions bigint,
    OUT reuses bigint,
    OUT dirty_evictions bigint,
    OUT searches bigint,
    OUT looks bigint,
    OUT retries bigint,
    OUT rejects bigint,
    OUT fallbacks bigint,
    OUT forgotten bigint,
    OUT correlated bigint,
    OUT vacuumed bigint,
    OUT batches bigint,
    OUT batched_hits bigint,
    OUT stale_hits bigint,
    OUT lock_acquisitions bigint,
    OUT lock_waits bigint,
    OUT try_failures bigint,
    OUT cleaned bigint,
    OUT cleaner_rounds bigint,
    OUT cleaner_looks bigint,
    OUT cleaner_longest_hold bigint,
    OUT stats_reset timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_stat_get_bufferpools()
    IS 'statistics: activity of each buffer pool';

CREATE VIEW pg_stat_bufferpool AS
    SELECT p.buffers, s.*
    FROM pg_bufferpool_pools() AS p
    JOIN pg_stat_get_bufferpools() AS s ON s.name OPERATOR(pg_catalog.=) p.name;
COMMENT ON VIEW pg_stat_bufferpool IS 'statistics: activity of each buffer pool since stats_reset';
COMMENT ON COLUMN pg_stat_bufferpool.buffers IS 'number of buffers in the pool';
COMMENT ON COLUMN pg_stat_bufferpool.name IS 'name of the pool';
COMMENT ON COLUMN pg_stat_bufferpool.hits IS 'references to pages that were found in a buffer';
COMMENT ON COLUMN pg_stat_bufferpool.reads IS 'pages brought into a buffer to be read or zeroed';
COMMENT ON COLUMN pg_stat_bufferpool.extends IS 'pages brought into a buffer as new blocks of a relation';
COMMENT ON COLUMN pg_stat_bufferpool.evictions IS 'pages evicted, chosen by the replacement algorithm';
COMMENT ON COLUMN pg_stat_bufferpool.reuses IS 'pages evicted from the ring of a scan, bulk write or vacuum';
COMMENT ON COLUMN pg_stat_bufferpool.dirty_evictions IS 'evictions and reuses that had to write the page first';
COMMENT ON COLUMN pg_stat_bufferpool.searches IS 'searches by the replacement algorithm for a page to evict';
COMMENT ON COLUMN pg_stat_bufferpool.looks IS 'buffers that these searches looked at';
COMMENT ON COLUMN pg_stat_bufferpool.retries IS 'choices given up because the page was pinned, locked or modified meanwhile';
COMMENT ON COLUMN pg_stat_bufferpool.rejects IS 'choices given up because writing the page would have flushed WAL for a ring';
COMMENT ON COLUMN pg_stat_bufferpool.fallbacks IS 'buffers that the clock had to choose because the replacement algorithm had none';
COMMENT ON COLUMN pg_stat_bufferpool.forgotten IS 'pages that had been replaced, dropped or truncated when the replacement algorithm proposed their buffers';
COMMENT ON COLUMN pg_stat_bufferpool.correlated IS 'hits not reported to the replacement algorithm because they repeat the previous one in a statement';
COMMENT ON COLUMN pg_stat_bufferpool.vacuumed IS 'hits not reported to the replacement algorithm because they are VACUUM''s';
COMMENT ON COLUMN pg_stat_bufferpool.batches IS 'commits to the replacement algorithm of what processes have queued';
COMMENT ON COLUMN pg_stat_bufferpool.batched_hits IS 'hits and new pages in these commits';
COMMENT ON COLUMN pg_stat_bufferpool.stale_hits IS 'entries of these commits skipped because the page had left its buffer';
COMMENT ON COLUMN pg_stat_bufferpool.lock_acquisitions IS 'acquisitions of the pool''s lock';
COMMENT ON COLUMN pg_stat_bufferpool.lock_waits IS 'acquisitions of the pool''s lock that had to wait';
COMMENT ON COLUMN pg_stat_bufferpool.try_failures IS 'commits put off because the pool''s lock was busy';
COMMENT ON COLUMN pg_stat_bufferpool.cleaned IS 'pages written by the background writer ahead of their eviction';
COMMENT ON COLUMN pg_stat_bufferpool.cleaner_rounds IS 'searches of the background writer for such pages';
COMMENT ON COLUMN pg_stat_bufferpool.cleaner_looks IS 'buffers that the background writer looked at in these searches';
COMMENT ON COLUMN pg_stat_bufferpool.cleaner_longest_hold IS 'largest number of buffers that the background writer looked at in one hold of the pool''s lock, since server start';
COMMENT ON COLUMN pg_stat_bufferpool.stats_reset IS 'time at which these statistics were last reset';

CREATE FUNCTION pg_stat_reset_bufferpools()
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION pg_stat_reset_bufferpools()
    IS 'statistics: reset the activity of all buffer pools';

CREATE FUNCTION pg_bufferpool_lock_holds(
    OUT from_ns bigint,
    OUT to_ns bigint,
    OUT holds bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_bufferpool_lock_holds()
    IS 'histogram of how long the pool''s lock was held; only in a server built to measure it';

-- ---- for teaching and debugging: these look at all buffers ----

CREATE FUNCTION pg_bufferpool_lists(
    OUT list text,
    OUT rank int,
    OUT buffer int,
    OUT reltablespace oid,
    OUT reldatabase oid,
    OUT relfilenode oid,
    OUT relforknumber smallint,
    OUT relblocknumber bigint,
    OUT count int,
    OUT ghost_key bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_bufferpool_lists()
    IS 'lists of the replacement algorithm, each from its most recent end: pages in buffers, and keys of evicted pages';

CREATE FUNCTION pg_bufferpool_check(
    algorithm_state boolean DEFAULT true,
    OUT violation text,
    OUT number bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION pg_bufferpool_check(boolean)
    IS 'verify the replacement algorithm against the buffers and, holding the pool''s lock throughout, its own state; a row for each violation';

-- ---- recording ----

-- the functions check privileges themselves
CREATE FUNCTION pg_bufferpool_trace_start(
    path text,
    sample_rate double precision DEFAULT 1.0,
    max_size text DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C PARALLEL UNSAFE;
COMMENT ON FUNCTION pg_bufferpool_trace_start(text, double precision, text)
    IS 'start to record references to shared buffers in a new file on the server';

CREATE FUNCTION pg_bufferpool_trace_stop()
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION pg_bufferpool_trace_stop()
    IS 'end the recording of references to shared buffers';

CREATE FUNCTION pg_stat_get_bufferpool_trace(
    OUT pid int,
    OUT since timestamptz,
    OUT path text,
    OUT sample_rate double precision,
    OUT written bigint,
    OUT dropped bigint,
    OUT bytes bigint,
    OUT max_size bigint,
    OUT error text)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_stat_get_bufferpool_trace()
    IS 'statistics: the current or last recording of references to shared buffers';

CREATE VIEW pg_stat_bufferpool_trace AS
    SELECT * FROM pg_stat_get_bufferpool_trace();
COMMENT ON VIEW pg_stat_bufferpool_trace
    IS 'statistics: the current recording of references to shared buffers, or the last one since the server was started';
COMMENT ON COLUMN pg_stat_bufferpool_trace.pid IS 'process ID of the recorder; null if the recording is over';
COMMENT ON COLUMN pg_stat_bufferpool_trace.since IS 'time at which the recording was started';
COMMENT ON COLUMN pg_stat_bufferpool_trace.path IS 'file on the server';
COMMENT ON COLUMN pg_stat_bufferpool_trace.sample_rate IS 'share of the pages whose references are recorded';
COMMENT ON COLUMN pg_stat_bufferpool_trace.written IS 'events written to the file';
COMMENT ON COLUMN pg_stat_bufferpool_trace.dropped IS 'events missing from the file because there was no room for them in memory; see bufferpool.trace_buffers';
COMMENT ON COLUMN pg_stat_bufferpool_trace.bytes IS 'size of the file in bytes';
COMMENT ON COLUMN pg_stat_bufferpool_trace.max_size IS 'size in bytes at which the recording ends by itself';
COMMENT ON COLUMN pg_stat_bufferpool_trace.error IS 'why the recording ended, if it was not stopped by pg_bufferpool_trace_stop()';

-- ---- privileges ----

REVOKE ALL ON FUNCTION pg_bufferpool_pools() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_bufferpool_algorithms() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_bufferpool_reset() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_stat_get_bufferpools() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_stat_reset_bufferpools() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_bufferpool_lock_holds() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_bufferpool_lists() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_bufferpool_check(boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_stat_get_bufferpool_trace() FROM PUBLIC;
REVOKE ALL ON pg_bufferpool, pg_stat_bufferpool, pg_stat_bufferpool_trace FROM PUBLIC;

GRANT EXECUTE ON FUNCTION pg_bufferpool_pools() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_bufferpool_algorithms() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_stat_get_bufferpools() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_bufferpool_lock_holds() TO pg_monitor;
GRANT SELECT ON pg_bufferpool, pg_stat_bufferpool TO pg_monitor;

-- roles that may record may also watch
GRANT EXECUTE ON FUNCTION pg_stat_get_bufferpool_trace() TO pg_monitor, pg_write_server_files;
GRANT SELECT ON pg_stat_bufferpool_trace TO pg_monitor, pg_write_server_files;
