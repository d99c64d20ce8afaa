-- For the clusters that PostgreSQL's TAP tests make (suite --ssd): a database in which
-- the SSD tier's statistics can be read.
CREATE DATABASE ssd_tier;
\connect ssd_tier
CREATE EXTENSION pg_bufferpool;
