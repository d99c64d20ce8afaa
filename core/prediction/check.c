/*
 * check.c
 *	  The invariants of a scan registry.
 */
#include "tidepool/prediction/scan.h"

typedef struct checker
{
	void		(*report) (void *arg, const char *violation, uint32_t index);
	void	   *arg;
	int			bad;
} checker;

static void
expect(checker *c, bool claim, const char *violation, uint32_t index)
{
	if (claim)
		return;
	c->bad++;
	if (c->report != NULL)
		c->report(c->arg, violation, index);
}

/* Check a scan of the relation in this place.  Returns 1 if it has a bitmap. */
static uint32_t
check_scan(const tp_scans *scans, uint32_t number, uint32_t place, checker *c)
{
	const tp_scan *scan = &scans->scans[number];
	const tp_scan_lanes *lanes = &scans->lanes[number / TP_SCAN_LANES];
	uint32_t	lane = number % TP_SCAN_LANES;
	bool		has_bitmap = scan->bitmap != TP_NONE;
	uint32_t	done = has_bitmap ? scans->bitmaps[scan->bitmap].done :
		lanes->done[lane];

	expect(c, scan->relation == place, "scan under another relation", number);
	expect(c, scan->length > 0, "scan of nothing", number);
	expect(c, done <= scan->length, "scan beyond its end", number);
	expect(c, lanes->done[lane] <= lanes->length[lane], "scan beyond its range",
		   number);
	expect(c, scan->measured_done <= done, "scan measured ahead of itself", number);
	expect(c, has_bitmap ? lanes->length[lane] > 0 :
		   lanes->length[lane] == scan->length, "lane of another length", number);
	expect(c, (scan->length < lanes->length[lane]) ==
		   ((lanes->bitmaps >> lane & 1) != 0),
		   "bitmap scan not marked", number);
	expect(c, lanes->block_time[lane] >= 0, "negative block_time", number);
	return has_bitmap;
}

int
tp_scans_check(const tp_scans *scans,
			   void (*report) (void *arg, const char *violation,
							   uint32_t index),
			   void *arg)
{
	const tp_scans_header *header = scans->header;
	checker		c = {report, arg, 0};
	uint32_t	lanes_seen = 0;
	uint32_t	running = 0;
	uint32_t	bitmaps_seen = 0;

	for (uint32_t place = 0; place <= header->relation_mask; place++)
	{
		const tp_scan_relation *relation = &scans->relations[place];
		uint32_t	of_relation = 0;

		if (relation->lanes == TP_NONE)
		{
			expect(&c, relation->scans == 0, "scans of no relation", place);
			continue;
		}
		expect(&c, ((place - (uint32_t) tp_mix64(relation->relation)) &
					header->relation_mask) < TP_SCAN_PROBES,
			   "relation where it is not looked for", place);
		for (uint32_t i = relation->lanes;
			 i != TP_NONE && lanes_seen < header->capacity;
			 i = scans->lanes[i].next)
		{
			lanes_seen++;
			expect(&c, scans->lanes[i].used != 0, "lanes without a scan", i);
			for (uint32_t lane = 0; lane < TP_SCAN_LANES; lane++)
				if ((scans->lanes[i].used >> lane & 1) != 0)
				{
					of_relation++;
					bitmaps_seen += check_scan(scans, i * TP_SCAN_LANES + lane,
											   place, &c);
				}
				else
					expect(&c, scans->lanes[i].length[lane] == 0 &&
						   (scans->lanes[i].bitmaps >> lane & 1) == 0,
						   "unused lane with a scan", i * TP_SCAN_LANES + lane);
		}
		expect(&c, of_relation == relation->scans, "scans miscounted", place);
		running += of_relation;
	}
	for (uint32_t i = header->free_lanes;
		 i != TP_NONE && lanes_seen <= header->capacity; i = scans->lanes[i].next)
	{
		lanes_seen++;
		expect(&c, scans->lanes[i].used == 0, "free lanes with a scan", i);
	}
	for (uint32_t i = header->free_bitmap;
		 i != TP_NONE && bitmaps_seen <= header->bitmap_capacity;
		 i = scans->bitmaps[i].shift)
		bitmaps_seen++;
	expect(&c, lanes_seen == header->capacity, "lanes lost", lanes_seen);
	expect(&c, bitmaps_seen == header->bitmap_capacity, "bitmaps lost",
		   bitmaps_seen);
	expect(&c, running == header->running, "running scans miscounted", running);
	return c.bad;
}
