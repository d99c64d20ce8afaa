/*
 * describe.c
 *	  A pool's lists and fields as text.  See tp_describe.
 */
#include "tidepool/pool.h"

typedef struct text
{
	char	   *at;
	size_t		size;
	size_t		length;
} text;

static void
put_char(text *t, char c)
{
	if (t->length + 1 < t->size)
		t->at[t->length] = c;
	t->length++;
}

static void
put_string(text *t, const char *s)
{
	while (*s != '\0')
		put_char(t, *s++);
}

static void
put_unsigned(text *t, uint64_t value)
{
	char		digits[20];
	int			n = 0;

	do
		digits[n++] = (char) ('0' + value % 10);
	while ((value /= 10) != 0);
	while (n > 0)
		put_char(t, digits[--n]);
}

/* At most three decimals, none that is a trailing zero. */
static void
put_double(text *t, double value)
{
	uint64_t	thousandths;
	unsigned	decimals;

	if (value < 0)
	{
		put_char(t, '-');
		value = -value;
	}
	if (!(value < 1e15))
	{
		put_string(t, "inf");
		return;
	}
	thousandths = (uint64_t) (value * 1000 + 0.5);
	put_unsigned(t, thousandths / 1000);
	decimals = (unsigned) (thousandths % 1000);
	if (decimals != 0)
		put_char(t, '.');
	for (unsigned unit = 100; decimals != 0; unit /= 10)
	{
		put_char(t, (char) ('0' + decimals / unit));
		decimals %= unit;
	}
}

static void
put_page(text *t, tp_page page)
{
	put_char(t, ' ');
	if (page.relation != 0)
	{
		put_unsigned(t, page.relation);
		put_char(t, ':');
	}
	put_unsigned(t, page.block);
}

static void
put_frame(text *t, const tp_pool *pool, uint32_t frame)
{
	const tp_node *node = &pool->nodes[frame];

	put_page(t, tp_page_of(pool, frame));
	if (node->count != 0)
	{
		put_char(t, '*');
		put_unsigned(t, node->count);
	}
	if (node->mark != 0)
	{
		put_char(t, '!');
		put_unsigned(t, node->mark);
	}
}

static void
put_list(text *t, const tp_pool *pool, unsigned list)
{
	const tp_policy *policy = pool->policy;
	bool		ring = tp_list_is_ring(policy, list);

	if (t->length > 0)
		put_string(t, " | ");
	put_string(t, policy->lists[list - 1] + (ring ? 1 : 0));
	put_char(t, ':');
	if (ring)
	{
		for (uint32_t i = 0; i < pool->header->frames; i++)
			if (pool->nodes[pool->members[i]].list == list)
				put_frame(t, pool, pool->members[i]);
	}
	else
		for (uint32_t frame = tp_list_of(pool, list)->head; frame != TP_NONE;
			 frame = pool->nodes[frame].next)
			put_frame(t, pool, frame);
}

static void
put_ghosts(text *t, const tp_pool *pool, unsigned list)
{
	if (t->length > 0)
		put_string(t, " | ");
	put_string(t, pool->policy->ghost_lists[list - 1]);
	put_char(t, ':');
	for (uint32_t slot = tp_ghost_list_of(pool, list)->head; slot != TP_NONE;
		 slot = pool->ghosts[slot].next)
		put_page(t, tp_page_of_key(pool->ghosts[slot].key));
}

static void
put_field(text *t, const tp_pool *pool, const tp_field *field)
{
	const char *at = (const char *) pool->header->state + field->offset;

	put_string(t, " | ");
	put_string(t, field->name);
	put_char(t, '=');
	switch (field->type)
	{
		case TP_FIELD_U32:
			put_unsigned(t, *(const uint32_t *) (const void *) at);
			break;
		case TP_FIELD_U64:
			put_unsigned(t, *(const uint64_t *) (const void *) at);
			break;
		case TP_FIELD_DOUBLE:
			put_double(t, *(const double *) (const void *) at);
			break;
	}
}

size_t
tp_describe(const tp_pool *pool, char *buffer, size_t size)
{
	const tp_policy *policy = pool->policy;
	text		t = {buffer, size, 0};

	for (unsigned list = 1;
		 list < TP_MAX_LISTS && policy->lists[list - 1] != NULL; list++)
		put_list(&t, pool, list);
	for (unsigned list = 1; list < TP_MAX_GHOST_LISTS &&
		 policy->ghost_lists[list - 1] != NULL; list++)
		put_ghosts(&t, pool, list);
	for (const tp_field *field = policy->fields;
		 field != NULL && field->name != NULL; field++)
		put_field(&t, pool, field);
	if (size > 0)
		t.at[t.length < size ? t.length : size - 1] = '\0';
	return t.length;
}
