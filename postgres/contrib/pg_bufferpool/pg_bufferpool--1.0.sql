/* contrib/pg_bufferpool/pg_bufferpool--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION pg_bufferpool" to load this file. \quit

-- The schema may be one in which others can create objects: what a view's
-- query uses is qualified.

-- ---- the pools ----

CREATE FUNCTION pg_bufferpool_pools(
    OUT name text,
    OUT algorithm text,
    OUT buffers bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;

CREATE VIEW pg_bufferpool AS
    SELECT p.name, p.algorithm, p.buffers,
           p.buffers OPERATOR(pg_catalog.*)
           pg_catalog.current_setting('block_size')::bigint AS bytes
    FROM pg_bufferpool_pools() AS p;

CREATE FUNCTION pg_bufferpool_algorithms(OUT name text)
RETURNS SETOF text
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;

CREATE FUNCTION pg_bufferpool_reset()
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL UNSAFE;

-- ---- statistics ----

CREATE FUNCTION pg_stat_get_bufferpools(
    OUT name text,
    OUT hits bigint,
    OUT reads bigint,
    OUT extends bigint,
    OUT evictions bigint,
    OUT reuses bigint,
    OUT dirty_evictions bigint,
    OUT retries bigint,
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
    OUT stats_reset timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;

CREATE VIEW pg_stat_bufferpool AS
    SELECT p.buffers, s.*
    FROM pg_bufferpool_pools() AS p
    JOIN pg_stat_get_bufferpools() AS s ON s.name OPERATOR(pg_catalog.=) p.name;

CREATE FUNCTION pg_stat_reset_bufferpools()
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL RESTRICTED;

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

CREATE FUNCTION pg_bufferpool_check(
    algorithm_state boolean DEFAULT true,
    OUT violation text,
    OUT number bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL RESTRICTED;

-- ---- recording ----

-- privileges are checked in the functions
CREATE FUNCTION pg_bufferpool_trace_start(
    path text,
    sample_rate double precision DEFAULT 1.0)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL UNSAFE;

CREATE FUNCTION pg_bufferpool_trace_stop()
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL UNSAFE;

CREATE FUNCTION pg_stat_get_bufferpool_trace(
    OUT pid int,
    OUT since timestamptz,
    OUT path text,
    OUT sample_rate double precision,
    OUT written bigint,
    OUT dropped bigint,
    OUT bytes bigint,
    OUT error text)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;

CREATE VIEW pg_stat_bufferpool_trace AS
    SELECT * FROM pg_stat_get_bufferpool_trace();

-- ---- privileges ----

REVOKE ALL ON FUNCTION pg_bufferpool_pools() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_bufferpool_algorithms() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_bufferpool_reset() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_stat_get_bufferpools() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_stat_reset_bufferpools() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_bufferpool_lists() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_bufferpool_check(boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_stat_get_bufferpool_trace() FROM PUBLIC;
REVOKE ALL ON pg_bufferpool, pg_stat_bufferpool, pg_stat_bufferpool_trace FROM PUBLIC;

GRANT EXECUTE ON FUNCTION pg_bufferpool_pools() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_bufferpool_algorithms() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_stat_get_bufferpools() TO pg_monitor;
GRANT SELECT ON pg_bufferpool, pg_stat_bufferpool TO pg_monitor;

-- who may record may watch it
GRANT EXECUTE ON FUNCTION pg_stat_get_bufferpool_trace() TO pg_monitor, pg_write_server_files;
GRANT SELECT ON pg_stat_bufferpool_trace TO pg_monitor, pg_write_server_files;
