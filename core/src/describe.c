/*
 * describe.c
 *	  A pool's lists and fields as text.  See tp_describe.
 */
#include "tidepool/pool.h"
#include "tidepool/text.h"

static void
put_frame(tp_text *t, const tp_pool *pool, uint32_t frame)
{
	const tp_node *node = &pool->nodes[frame];

	tp_text_page(t, tp_page_of(pool, frame));
	if (node->count != 0)
	{
		tp_text_char(t, '*');
		tp_text_unsigned(t, node->count);
	}
	if (node->mark != 0)
	{
		tp_text_char(t, '!');
		tp_text_unsigned(t, node->mark);
	}
}

static void
put_list(tp_text *t, const tp_pool *pool, unsigned list)
{
	const tp_policy *policy = pool->policy;
	const tp_passed *passed = &pool->header->passed[list];
	bool		ring = tp_list_is_ring(policy, list);

	if (t->length > 0)
		tp_text_string(t, " | ");
	tp_text_string(t, policy->lists[list - 1].name);
	tp_text_char(t, ':');
	if (ring)
	{
		for (uint32_t i = 0; i < pool->header->frames; i++)
			if (pool->nodes[tp_member(pool, i)].list == list)
				put_frame(t, pool, tp_member(pool, i));
	}
	else
		for (uint32_t frame = tp_list_of(pool, list)->head; frame != TP_NONE;
			 frame = pool->nodes[frame].next)
		{
			put_frame(t, pool, frame);
			if (frame == passed->last)
				tp_text_char(t, '^');
			if (frame == passed->hand)
				tp_text_char(t, '@');
		}
}

static void
put_ghosts(tp_text *t, const tp_pool *pool, unsigned list)
{
	if (t->length > 0)
		tp_text_string(t, " | ");
	tp_text_string(t, pool->policy->ghost_lists[list - 1]);
	tp_text_char(t, ':');
	for (uint32_t slot = tp_ghost_list_of(pool, list)->head; slot != TP_NONE;
		 slot = pool->ghosts[slot].next)
		tp_text_page(t, tp_page_of_key(pool->ghosts[slot].key));
}

static void
put_field(tp_text *t, const tp_pool *pool, const tp_field *field)
{
	const char *at = (const char *) pool->header->state + field->offset;

	tp_text_string(t, " | ");
	tp_text_string(t, field->name);
	tp_text_char(t, '=');
	switch (field->type)
	{
		case TP_FIELD_U32:
			tp_text_unsigned(t, *(const uint32_t *) (const void *) at);
			break;
		case TP_FIELD_U64:
			tp_text_unsigned(t, *(const uint64_t *) (const void *) at);
			break;
		case TP_FIELD_DOUBLE:
			tp_text_double(t, *(const double *) (const void *) at);
			break;
	}
}

size_t
tp_describe(const tp_pool *pool, char *buffer, size_t size)
{
	const tp_policy *policy = pool->policy;
	tp_text		t = {buffer, size, 0};

	for (unsigned list = 1;
		 list < TP_MAX_LISTS && policy->lists[list - 1].name != NULL; list++)
		put_list(&t, pool, list);
	for (unsigned list = 1; list < TP_MAX_GHOST_LISTS &&
		 policy->ghost_lists[list - 1] != NULL; list++)
		put_ghosts(&t, pool, list);
	if (policy->describe != NULL)
		policy->describe(pool, &t);
	for (const tp_field *field = policy->fields;
		 field != NULL && field->name != NULL; field++)
		put_field(&t, pool, field);
	if (size > 0)
		t.at[t.length < size ? t.length : size - 1] = '\0';
	return t.length;
}
