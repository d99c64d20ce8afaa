/*-------------------------------------------------------------------------
 *
 * warm_resume.c
 *	  Begin the pools' algorithms with what they had learned.
 *
 * In the postmaster, before the first page comes in: the stamps of pages that
 * come in later are then above those that are on the list.
 *
 * src/backend/storage/bufferpool/warm_resume.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufferpool_warm.h"

/*
 * Are these the pages of a pool with the same algorithm and parameters, so that
 * it can take over their standings?
 */
bool
WarmPoolIsSame(const WarmPool *head, const BufferPool *pool)
{
	BufferPoolDefinition definition;

	BufferPoolReadDefinition(pool, &definition);
	return head->page_size == WarmPageSize(pool->core.policy) &&
		strcmp(head->name, definition.name) == 0 &&
		strcmp(head->algorithm, definition.running) == 0 &&
		memcmp(head->params, definition.params, sizeof(head->params)) == 0;
}

void
BufferPoolResumeWarm(void)
{
	WarmHeader	header;
	WarmPool   *heads;

	/* what is wrong with the file is reported when the pages are read */
	if (!bufferpool_warm_start || !IsPostmasterEnvironment ||
		!ReadWarmHeads(&header, &heads, DEBUG1))
		return;
	for (uint32 i = 0; i < header.pools; i++)
		for (int j = 0; j < BufferPoolsReserved(); j++)
			if (BufferPoolHasAlgorithm(&BufferPools[j]) &&
				WarmPoolIsSame(&heads[i], &BufferPools[j]))
				tp_resume(&BufferPools[j].core, heads[i].state,
						  heads[i].buffers);
	pfree(heads);
}
