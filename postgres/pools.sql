-- Five pools for the clusters that PostgreSQL's TAP tests make, and a trigger that
-- spreads pages over them (see suite).  Each session begins with one pool as
-- default_pool.  It also verifies the pools, and logs which have read pages.
-- For each database.
SET client_min_messages = warning;
CREATE BUFFER POOL IF NOT EXISTS one HANDLER arc SIZE '128kB';
CREATE BUFFER POOL IF NOT EXISTS two HANDLER lirs SIZE '128kB';
CREATE BUFFER POOL IF NOT EXISTS three HANDLER clock SIZE '192kB';
CREATE BUFFER POOL IF NOT EXISTS four HANDLER lru SIZE '256kB';
CREATE BUFFER POOL IF NOT EXISTS five HANDLER pbm SIZE '320kB';
GRANT SET ON PARAMETER bufferpool.default_pool TO PUBLIC;

CREATE EXTENSION pg_bufferpool;
-- all roles run it, and not all may look
CREATE FUNCTION begin_with_a_pool() RETURNS event_trigger
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    pools CONSTANT text[] := '{one,two,three,four,five}';
    wrong text;
BEGIN
    PERFORM set_config('bufferpool.default_pool',
        pools[1 + pg_backend_pid() % array_length(pools, 1)], false);
    SELECT string_agg(c::text, ' ') INTO wrong FROM public.pg_bufferpool_check() AS c;
    IF wrong IS NOT NULL THEN
        RAISE LOG 'buffer pools are wrong: %', wrong;
    END IF;
    RAISE LOG 'buffer pools in use: %',
        (SELECT string_agg(name, ' ') FROM public.pg_stat_bufferpool WHERE reads > 0);
END
$$;
CREATE EVENT TRIGGER begin_with_a_pool ON login EXECUTE FUNCTION begin_with_a_pool();
