/*-------------------------------------------------------------------------
 *
 * recording_text.c
 *	  The texts before and after the records of a recording.
 *
 * Both are JSON objects; docs/trace-format.md lists their members.
 *
 * contrib/pg_bufferpool/recording_text.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "recorder.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufmgr.h"
#include "storage/ssd_tier_internals.h"
#include "utils/json.h"

/* Pages read, and microseconds that this took if track_io_timing is on. */
typedef struct ReadCounts
{
	uint64		reads;
	uint64		time;
} ReadCounts;

/* What the pools had counted when the recording began. */
static ReadCounts before;

static void
append_text(StringInfo text, const char *name, const char *value)
{
	appendStringInfo(text, "\"%s\":", name);
	escape_json(text, value);
	appendStringInfoChar(text, ',');
}

static void
append_number(StringInfo text, const char *name, int64 value)
{
	appendStringInfo(text, "\"%s\":" INT64_FORMAT ",", name, value);
}

/* The pools, DEFAULT first. */
static void
append_pools(StringInfo text)
{
	const char *separator = "\"pools\":[";

	for (int i = 0; i < BufferPoolsReserved(); i++)
	{
		BufferPoolDefinition definition;

		BufferPoolReadDefinition(&BufferPools[i], &definition);
		if (definition.name[0] == '\0')
			continue;
		appendStringInfoString(text, separator);
		BufferPoolAppendJson(text, &BufferPools[i], &definition,
							 BufferPoolSize(&BufferPools[i]));
		separator = ",";
	}
	appendStringInfoString(text, "],");
}

static ReadCounts
read_counts(void)
{
	ReadCounts	found = {0, 0};

	for (int i = 0; i < BufferPoolsReserved(); i++)
	{
		BufferPoolDefinition definition;
		BufferPoolCounters sums;
		TimestampTz stats_reset;

		BufferPoolReadDefinition(&BufferPools[i], &definition);
		if (definition.name[0] == '\0')
			continue;
		BufferPoolReadCounters(&BufferPools[i], &sums, &stats_reset);
		found.reads += sums.count[BUFFERPOOL_READS];
		found.time += sums.count[BUFFERPOOL_READ_TIME];
	}
	return found;
}

/*
 * How long the reads took.  Nothing if that was not measured, or if the counters
 * were reset or a pool dropped meanwhile.
 */
static void
append_read_time(StringInfo text)
{
	ReadCounts	now = read_counts();

	if (now.time <= before.time || now.reads <= before.reads)
		return;
	append_number(text, "reads", now.reads - before.reads);
	append_number(text, "read_time", now.time - before.time);
}

/*
 * What a replay needs to know about the server.  The same process describes the
 * outcome later.
 */
void
DescribeServer(StringInfo text, const RecorderRequest *request)
{
	before = read_counts();
	appendStringInfoChar(text, '{');
	append_text(text, "server_version", PG_VERSION);
	append_text(text, "algorithm", show_bufferpool_algorithm());
	append_text(text, "parameters", BufferPoolParameters());
	append_number(text, "seed", BUFFERPOOL_SEED);
	append_number(text, "buffers", NBuffers);
	append_number(text, "scans", BufferPoolScanCapacity());
	append_pools(text);
	appendStringInfo(text, "\"physical\":%s,\"reports\":%s,",
					 request->sample_rate < 1 ? "false" : "true",
					 request->sample_rate < 1 ? "false" : "true");
	if (SsdTierConfigured)
	{
		appendStringInfoString(text, "\"ssd\":");
		SsdTierDescribe(text);
		appendStringInfoChar(text, ',');
	}
	append_number(text, "batch_size", bufferpool_batch_size);
	append_number(text, "batch_threshold", bufferpool_batch_threshold);
	appendStringInfo(text, "\"sample_rate\":%.17g}", request->sample_rate);
}

/* Pages that were read, and microseconds that each took on average. */
static void
append_read_times(StringInfo text)
{
	static const char *const names[RECORDED_NUM_READS] = {
		"ssd", "disk_random", "disk_sequential"
	};
	RecordedReadTimes *times = BufferPoolRecordedReadTimes();

	appendStringInfoString(text, "\"read_times\":{");
	for (int i = 0; i < RECORDED_NUM_READS; i++)
	{
		uint64		pages = pg_atomic_read_u64(&times->pages[i]);
		uint64		sum = pg_atomic_read_u64(&times->nanoseconds[i]);

		appendStringInfo(text, "%s\"%s\":{\"pages\":" UINT64_FORMAT ",\"mean\":%.3f}",
						 i > 0 ? "," : "", names[i], pages,
						 pages > 0 ? (double) sum / pages / NS_PER_US : 0);
	}
	appendStringInfoString(text, "},");
}

/* How the recording ended.  names: a JSON object. */
void
DescribeOutcome(StringInfo text, const RecorderOutcome *outcome,
				const char *names)
{
	appendStringInfoChar(text, '{');
	append_number(text, "dropped", outcome->dropped);
	append_read_times(text);
	if (outcome->error[0] == '\0')
		appendStringInfoString(text, "\"error\":null,");
	else
		append_text(text, "error", outcome->error);
	append_read_time(text);
	appendStringInfo(text, "\"relations\":%s}", names);
}
