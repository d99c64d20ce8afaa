/*-------------------------------------------------------------------------
 *
 * look.c
 *	  Looks at the directory of the SSD tier, for views and for verification.
 *
 * src/backend/storage/ssdtier/look.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/ssd_tier_directory.h"

/* ---- for views ---- */

/* The relation in this place, or false. */
bool
SsdTierLookAtRelation(uint32 place, SsdTierRelation *relation)
{
	SsdTierLock();
	*relation = SsdTier.relations[place];
	SsdTierUnlock();
	return relation->used && !relation->gone;
}

/* Its statistics begin anew. */
void
SsdTierResetRelation(uint32 place)
{
	SsdTierLock();
	SsdTier.relations[place].reads = SsdTier.relations[place].hits = 0;
	SsdTierUnlock();
}

/*
 * The extent in this place of the table of temperatures, or false if it has
 * none, or a relation that is not known any more.
 */
bool
SsdTierLookAtExtent(uint32 number, SsdTierExtentLook *look)
{
	const tp_extents *extents = SsdTier.core.extents;
	uint32		place;
	uint32		extent;
	bool		known;

	SsdTierLock();
	known = !SsdTier.shared->anew &&
		SsdTierDescribeExtent(number, &place, &extent);
	if (known)
	{
		const SsdTierRelation *relation = &SsdTier.relations[place];
		tp_page		page = tp_page_make(relation_number(relation),
										extent * extents->settings.pages);

		look->locator = relation->locator;
		look->block = page.block;
		look->temperature = tp_extents_temperature(extents, page).saved;
		look->cached = 0;
		for (uint32 i = 0; i < extents->settings.pages; i++)
		{
			uint32		slot = SsdTierFindSlot(relation, page.block + i);

			look->cached += slot != TP_NONE && slot_is_valid(slot);
		}
	}
	SsdTierUnlock();
	return known;
}

/* ---- verification ---- */

/* How often a slot is on its way from its bucket. */
static bool
is_shown(uint32 slot)
{
	uint32		seen = 0;

	for (uint32 other = *slot_bucket(tp_page_of(&SsdTier.core.pool, slot));
		 other != TP_NONE; other = SsdTier.slots[other].next)
		seen += other == slot;
	return seen == 1;
}

/*
 * Check that the directory, the queue and the core's pool agree.  Holds the lock
 * throughout.  Returns the number of violations.
 */
int
SsdTierCheck(tp_report report, void *arg)
{
	uint32	   *pages = palloc0_array(uint32, SsdTier.max_relations);
	int			bad;

	SsdTierLock();
	bad = tp_tier_check(&SsdTier.core, report, arg);
	for (uint32 slot = 0; slot < SsdTier.shared->slots; slot++)
	{
		uint32		state = slot_state(slot);

		if (!tp_is_resident(&SsdTier.core.pool, slot))
		{
			bad += tp_expect((state & SSD_SLOT_VALID) == 0,
							 "valid slot without a page", slot, report, arg);
			continue;
		}
		pages[relation_in(slot) - SsdTier.relations]++;
		bad += tp_expect(is_shown(slot), "page not in its bucket", slot, report, arg);
		bad += tp_expect((state & SSD_SLOT_VALID) != 0 ||
						 ((state & SSD_SLOT_QUEUED) != 0 &&
						  SsdTier.entries[SsdTier.slots[slot].entry].slot == slot),
						 "page neither valid nor queued", slot, report, arg);
	}
	for (uint32 i = 0; i < SsdTier.max_relations; i++)
	{
		const SsdTierRelation *relation = &SsdTier.relations[i];

		bad += tp_expect(pages[i] == relation->pages, "wrong number of pages of a relation",
						 i, report, arg);
		bad += tp_expect(!relation->used || relation->gone ||
						 SsdTierFindRelation(&relation->locator) == relation,
						 "relation not in its bucket", i, report, arg);
	}
	SsdTierUnlock();
	pfree(pages);
	return bad;
}
