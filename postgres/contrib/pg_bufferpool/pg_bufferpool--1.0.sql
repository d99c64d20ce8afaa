/* contrib/pg_bufferpool/pg_bufferpool--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION pg_bufferpool" to load this file. \quit

-- Other users may be able to create objects in the extension's schema, so the
-- views' queries qualify what they use.

-- ---- pools ----

CREATE FUNCTION pg_bufferpool_pools(
    OUT name text,
    OUT handler text,
    OUT options text,
    OUT buffers bigint,
    OUT target_buffers bigint,
    OUT remainder boolean,
    OUT state text,
    OUT memory bigint,
    OUT ssd_tier text,
    OUT comment text,
    OUT defined_buffers bigint,
    OUT min_buffers bigint,
    OUT max_buffers bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_bufferpool_pools()
    IS 'buffer pools, with their replacement algorithms and sizes';

CREATE VIEW pg_bufferpool AS
    SELECT p.name, p.handler, p.options, p.buffers,
           p.buffers OPERATOR(pg_catalog.*)
           pg_catalog.current_setting('block_size')::bigint AS size,
           p.target_buffers OPERATOR(pg_catalog.*)
           pg_catalog.current_setting('block_size')::bigint AS target,
           p.remainder, p.state, p.memory, p.ssd_tier, p.comment,
           p.defined_buffers OPERATOR(pg_catalog.*)
           pg_catalog.current_setting('block_size')::bigint AS defined_size,
           p.min_buffers OPERATOR(pg_catalog.*)
           pg_catalog.current_setting('block_size')::bigint AS min_size,
           p.max_buffers OPERATOR(pg_catalog.*)
           pg_catalog.current_setting('block_size')::bigint AS max_size
    FROM pg_bufferpool_pools() AS p;
COMMENT ON VIEW pg_bufferpool IS 'buffer pools';
COMMENT ON COLUMN pg_bufferpool.name IS 'name of the pool';
COMMENT ON COLUMN pg_bufferpool.handler IS 'replacement algorithm in use, which chooses the pages to evict';
COMMENT ON COLUMN pg_bufferpool.options IS 'parameters of the algorithm as given; those not listed have their defaults';
COMMENT ON COLUMN pg_bufferpool.buffers IS 'number of buffers in the pool';
COMMENT ON COLUMN pg_bufferpool.size IS 'size of these buffers in bytes';
COMMENT ON COLUMN pg_bufferpool.target IS 'size in bytes that the pool should have';
COMMENT ON COLUMN pg_bufferpool.remainder IS 'whether the pool has what the other pools leave';
COMMENT ON COLUMN pg_bufferpool.state IS 'ready, or in which way the pool is not as defined';
COMMENT ON COLUMN pg_bufferpool.memory IS 'bytes of memory, beside the buffers, that algorithms have for them';
COMMENT ON COLUMN pg_bufferpool.ssd_tier IS 'what the pool wants of the SSD tier for its relations: auto, keep or none; null if nothing';
COMMENT ON COLUMN pg_bufferpool.comment IS 'comment on the pool';
COMMENT ON COLUMN pg_bufferpool.defined_size IS 'size in bytes that it was given by a statement; self-tuning may have changed the target';
COMMENT ON COLUMN pg_bufferpool.min_size IS 'size in bytes that self-tuning leaves it, or null';
COMMENT ON COLUMN pg_bufferpool.max_size IS 'size in bytes up to which self-tuning enlarges it, or null';

CREATE FUNCTION pg_bufferpool_algorithms(OUT name text)
RETURNS SETOF text
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_bufferpool_algorithms()
    IS 'values that bufferpool.algorithm accepts with the current shared_preload_libraries';

CREATE FUNCTION pg_bufferpool_options(
    OUT algorithm text,
    OUT option text,
    OUT type text,
    OUT default_value text,
    OUT min_value text,
    OUT max_value text,
    OUT choices text,
    OUT description text)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_bufferpool_options()
    IS 'options of the replacement algorithms, which are their parameters: type, default, and the values that they take';

CREATE FUNCTION pg_stat_get_bufferpool_progress(
    OUT pid int,
    OUT pool text,
    OUT phase text,
    OUT buffers_before bigint,
    OUT buffers_target bigint,
    OUT buffers bigint,
    OUT since timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_stat_get_bufferpool_progress()
    IS 'statistics: progress of the statement that changes buffer pools';

CREATE VIEW pg_stat_progress_bufferpool AS
    SELECT * FROM pg_stat_get_bufferpool_progress();
COMMENT ON VIEW pg_stat_progress_bufferpool IS 'statistics: progress of the statement that changes buffer pools, if one is running';
COMMENT ON COLUMN pg_stat_progress_bufferpool.pid IS 'process ID of the session';
COMMENT ON COLUMN pg_stat_progress_bufferpool.pool IS 'name of the pool that is being changed';
COMMENT ON COLUMN pg_stat_progress_bufferpool.phase IS 'what the statement is doing';
COMMENT ON COLUMN pg_stat_progress_bufferpool.buffers_before IS 'number of buffers that the pool had';
COMMENT ON COLUMN pg_stat_progress_bufferpool.buffers_target IS 'number of buffers that it shall have';
COMMENT ON COLUMN pg_stat_progress_bufferpool.buffers IS 'number of buffers that it has now';
COMMENT ON COLUMN pg_stat_progress_bufferpool.since IS 'time at which this began';

CREATE FUNCTION pg_bufferpool_move(relation regclass)
RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION pg_bufferpool_move(regclass)
    IS 'move the resident pages of a relation to its pool, without reading them; returns their number';

CREATE FUNCTION pg_bufferpool_reset_options()
RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION pg_bufferpool_reset_options()
    IS 'remove buffer_pool, overflow_buffer_pool and ssd_tier from all relations of this database; returns their number';

CREATE FUNCTION pg_bufferpool_reset()
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION pg_bufferpool_reset()
    IS 'write dirty pages, empty all buffers and reset the replacement algorithm, as at server start';

-- ---- statistics ----

CREATE FUNCTION pg_stat_get_bufferpools(
    OUT name text,
    OUT current_buffers bigint,
    OUT target_buffers bigint,
    OUT oversubscribed bigint,
    OUT dirty bigint,
    OUT pinned bigint,
    OUT free bigint,
    OUT hits bigint,
    OUT reads bigint,
    OUT extends bigint,
    OUT evictions bigint,
    OUT reuses bigint,
    OUT dirty_evictions bigint,
    OUT predicted_evictions bigint,
    OUT frequency_evictions bigint,
    OUT recency_evictions bigint,
    OUT premature_evictions bigint,
    OUT writes bigint,
    OUT read_time double precision,
    OUT write_time double precision,
    OUT searches bigint,
    OUT looks bigint,
    OUT retries bigint,
    OUT rejects bigint,
    OUT fallbacks bigint,
    OUT spilled bigint,
    OUT borrowed bigint,
    OUT forgotten bigint,
    OUT correlated bigint,
    OUT vacuumed bigint,
    OUT batches bigint,
    OUT batched_hits bigint,
    OUT stale_hits bigint,
    OUT lock_acquisitions bigint,
    OUT lock_waits bigint,
    OUT try_failures bigint,
    OUT scans_begun bigint,
    OUT scans_ended bigint,
    OUT scans_abandoned bigint,
    OUT scans_refused bigint,
    OUT marking_scans bigint,
    OUT trailing_scans bigint,
    OUT marks bigint,
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
    SELECT p.buffers AS nbuffers, s.*
    FROM pg_bufferpool_pools() AS p
    JOIN pg_stat_get_bufferpools() AS s ON s.name OPERATOR(pg_catalog.=) p.name;
COMMENT ON VIEW pg_stat_bufferpool IS 'statistics: activity of each buffer pool since stats_reset';
COMMENT ON COLUMN pg_stat_bufferpool.nbuffers IS 'number of buffers in the pool';
COMMENT ON COLUMN pg_stat_bufferpool.name IS 'name of the pool';
COMMENT ON COLUMN pg_stat_bufferpool.current_buffers IS 'of these, buffers that hold a page';
COMMENT ON COLUMN pg_stat_bufferpool.target_buffers IS 'number of buffers that the pool should have';
COMMENT ON COLUMN pg_stat_bufferpool.oversubscribed IS 'number of buffers that the pool has yet to give up';
COMMENT ON COLUMN pg_stat_bufferpool.dirty IS 'number of buffers with a page that has yet to be written';
COMMENT ON COLUMN pg_stat_bufferpool.pinned IS 'number of buffers that are in use at this moment';
COMMENT ON COLUMN pg_stat_bufferpool.free IS 'number of buffers without a page';
COMMENT ON COLUMN pg_stat_bufferpool.hits IS 'references to pages that were found in a buffer';
COMMENT ON COLUMN pg_stat_bufferpool.reads IS 'pages brought into a buffer to be read or zeroed';
COMMENT ON COLUMN pg_stat_bufferpool.extends IS 'pages brought into a buffer as new blocks of a relation';
COMMENT ON COLUMN pg_stat_bufferpool.evictions IS 'pages evicted, chosen by the replacement algorithm';
COMMENT ON COLUMN pg_stat_bufferpool.reuses IS 'pages evicted from the ring of a scan, bulk write or vacuum';
COMMENT ON COLUMN pg_stat_bufferpool.dirty_evictions IS 'evictions and reuses that had to write the page first';
COMMENT ON COLUMN pg_stat_bufferpool.predicted_evictions IS 'evictions of pages that scans need later than others, or running scans of the relation not at all; null, like the next three, if the replacement algorithm does not predict';
COMMENT ON COLUMN pg_stat_bufferpool.frequency_evictions IS 'evictions of pages that are needed later than others by their frequency of use';
COMMENT ON COLUMN pg_stat_bufferpool.recency_evictions IS 'evictions of pages of which only the last use was known';
COMMENT ON COLUMN pg_stat_bufferpool.premature_evictions IS 'of all three, pages that a running scan was going to read within a second';
COMMENT ON COLUMN pg_stat_bufferpool.writes IS 'pages written, by whichever process';
COMMENT ON COLUMN pg_stat_bufferpool.read_time IS 'milliseconds that processes waited for pages to be read, if track_io_timing is on';
COMMENT ON COLUMN pg_stat_bufferpool.write_time IS 'milliseconds that processes took to write pages, if track_io_timing is on';
COMMENT ON COLUMN pg_stat_bufferpool.searches IS 'searches by the replacement algorithm for a page to evict';
COMMENT ON COLUMN pg_stat_bufferpool.looks IS 'buffers that these searches looked at';
COMMENT ON COLUMN pg_stat_bufferpool.retries IS 'choices given up because the page was pinned, locked or modified meanwhile';
COMMENT ON COLUMN pg_stat_bufferpool.rejects IS 'choices given up because writing the page would have flushed WAL for a ring';
COMMENT ON COLUMN pg_stat_bufferpool.fallbacks IS 'buffers of DEFAULT that the clock had to choose because the replacement algorithm had none';
COMMENT ON COLUMN pg_stat_bufferpool.spilled IS 'pages that went to DEFAULT because the pool keeps those that it has';
COMMENT ON COLUMN pg_stat_bufferpool.borrowed IS 'pages that went to DEFAULT because all buffers of the pool were in use';
COMMENT ON COLUMN pg_stat_bufferpool.forgotten IS 'pages that had been replaced, dropped or truncated when the replacement algorithm proposed their buffers';
COMMENT ON COLUMN pg_stat_bufferpool.correlated IS 'hits not reported to the replacement algorithm because they repeat the previous one in a statement';
COMMENT ON COLUMN pg_stat_bufferpool.vacuumed IS 'hits not reported to the replacement algorithm because they are VACUUM''s';
COMMENT ON COLUMN pg_stat_bufferpool.batches IS 'commits to the replacement algorithm of what processes have queued';
COMMENT ON COLUMN pg_stat_bufferpool.batched_hits IS 'hits and new pages in these commits';
COMMENT ON COLUMN pg_stat_bufferpool.stale_hits IS 'entries of these commits skipped because the page had left its buffer';
COMMENT ON COLUMN pg_stat_bufferpool.lock_acquisitions IS 'acquisitions of the pool''s lock';
COMMENT ON COLUMN pg_stat_bufferpool.lock_waits IS 'acquisitions of the pool''s lock that had to wait';
COMMENT ON COLUMN pg_stat_bufferpool.try_failures IS 'commits put off because the pool''s lock was busy';
COMMENT ON COLUMN pg_stat_bufferpool.scans_begun IS 'scans of the pool''s relations that were announced to replacement algorithms';
COMMENT ON COLUMN pg_stat_bufferpool.scans_ended IS 'of these, scans that ended by themselves';
COMMENT ON COLUMN pg_stat_bufferpool.scans_abandoned IS 'of these, scans that ended with their query: by an error, a cancel, or a limit';
COMMENT ON COLUMN pg_stat_bufferpool.scans_refused IS 'scans that found no place among those announced, see bufferpool.max_scans';
COMMENT ON COLUMN pg_stat_bufferpool.marking_scans IS 'index scans in another order than the table''s, which leave marks to find those that follow each other';
COMMENT ON COLUMN pg_stat_bufferpool.trailing_scans IS 'of these, scans that found the marks of another and so were recognized as following it';
COMMENT ON COLUMN pg_stat_bufferpool.marks IS 'marks that they left, on one tuple in 16';
COMMENT ON COLUMN pg_stat_bufferpool.cleaned IS 'pages written by the background writer ahead of their eviction';
COMMENT ON COLUMN pg_stat_bufferpool.cleaner_rounds IS 'searches of the background writer for such pages';
COMMENT ON COLUMN pg_stat_bufferpool.cleaner_looks IS 'buffers that the background writer looked at in these searches';
COMMENT ON COLUMN pg_stat_bufferpool.cleaner_longest_hold IS 'largest number of buffers that the background writer looked at in one hold of the pool''s lock, since server start';
COMMENT ON COLUMN pg_stat_bufferpool.stats_reset IS 'time at which these statistics were last reset';

CREATE FUNCTION pg_stat_get_scans(
    OUT pid int,
    OUT datid oid,
    OUT relid oid,
    OUT pool text,
    OUT kind text,
    OUT direction text,
    OUT block bigint,
    OUT blocks_total bigint,
    OUT blocks_done bigint,
    OUT blocks_left bigint,
    OUT blocks_resident bigint,
    OUT blocks_per_second double precision,
    OUT seconds_left double precision,
    OUT stalled boolean,
    OUT met_pid int,
    OUT since timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_stat_get_scans()
    IS 'statistics: running scans that replacement algorithms know of';

CREATE VIEW pg_stat_scans AS
    SELECT s.pid, s.datid, d.datname, s.relid,
           CASE WHEN d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
                THEN s.relid::pg_catalog.regclass END AS relation,
           s.pool, s.kind, s.direction, s.block, s.blocks_total, s.blocks_done, s.blocks_left,
           s.blocks_resident, s.blocks_per_second, s.seconds_left, s.stalled, s.met_pid,
           s.since
    FROM pg_stat_get_scans() AS s
    LEFT JOIN pg_catalog.pg_database AS d ON d.oid OPERATOR(pg_catalog.=) s.datid;
COMMENT ON VIEW pg_stat_scans IS 'statistics: running scans of relations in pools whose algorithm asks what will be read; a row for each process of a parallel scan';
COMMENT ON COLUMN pg_stat_scans.pid IS 'process ID';
COMMENT ON COLUMN pg_stat_scans.datid IS 'OID of the relation''s database';
COMMENT ON COLUMN pg_stat_scans.datname IS 'name of the relation''s database';
COMMENT ON COLUMN pg_stat_scans.relid IS 'OID of the relation';
COMMENT ON COLUMN pg_stat_scans.relation IS 'the relation, if it is in this database';
COMMENT ON COLUMN pg_stat_scans.pool IS 'name of the relation''s pool';
COMMENT ON COLUMN pg_stat_scans.kind IS 'kind of scan: sequential, tid range, sample, bitmap, index, vacuum or analyze';
COMMENT ON COLUMN pg_stat_scans.direction IS 'forward, or backward: towards lower block numbers';
COMMENT ON COLUMN pg_stat_scans.block IS 'number of the block at which the scan is';
COMMENT ON COLUMN pg_stat_scans.blocks_total IS 'number of blocks that the scan reads in all; of a bitmap scan, in block groups of 128';
COMMENT ON COLUMN pg_stat_scans.blocks_done IS 'of these, blocks that the scan has read';
COMMENT ON COLUMN pg_stat_scans.blocks_left IS 'of these, blocks that the scan has yet to read';
COMMENT ON COLUMN pg_stat_scans.blocks_resident IS 'of those that are left, blocks that are in a buffer; an estimate if more than 64 scans of the relation run';
COMMENT ON COLUMN pg_stat_scans.blocks_per_second IS 'speed, smoothed';
COMMENT ON COLUMN pg_stat_scans.seconds_left IS 'time that the scan will take at this speed';
COMMENT ON COLUMN pg_stat_scans.stalled IS 'whether the scan has made no progress for so long that it keeps no page in memory until it goes on';
COMMENT ON COLUMN pg_stat_scans.met_pid IS 'process ID of the scan that this one met: beside which it began';
COMMENT ON COLUMN pg_stat_scans.since IS 'time at which the scan read its first block';

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

-- ---- advice ----

CREATE FUNCTION pg_bufferpool_get_advice(
    OUT pool text,
    OUT reltablespace oid,
    OUT reldatabase oid,
    OUT relfilenode oid,
    OUT algorithm text,
    OUT in_use boolean,
    OUT size_factor double precision,
    OUT buffers bigint,
    OUT requests double precision,
    OUT reads double precision,
    OUT page_time double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_bufferpool_get_advice()
    IS 'estimated reads of each buffer pool, and of its relations with most references, with other sizes and algorithms';

CREATE VIEW pg_bufferpool_advice AS
    SELECT a.pool, a.algorithm, a.in_use, a.size_factor, a.buffers,
           a.buffers OPERATOR(pg_catalog.*)
           pg_catalog.current_setting('block_size')::bigint AS size,
           a.reads, a.reads OPERATOR(pg_catalog.*) a.page_time AS read_time,
           CASE WHEN a.requests OPERATOR(pg_catalog.>) 0
                THEN a.reads OPERATOR(pg_catalog./) a.requests END AS miss_ratio
    FROM pg_bufferpool_get_advice() AS a
    WHERE a.relfilenode IS NULL;
COMMENT ON VIEW pg_bufferpool_advice IS 'estimated reads of each buffer pool with other sizes and algorithms';
COMMENT ON COLUMN pg_bufferpool_advice.pool IS 'name of the pool';
COMMENT ON COLUMN pg_bufferpool_advice.algorithm IS 'replacement algorithm';
COMMENT ON COLUMN pg_bufferpool_advice.in_use IS 'whether it is the pool''s';
COMMENT ON COLUMN pg_bufferpool_advice.size_factor IS 'size as a multiple of today''s';
COMMENT ON COLUMN pg_bufferpool_advice.buffers IS 'number of buffers';
COMMENT ON COLUMN pg_bufferpool_advice.size IS 'size of these buffers in bytes';
COMMENT ON COLUMN pg_bufferpool_advice.reads IS 'pages that the pool would have read in the period';
COMMENT ON COLUMN pg_bufferpool_advice.read_time IS 'milliseconds that processes would have waited for them, at what a read takes today; null if none has been timed yet';
COMMENT ON COLUMN pg_bufferpool_advice.miss_ratio IS 'reads as a share of all references to the pool';

CREATE VIEW pg_bufferpool_relation_advice AS
    SELECT a.pool, a.reldatabase, a.reltablespace, a.relfilenode,
           CASE WHEN a.reldatabase OPERATOR(pg_catalog.=) 0
                  OR a.reldatabase OPERATOR(pg_catalog.=) d.oid
                THEN pg_catalog.pg_filenode_relation(
                         CASE WHEN a.reltablespace OPERATOR(pg_catalog.=) d.dattablespace
                              THEN 0 ELSE a.reltablespace END, a.relfilenode)
           END AS relation,
           a.algorithm, a.in_use, a.size_factor, a.buffers, a.requests,
           a.reads, a.reads OPERATOR(pg_catalog.*) a.page_time AS read_time
    FROM pg_bufferpool_get_advice() AS a
    JOIN pg_catalog.pg_database AS d
      ON d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
    WHERE a.relfilenode IS NOT NULL;
COMMENT ON VIEW pg_bufferpool_relation_advice IS 'of the reads in pg_bufferpool_advice, those of the relations with most references';
COMMENT ON COLUMN pg_bufferpool_relation_advice.pool IS 'name of the pool';
COMMENT ON COLUMN pg_bufferpool_relation_advice.reldatabase IS 'OID of the relation''s database, 0 if it is shared';
COMMENT ON COLUMN pg_bufferpool_relation_advice.reltablespace IS 'OID of the relation''s tablespace';
COMMENT ON COLUMN pg_bufferpool_relation_advice.relfilenode IS 'file number of the relation';
COMMENT ON COLUMN pg_bufferpool_relation_advice.relation IS 'the relation, if it is in this database, or shared';
COMMENT ON COLUMN pg_bufferpool_relation_advice.algorithm IS 'replacement algorithm of the pool';
COMMENT ON COLUMN pg_bufferpool_relation_advice.in_use IS 'whether it is the pool''s';
COMMENT ON COLUMN pg_bufferpool_relation_advice.size_factor IS 'size of the pool as a multiple of today''s';
COMMENT ON COLUMN pg_bufferpool_relation_advice.buffers IS 'number of buffers of the pool';
COMMENT ON COLUMN pg_bufferpool_relation_advice.requests IS 'estimated references to the relation in the period';
COMMENT ON COLUMN pg_bufferpool_relation_advice.reads IS 'of them, pages that would have been read';
COMMENT ON COLUMN pg_bufferpool_relation_advice.read_time IS 'milliseconds that processes would have waited for them';

CREATE FUNCTION pg_stat_get_bufferpool_advice(
    OUT pool text,
    OUT pid int,
    OUT since timestamptz,
    OUT period interval,
    OUT requests bigint,
    OUT reads bigint,
    OUT page_time double precision,
    OUT sample_rate double precision,
    OUT sample_buffers bigint,
    OUT samples bigint,
    OUT dropped bigint,
    OUT memory bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_stat_get_bufferpool_advice()
    IS 'statistics: what the advice on each buffer pool is based on';

CREATE VIEW pg_stat_bufferpool_advice AS
    SELECT * FROM pg_stat_get_bufferpool_advice();
COMMENT ON VIEW pg_stat_bufferpool_advice IS 'statistics: what the advice on each buffer pool is based on';
COMMENT ON COLUMN pg_stat_bufferpool_advice.pool IS 'name of the pool';
COMMENT ON COLUMN pg_stat_bufferpool_advice.pid IS 'process ID of the advisor';
COMMENT ON COLUMN pg_stat_bufferpool_advice.since IS 'time at which the pool''s simulation began';
COMMENT ON COLUMN pg_stat_bufferpool_advice.period IS 'time whose references the advice is based on: since then, but at most bufferpool.advice_window';
COMMENT ON COLUMN pg_stat_bufferpool_advice.requests IS 'references to the pool in the period';
COMMENT ON COLUMN pg_stat_bufferpool_advice.reads IS 'pages that it read in the period';
COMMENT ON COLUMN pg_stat_bufferpool_advice.page_time IS 'milliseconds that a read takes, on average';
COMMENT ON COLUMN pg_stat_bufferpool_advice.sample_rate IS 'share of the pages in the sample';
COMMENT ON COLUMN pg_stat_bufferpool_advice.sample_buffers IS 'number of buffers in the simulation at the size that the pool had when it began';
COMMENT ON COLUMN pg_stat_bufferpool_advice.samples IS 'references simulated';
COMMENT ON COLUMN pg_stat_bufferpool_advice.dropped IS 'references to pages in the samples of all pools for which there was no room in memory, since server start';
COMMENT ON COLUMN pg_stat_bufferpool_advice.memory IS 'bytes of memory for the pool''s simulation and its results';

CREATE FUNCTION pg_bufferpool_advice_reset()
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION pg_bufferpool_advice_reset()
    IS 'begin the simulations that the advice on buffer pools comes from anew';

CREATE FUNCTION pg_bufferpool_get_moves(
    OUT moved_at timestamptz,
    OUT from_pool text,
    OUT to_pool text,
    OUT buffers_wanted bigint,
    OUT buffers_moved bigint,
    OUT from_buffers bigint,
    OUT to_buffers bigint,
    OUT saved_time double precision,
    OUT lost_time double precision,
    OUT gain double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_bufferpool_get_moves()
    IS 'the last moves of buffers between pools by self-tuning, or its advice to move them';

CREATE VIEW pg_bufferpool_moves AS
    SELECT * FROM pg_bufferpool_get_moves();
COMMENT ON VIEW pg_bufferpool_moves IS 'the last 64 moves of buffers between pools by self-tuning, or its advice to move them';
COMMENT ON COLUMN pg_bufferpool_moves.moved_at IS 'time of the decision';
COMMENT ON COLUMN pg_bufferpool_moves.from_pool IS 'name of the pool that gave buffers';
COMMENT ON COLUMN pg_bufferpool_moves.to_pool IS 'name of the pool that took them';
COMMENT ON COLUMN pg_bufferpool_moves.buffers_wanted IS 'number of buffers to be moved';
COMMENT ON COLUMN pg_bufferpool_moves.buffers_moved IS 'number of buffers moved: fewer if others were in use; null if that was only advised';
COMMENT ON COLUMN pg_bufferpool_moves.from_buffers IS 'number of buffers that the first pool had before';
COMMENT ON COLUMN pg_bufferpool_moves.to_buffers IS 'number of buffers that the second pool had before';
COMMENT ON COLUMN pg_bufferpool_moves.saved_time IS 'milliseconds of reading a second that this was expected to save in the second pool';
COMMENT ON COLUMN pg_bufferpool_moves.lost_time IS 'milliseconds of reading a second that it was expected to cost in the first pool';
COMMENT ON COLUMN pg_bufferpool_moves.gain IS 'the difference, as a share of the time of reading of all pools that are tuned';

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
    OUT ghost_key bigint,
    OUT pool text)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_bufferpool_lists()
    IS 'lists of the replacement algorithms, each from its most recent end: pages in buffers, and keys of evicted pages';

CREATE FUNCTION pg_bufferpool_get_buffers(
    OUT bufferid int,
    OUT relfilenode oid,
    OUT reltablespace oid,
    OUT reldatabase oid,
    OUT relforknumber smallint,
    OUT relblocknumber bigint,
    OUT isdirty boolean,
    OUT usagecount smallint,
    OUT pinning_backends int,
    OUT pool text,
    OUT list text,
    OUT age int)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_bufferpool_get_buffers()
    IS 'buffers, with their pages, pools and places in the lists of the replacement algorithms';

CREATE VIEW pg_bufferpool_buffers AS
    SELECT * FROM pg_bufferpool_get_buffers();
COMMENT ON VIEW pg_bufferpool_buffers IS 'buffers, with their pages, pools and places in the lists of the replacement algorithms';
COMMENT ON COLUMN pg_bufferpool_buffers.bufferid IS 'number of the buffer, from 1';
COMMENT ON COLUMN pg_bufferpool_buffers.relfilenode IS 'file number of the relation; null, like what follows, if the buffer has no page';
COMMENT ON COLUMN pg_bufferpool_buffers.reltablespace IS 'OID of the relation''s tablespace';
COMMENT ON COLUMN pg_bufferpool_buffers.reldatabase IS 'OID of the relation''s database, 0 if it is shared';
COMMENT ON COLUMN pg_bufferpool_buffers.relforknumber IS 'fork of the relation';
COMMENT ON COLUMN pg_bufferpool_buffers.relblocknumber IS 'number of the page in the fork';
COMMENT ON COLUMN pg_bufferpool_buffers.isdirty IS 'whether the page has yet to be written';
COMMENT ON COLUMN pg_bufferpool_buffers.usagecount IS 'usage count, which only PostgreSQL''s own clock lowers';
COMMENT ON COLUMN pg_bufferpool_buffers.pinning_backends IS 'number of processes that use the page at this moment';
COMMENT ON COLUMN pg_bufferpool_buffers.pool IS 'name of the buffer''s pool';
COMMENT ON COLUMN pg_bufferpool_buffers.list IS 'list of the replacement algorithm that the page is on';
COMMENT ON COLUMN pg_bufferpool_buffers.age IS 'number of pages before it, from the most recent end of the list';

CREATE FUNCTION pg_bufferpool_get_relations(
    OUT pool text,
    OUT reldatabase oid,
    OUT reltablespace oid,
    OUT relfilenode oid,
    OUT resident bigint,
    OUT dirty bigint,
    OUT pinned bigint,
    OUT usage double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_bufferpool_get_relations()
    IS 'number of pages of each relation in each pool';

CREATE VIEW pg_bufferpool_relations AS
    SELECT r.pool, r.reldatabase, r.reltablespace, r.relfilenode,
           CASE WHEN r.reldatabase OPERATOR(pg_catalog.=) 0
                  OR r.reldatabase OPERATOR(pg_catalog.=) d.oid
                THEN pg_catalog.pg_filenode_relation(
                         CASE WHEN r.reltablespace OPERATOR(pg_catalog.=) d.dattablespace
                              THEN 0 ELSE r.reltablespace END, r.relfilenode)
           END AS relation,
           r.resident, r.dirty, r.pinned, r.usage
    FROM pg_bufferpool_get_relations() AS r
    JOIN pg_catalog.pg_database AS d
      ON d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database();
COMMENT ON VIEW pg_bufferpool_relations IS 'pages of each relation in each pool';
COMMENT ON COLUMN pg_bufferpool_relations.pool IS 'name of the pool';
COMMENT ON COLUMN pg_bufferpool_relations.reldatabase IS 'OID of the relation''s database, 0 if it is shared';
COMMENT ON COLUMN pg_bufferpool_relations.reltablespace IS 'OID of the relation''s tablespace';
COMMENT ON COLUMN pg_bufferpool_relations.relfilenode IS 'file number of the relation';
COMMENT ON COLUMN pg_bufferpool_relations.relation IS 'the relation, if it is in this database, or shared';
COMMENT ON COLUMN pg_bufferpool_relations.resident IS 'number of its pages in buffers of the pool';
COMMENT ON COLUMN pg_bufferpool_relations.dirty IS 'of these, pages that have yet to be written';
COMMENT ON COLUMN pg_bufferpool_relations.pinned IS 'of these, pages that are in use at this moment';
COMMENT ON COLUMN pg_bufferpool_relations.usage IS 'mean of their usage counts, which only PostgreSQL''s own clock lowers';

CREATE FUNCTION pg_bufferpool_check(
    algorithm_state boolean DEFAULT true,
    OUT violation text,
    OUT number bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION pg_bufferpool_check(boolean)
    IS 'verify the replacement algorithm against the buffers and, holding the pool''s lock throughout, its own state; a row for each violation';

-- ---- the SSD tier ----

CREATE FUNCTION pg_stat_get_ssd_tier(
    OUT status text,
    OUT since timestamptz,
    OUT file text,
    OUT direct boolean,
    OUT policy text,
    OUT pages bigint,
    OUT used_pages bigint,
    OUT kept_pages bigint,
    OUT memory bigint,
    OUT reads bigint,
    OUT hits bigint,
    OUT admissions bigint,
    OUT evictions bigint,
    OUT updates bigint,
    OUT refused_cold bigint,
    OUT refused_kept bigint,
    OUT refused_budget bigint,
    OUT refused_choice bigint,
    OUT refused_busy bigint,
    OUT refused_relations bigint,
    OUT dropped bigint,
    OUT failed bigint,
    OUT passed_by bigint,
    OUT invalidations bigint,
    OUT writes bigint,
    OUT read_errors bigint,
    OUT bad_pages bigint,
    OUT write_errors bigint,
    OUT verified bigint,
    OUT ssd_read_time double precision,
    OUT disk_random_read_time double precision,
    OUT disk_sequential_read_time double precision,
    OUT saved_time double precision,
    OUT write_price double precision,
    OUT day_writes bigint,
    OUT stats_reset timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_stat_get_ssd_tier()
    IS 'statistics: the SSD tier';

CREATE VIEW pg_stat_ssd_tier AS
    SELECT t.status, t.since, t.file, t.direct, t.policy, t.pages, t.used_pages,
           t.kept_pages, t.memory, t.reads, t.hits,
           t.reads OPERATOR(pg_catalog.-) t.hits AS misses,
           t.admissions, t.evictions, t.updates, t.refused_cold,
           t.refused_kept, t.refused_budget, t.refused_choice,
           t.refused_busy, t.refused_relations, t.dropped,
           t.failed, t.passed_by, t.invalidations, t.writes,
           t.writes OPERATOR(pg_catalog.*)
           pg_catalog.current_setting('block_size')::bigint AS write_bytes,
           t.read_errors, t.bad_pages, t.write_errors, t.verified,
           t.ssd_read_time, t.disk_random_read_time,
           t.disk_sequential_read_time, t.saved_time, t.write_price,
           t.day_writes OPERATOR(pg_catalog.*)
           pg_catalog.current_setting('block_size')::bigint AS day_write_bytes,
           t.stats_reset
    FROM pg_stat_get_ssd_tier() AS t;
COMMENT ON VIEW pg_stat_ssd_tier IS 'statistics: the SSD tier; no row if there is none';
COMMENT ON COLUMN pg_stat_ssd_tier.status IS 'on; starting; or off, after errors or by pg_ssd_tier_disable()';
COMMENT ON COLUMN pg_stat_ssd_tier.since IS 'time at which the status changed';
COMMENT ON COLUMN pg_stat_ssd_tier.file IS 'file on the SSD';
COMMENT ON COLUMN pg_stat_ssd_tier.direct IS 'whether it is read and written around the operating system''s cache';
COMMENT ON COLUMN pg_stat_ssd_tier.policy IS 'algorithm that chooses the pages';
COMMENT ON COLUMN pg_stat_ssd_tier.pages IS 'number of pages that the tier has room for';
COMMENT ON COLUMN pg_stat_ssd_tier.used_pages IS 'number of pages that it has';
COMMENT ON COLUMN pg_stat_ssd_tier.kept_pages IS 'of these, pages of relations that are to be kept (ssd_tier = keep)';
COMMENT ON COLUMN pg_stat_ssd_tier.memory IS 'bytes of shared memory for the largest size that it may have, without the write buffers';
COMMENT ON COLUMN pg_stat_ssd_tier.reads IS 'pages of main forks that memory missed, except those that are not to come to the SSD (refused_choice)';
COMMENT ON COLUMN pg_stat_ssd_tier.hits IS 'of these, pages read from the SSD';
COMMENT ON COLUMN pg_stat_ssd_tier.misses IS 'of these, pages read from the disk';
COMMENT ON COLUMN pg_stat_ssd_tier.admissions IS 'pages read from the disk that were given a place on the SSD';
COMMENT ON COLUMN pg_stat_ssd_tier.evictions IS 'pages that made room for others';
COMMENT ON COLUMN pg_stat_ssd_tier.updates IS 'pages on the SSD that were copied again when they were written to the disk';
COMMENT ON COLUMN pg_stat_ssd_tier.refused_cold IS 'pages read from the disk that the algorithm did not want';
COMMENT ON COLUMN pg_stat_ssd_tier.refused_kept IS 'pages read from the disk for which pages to be kept left no place: they were to be kept themselves, beyond bufferpool.ssd_keep_share, and colder than the others, or all places were kept';
COMMENT ON COLUMN pg_stat_ssd_tier.refused_budget IS 'pages not written to the SSD, or not again, because they save less than write_price';
COMMENT ON COLUMN pg_stat_ssd_tier.refused_choice IS 'pages read from the disk that are not to come to the SSD (ssd_tier = none)';
COMMENT ON COLUMN pg_stat_ssd_tier.refused_busy IS 'pages read from the disk for which no place was free that is not in use';
COMMENT ON COLUMN pg_stat_ssd_tier.refused_relations IS 'pages read from the disk of relations for which the table of relations had no room';
COMMENT ON COLUMN pg_stat_ssd_tier.dropped IS 'pages that lost their place because the writer had fallen behind; see bufferpool.ssd_write_buffers';
COMMENT ON COLUMN pg_stat_ssd_tier.failed IS 'pages that had a place and did not come, because reading or writing the disk failed';
COMMENT ON COLUMN pg_stat_ssd_tier.passed_by IS 'pages read from the disk although they had a place: on their way to the SSD, or together with others; and all pages while the SSD saves no time';
COMMENT ON COLUMN pg_stat_ssd_tier.invalidations IS 'pages that lost their place because they ceased to exist';
COMMENT ON COLUMN pg_stat_ssd_tier.writes IS 'pages written to the SSD';
COMMENT ON COLUMN pg_stat_ssd_tier.write_bytes IS 'bytes written to the SSD';
COMMENT ON COLUMN pg_stat_ssd_tier.read_errors IS 'reads of the SSD that failed; the pages were read from the disk';
COMMENT ON COLUMN pg_stat_ssd_tier.bad_pages IS 'pages of the SSD that were not what had been written; they were read from the disk';
COMMENT ON COLUMN pg_stat_ssd_tier.write_errors IS 'writes to the SSD that failed';
COMMENT ON COLUMN pg_stat_ssd_tier.verified IS 'pages of the SSD that were compared with the disk''s (bufferpool.ssd_verify)';
COMMENT ON COLUMN pg_stat_ssd_tier.ssd_read_time IS 'microseconds that the SSD takes to read a page, as set or measured';
COMMENT ON COLUMN pg_stat_ssd_tier.disk_random_read_time IS 'microseconds that the disk takes to read a page at random, as set or measured';
COMMENT ON COLUMN pg_stat_ssd_tier.disk_sequential_read_time IS 'microseconds that the disk takes to read one of many pages in a row, as set or measured';
COMMENT ON COLUMN pg_stat_ssd_tier.saved_time IS 'milliseconds of reading that the hits saved, by these times';
COMMENT ON COLUMN pg_stat_ssd_tier.write_price IS 'microseconds that a page must save for a write to the SSD, by its temperature; 0 while much of the write budgets is left';
COMMENT ON COLUMN pg_stat_ssd_tier.day_write_bytes IS 'bytes written to the SSD in this hour and the 23 before it, across restarts';
COMMENT ON COLUMN pg_stat_ssd_tier.stats_reset IS 'time at which the counters began';

CREATE FUNCTION pg_stat_reset_ssd_tier()
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_stat_reset_ssd_tier()
    IS 'statistics: reset the counters of the SSD tier';

CREATE FUNCTION pg_ssd_tier_get_relations(
    OUT reldatabase oid,
    OUT reltablespace oid,
    OUT relfilenode oid,
    OUT ssd_tier text,
    OUT pages bigint,
    OUT reads bigint,
    OUT hits bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_ssd_tier_get_relations()
    IS 'relations that have pages on the SSD, or were read lately';

CREATE VIEW pg_ssd_tier_relations AS
    SELECT r.reldatabase, r.reltablespace, r.relfilenode,
           CASE WHEN r.reldatabase OPERATOR(pg_catalog.=) 0
                  OR r.reldatabase OPERATOR(pg_catalog.=) d.oid
                THEN pg_catalog.pg_filenode_relation(
                         CASE WHEN r.reltablespace OPERATOR(pg_catalog.=) d.dattablespace
                              THEN 0 ELSE r.reltablespace END, r.relfilenode)
           END AS relation,
           r.ssd_tier, r.pages, r.reads, r.hits
    FROM pg_ssd_tier_get_relations() AS r
    JOIN pg_catalog.pg_database AS d
      ON d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database();
COMMENT ON VIEW pg_ssd_tier_relations IS 'relations that have pages on the SSD, or were read lately';
COMMENT ON COLUMN pg_ssd_tier_relations.reldatabase IS 'OID of the relation''s database, 0 if it is shared';
COMMENT ON COLUMN pg_ssd_tier_relations.reltablespace IS 'OID of the relation''s tablespace';
COMMENT ON COLUMN pg_ssd_tier_relations.relfilenode IS 'file number of the relation';
COMMENT ON COLUMN pg_ssd_tier_relations.relation IS 'the relation, if it is in this database, or shared';
COMMENT ON COLUMN pg_ssd_tier_relations.ssd_tier IS 'auto, keep or none: what the relation, or its pool, wants';
COMMENT ON COLUMN pg_ssd_tier_relations.pages IS 'number of its pages that have a place on the SSD';
COMMENT ON COLUMN pg_ssd_tier_relations.reads IS 'pages of it that memory missed';
COMMENT ON COLUMN pg_ssd_tier_relations.hits IS 'of these, pages read from the SSD';

CREATE FUNCTION pg_ssd_tier_get_extents(
    OUT reldatabase oid,
    OUT reltablespace oid,
    OUT relfilenode oid,
    OUT relblocknumber bigint,
    OUT temperature double precision,
    OUT cached int)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_ssd_tier_get_extents()
    IS 'extents of relations, and their temperatures';

CREATE VIEW pg_ssd_tier_extents AS
    SELECT r.reldatabase, r.reltablespace, r.relfilenode,
           CASE WHEN r.reldatabase OPERATOR(pg_catalog.=) 0
                  OR r.reldatabase OPERATOR(pg_catalog.=) d.oid
                THEN pg_catalog.pg_filenode_relation(
                         CASE WHEN r.reltablespace OPERATOR(pg_catalog.=) d.dattablespace
                              THEN 0 ELSE r.reltablespace END, r.relfilenode)
           END AS relation,
           r.relblocknumber, r.temperature, r.cached
    FROM pg_ssd_tier_get_extents() AS r
    JOIN pg_catalog.pg_database AS d
      ON d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database();
COMMENT ON VIEW pg_ssd_tier_extents IS 'extents of relations, and their temperatures';
COMMENT ON COLUMN pg_ssd_tier_extents.reldatabase IS 'OID of the relation''s database, 0 if it is shared';
COMMENT ON COLUMN pg_ssd_tier_extents.reltablespace IS 'OID of the relation''s tablespace';
COMMENT ON COLUMN pg_ssd_tier_extents.relfilenode IS 'file number of the relation';
COMMENT ON COLUMN pg_ssd_tier_extents.relation IS 'the relation, if it is in this database, or shared';
COMMENT ON COLUMN pg_ssd_tier_extents.relblocknumber IS 'number of the extent''s first page';
COMMENT ON COLUMN pg_ssd_tier_extents.temperature IS 'microseconds of reading that having the extent on the SSD would have saved, halved as time passes';
COMMENT ON COLUMN pg_ssd_tier_extents.cached IS 'number of its pages on the SSD';

CREATE FUNCTION pg_ssd_tier_enable()
RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION pg_ssd_tier_enable()
    IS 'switch the SSD tier on again, empty; false if that is impossible, and the log says why';

CREATE FUNCTION pg_ssd_tier_disable()
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION pg_ssd_tier_disable()
    IS 'switch the SSD tier off, until pg_ssd_tier_enable() or a restart';

CREATE FUNCTION pg_ssd_tier_reset()
RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION pg_ssd_tier_reset()
    IS 'empty the SSD tier and forget all temperatures, as when it began; returns what pg_ssd_tier_enable() does';

CREATE FUNCTION pg_ssd_tier_check(
    OUT violation text,
    OUT number bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_ssd_tier_check()
    IS 'verify the directory of the SSD tier, holding its lock throughout; a row for each violation';

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

CREATE FUNCTION pg_stat_get_bufferpool_warm(
    OUT pid int,
    OUT phase text,
    OUT began timestamptz,
    OUT ended timestamptz,
    OUT pages_wanted bigint,
    OUT pages_read bigint,
    OUT pages_present bigint,
    OUT pages_gone bigint,
    OUT pages_no_room bigint,
    OUT pages_left bigint,
    OUT ghosts_recalled bigint,
    OUT workers_started bigint,
    OUT pauses bigint,
    OUT saves bigint,
    OUT failed_saves bigint,
    OUT fetches bigint,
    OUT failed_fetches bigint,
    OUT list_saved timestamptz,
    OUT save_seconds double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_stat_get_bufferpool_warm()
    IS 'statistics: progress of the warm start, and the list for the next one';

CREATE VIEW pg_stat_progress_bufferpool_warm AS
    SELECT * FROM pg_stat_get_bufferpool_warm();
COMMENT ON VIEW pg_stat_progress_bufferpool_warm IS 'statistics: progress of the warm start, and the list for the next one';
COMMENT ON COLUMN pg_stat_progress_bufferpool_warm.pid IS 'process ID of the buffer pool warmer';
COMMENT ON COLUMN pg_stat_progress_bufferpool_warm.phase IS 'what it is doing';
COMMENT ON COLUMN pg_stat_progress_bufferpool_warm.began IS 'when it began to read the list back';
COMMENT ON COLUMN pg_stat_progress_bufferpool_warm.ended IS 'when that was done';
COMMENT ON COLUMN pg_stat_progress_bufferpool_warm.pages_wanted IS 'pages on the list that the pools have buffers for';
COMMENT ON COLUMN pg_stat_progress_bufferpool_warm.pages_read IS 'pages that were read';
COMMENT ON COLUMN pg_stat_progress_bufferpool_warm.pages_present IS 'pages that others had read already';
COMMENT ON COLUMN pg_stat_progress_bufferpool_warm.pages_gone IS 'pages of relations or blocks that are no more';
COMMENT ON COLUMN pg_stat_progress_bufferpool_warm.pages_no_room IS 'pages for which there was no free buffer';
COMMENT ON COLUMN pg_stat_progress_bufferpool_warm.pages_left IS 'pages left out: of databases that take no connections, of tables that were locked, or because the warm start was ended';
COMMENT ON COLUMN pg_stat_progress_bufferpool_warm.ghosts_recalled IS 'evicted pages that algorithms remember again';
COMMENT ON COLUMN pg_stat_progress_bufferpool_warm.workers_started IS 'background workers that were started to read';
COMMENT ON COLUMN pg_stat_progress_bufferpool_warm.pauses IS 'pauses of workers because queries waited for reads';
COMMENT ON COLUMN pg_stat_progress_bufferpool_warm.saves IS 'lists that were saved since the server was started';
COMMENT ON COLUMN pg_stat_progress_bufferpool_warm.failed_saves IS 'lists that could not be written';
COMMENT ON COLUMN pg_stat_progress_bufferpool_warm.fetches IS 'lists that this standby has from its primary';
COMMENT ON COLUMN pg_stat_progress_bufferpool_warm.failed_fetches IS 'attempts to fetch the primary''s list that failed; the log says why';
COMMENT ON COLUMN pg_stat_progress_bufferpool_warm.list_saved IS 'when the list in the file was saved';
COMMENT ON COLUMN pg_stat_progress_bufferpool_warm.save_seconds IS 'seconds that the last save took';

CREATE FUNCTION pg_bufferpool_save_warm(force boolean DEFAULT false)
RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION pg_bufferpool_save_warm(boolean)
    IS 'save the list of pages for a warm start now; returns their number, or null if the old list was kept; force: even if a warm start was interrupted and this server has fewer pages';

CREATE FUNCTION pg_bufferpool_warm_list(at bigint)
RETURNS bytea
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION pg_bufferpool_warm_list(bigint)
    IS 'up to 1 MB of the list of pages for a warm start, from this byte of its file on; null if there is none; for standbys';

-- ---- privileges ----

REVOKE ALL ON FUNCTION pg_bufferpool_pools() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_stat_get_bufferpool_progress() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_bufferpool_move(regclass) FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_bufferpool_reset_options() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_bufferpool_get_buffers() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_bufferpool_get_relations() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_bufferpool_algorithms() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_bufferpool_options() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_bufferpool_reset() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_stat_get_bufferpools() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_stat_get_scans() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_stat_reset_bufferpools() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_bufferpool_lock_holds() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_bufferpool_get_advice() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_stat_get_bufferpool_advice() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_bufferpool_advice_reset() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_bufferpool_get_moves() FROM PUBLIC;
REVOKE ALL ON pg_bufferpool_advice, pg_bufferpool_relation_advice, pg_stat_bufferpool_advice,
    pg_bufferpool_moves FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_bufferpool_lists() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_bufferpool_check(boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_stat_get_bufferpool_trace() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_stat_get_bufferpool_warm() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_bufferpool_save_warm(boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_bufferpool_warm_list(bigint) FROM PUBLIC;
REVOKE ALL ON pg_stat_progress_bufferpool_warm FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_stat_get_ssd_tier() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_stat_reset_ssd_tier() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_ssd_tier_get_relations() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_ssd_tier_get_extents() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_ssd_tier_enable() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_ssd_tier_disable() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_ssd_tier_reset() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_ssd_tier_check() FROM PUBLIC;
REVOKE ALL ON pg_stat_ssd_tier, pg_ssd_tier_relations, pg_ssd_tier_extents FROM PUBLIC;
REVOKE ALL ON pg_bufferpool, pg_stat_bufferpool, pg_stat_progress_bufferpool,
    pg_bufferpool_buffers, pg_bufferpool_relations, pg_stat_bufferpool_trace,
    pg_stat_scans FROM PUBLIC;

GRANT EXECUTE ON FUNCTION pg_bufferpool_pools() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_stat_get_bufferpool_progress() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_bufferpool_get_relations() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_bufferpool_algorithms() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_bufferpool_options() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_stat_get_bufferpools() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_stat_get_scans() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_bufferpool_lock_holds() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_stat_get_bufferpool_warm() TO pg_monitor;
GRANT SELECT ON pg_stat_progress_bufferpool_warm TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_stat_get_ssd_tier() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_ssd_tier_get_relations() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_ssd_tier_get_extents() TO pg_monitor;
GRANT SELECT ON pg_stat_ssd_tier, pg_ssd_tier_relations, pg_ssd_tier_extents TO pg_monitor;
GRANT SELECT ON pg_bufferpool, pg_stat_bufferpool, pg_stat_progress_bufferpool,
    pg_bufferpool_relations, pg_stat_scans TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_bufferpool_get_advice() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_stat_get_bufferpool_advice() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_bufferpool_get_moves() TO pg_monitor;
GRANT SELECT ON pg_bufferpool_advice, pg_bufferpool_relation_advice, pg_stat_bufferpool_advice,
    pg_bufferpool_moves TO pg_monitor;

-- roles that may record may also watch
GRANT EXECUTE ON FUNCTION pg_stat_get_bufferpool_trace() TO pg_monitor, pg_write_server_files;
GRANT SELECT ON pg_stat_bufferpool_trace TO pg_monitor, pg_write_server_files;
