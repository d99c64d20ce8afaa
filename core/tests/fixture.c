/*
 * fixture.c
 *	  See fixture.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "tidepool/relaxed.h"

static void
set_params(fixture *f, const tp_policy *policy, const char *text)
{
	tp_policy_defaults(policy, f->params);
	while (text != NULL && *text != '\0')
	{
		char		name[32];
		double		value;
		int			length;
		int			index;

		if (sscanf(text, "%31[a-z_]=%lf%n", name, &value, &length) != 2)
			fail_msg("cannot read parameters \"%s\"", text);
		index = tp_policy_param_find(policy, name);
		if (index < 0)
			fail_msg("%s has no parameter \"%s\"", policy->name, name);
		f->params[index] = value;
		text += length;

		if (*text == ',')
			text++;
	}
	assert_null(tp_policy_check_params(policy, f->params));
}

static void
keep_extents(fixture *f, uint32_t frames)
{
	tp_extents_settings settings;

	tp_extents_settings_of(f->pool.policy, f->params, &settings);
	settings.random_saving = FIXTURE_RANDOM;
	settings.sequential_saving = 1;
	f->extents = malloc(tp_extents_size(FIXTURE_EXTENTS));
	assert_non_null(f->extents);
	tp_extents_init(f->extents, FIXTURE_EXTENTS, frames, &settings);
	f->services.extents = f->extents;
}

static bool
is_dirty(void *arg, uint32_t frame)
{
	const fixture *f = arg;

	return f->dirty[frame];
}

static void
expect_frame(void *arg, uint32_t frame)
{
	fixture    *f = arg;

	tp_store32(&f->expected, frame);	/* searches of several threads */
}

fixture *
fixture_new(const char *name, const char *params, uint32_t frames)
{
	fixture    *f = calloc(1, sizeof(*f));
	const tp_policy *policy = tp_policy_find(name);

	assert_non_null(f);
	assert_non_null(policy);
	set_params(f, policy, params);
	f->block = malloc(tp_block_size(policy, f->params, FIXTURE_CAPACITY));
	f->pool = tp_block_init(policy, f->params, FIXTURE_CAPACITY, frames, 1,
							f->block);
	f->pace = 1;
	f->pool.services = &f->services;
	f->services.is_dirty = is_dirty;
	f->services.expect_frame = expect_frame;
	f->services.arg = f;
	if (policy->flags & TP_READS_EXTENTS)
		keep_extents(f, frames);
	return f;
}

void
fixture_free(fixture *f)
{
	free(f->block);
	free(f->extents);
	free(f);
}

static void
report(void *arg, const char *violation, uint32_t index)
{
	(void) arg;
	print_error("%s (%u)\n", violation, index);
}

/* The state must not care where it lies. */
static void
move(fixture *f)
{
	const tp_pool before = f->pool;
	size_t		size = tp_block_size(f->pool.policy, f->params,
									 FIXTURE_CAPACITY);
	void	   *block = malloc(size);

	assert_non_null(block);
	memcpy(block, f->block, size);
	memset(f->block, 0xa5, size);
	free(f->block);
	f->block = block;
	f->pool = tp_block_pool(before.policy, f->params, FIXTURE_CAPACITY, block);
	f->pool.services = &f->services;
}

static uint32_t
find(const fixture *f, tp_page page)
{
	for (uint32_t i = 0; i < f->pool.header->frames; i++)
	{
		uint32_t	frame = tp_member(&f->pool, i);

		if (tp_is_resident(&f->pool, frame) &&
			tp_page_equal(tp_page_of(&f->pool, frame), page))
			return frame;
	}
	return TP_NONE;
}

static uint32_t
find_claimed(const fixture *f, tp_page page)
{
	for (uint32_t i = 0; i < f->pool.header->frames; i++)
	{
		uint32_t	frame = tp_member(&f->pool, i);

		if (tp_is_claimed(&f->pool, frame) &&
			tp_page_equal(tp_page_of(&f->pool, frame), page))
			return frame;
	}
	fail_msg("no frame of block %u is claimed", page.block);
	return TP_NONE;
}

uint32_t
fixture_claimed(const fixture *f, uint32_t block)
{
	return find_claimed(f, tp_page_make(0, block));
}

static bool
usable(void *arg, uint32_t frame)
{
	const fixture *f = arg;

	return !f->pinned[frame];
}

static void
reference(fixture *f, tp_page page, const tp_access *access)
{
	uint32_t	frame = find(f, page);
	bool		writes = (access->flags & TP_WRITE) != 0;

	if (f->extents != NULL)
		tp_extents_read(f->extents, page);
	if (frame != TP_NONE)
	{
		f->hits++;
		f->dirty[frame] |= writes;
		tp_hit(&f->pool, frame, access);
		return;
	}
	f->misses++;
	frame = tp_victim(&f->pool, page, usable, f, access);
	if (!tp_is_frame(frame))
	{
		f->refused++;
		return;
	}
	assert_true(usable(f, frame));
	if (tp_is_resident(&f->pool, frame))
		tp_evict(&f->pool, frame, access);
	f->dirty[frame] = writes;
	tp_admit(&f->pool, frame, page, access);
}

static void
join(fixture *f)
{
	uint32_t	frame = 0;

	while (f->pool.nodes[frame].slot != TP_NONE)
		frame++;
	assert_true(frame < FIXTURE_CAPACITY);
	tp_join(&f->pool, frame);
}

static void
leave(fixture *f)
{
	tp_access	access = {.now = f->now};
	uint32_t	frame = tp_victim(&f->pool, tp_page_make(UINT32_MAX, 0), usable, f, &access);

	assert_true(tp_is_frame(frame));
	if (tp_is_resident(&f->pool, frame))
		tp_evict(&f->pool, frame, &access);
	tp_leave(&f->pool, frame);
}

void
fixture_evict(fixture *f, uint32_t frame)
{
	const tp_access access = {0};

	tp_evict(&f->pool, frame, &access);
	tp_release(&f->pool, frame);
}

static const char *
read_page(const char *text, tp_page *page)
{
	char	   *end;

	page->relation = 0;
	page->block = (uint32_t) strtoul(text, &end, 10);
	if (*end == ':')
	{
		page->relation = page->block;
		page->block = (uint32_t) strtoul(end + 1, &end, 10);
	}
	assert_ptr_not_equal(end, text);
	return end;
}

static const char *
step(fixture *f, const char *text)
{
	tp_access	access = {.now = f->now += f->pace, .scan = f->scan};
	tp_page		page;
	char		verb = *text;

	if (verb == '+' || verb == '/')
	{
		verb == '+' ? join(f) : leave(f);
		return text + 1;
	}
	text = read_page(strchr("-!?<>=", verb) ? text + 1 : text, &page);

	if (verb == '-')
	{
		uint32_t	frame = find(f, page);

		tp_forget(&f->pool, frame);
		tp_release(&f->pool, frame);
	}
	else if (verb == '!' || verb == '?')
		f->pinned[find(f, page)] = verb == '!';
	else if (verb == '=')
		f->dirty[find(f, page)] = false;
	else if (verb == '<')
		tp_evict(&f->pool, find(f, page), &access);
	else if (verb == '>')
		tp_restore(&f->pool, find_claimed(f, page), &access);
	else
	{
		for (; *text != '\0' && *text != ' '; text++)
			access.flags |= *text == 'w' ? TP_WRITE :
				*text == 'c' ? TP_CORRELATED : TP_VACUUM;
		reference(f, page, &access);
	}
	return text;
}

void
fixture_run(fixture *f, const char *text)
{
	while (*text != '\0')
	{
		if (*text == ' ')
		{
			text++;

			continue;
		}
		text = step(f, text);

		assert_int_equal(tp_check(&f->pool, NULL, NULL, report, NULL), 0);
		move(f);
	}
}

void
fixture_expect(fixture *f, const char *state)
{
	char		text[4096];

	tp_describe(&f->pool, text, sizeof(text));
	assert_string_equal(text, state);
}

static void
add_block(const fixture *f, char *text, uint32_t frame)
{
	sprintf(text + strlen(text), "%s%u", *text ? " " : "",
			f->pool.nodes[frame].block);
}

void
fixture_expect_coldest(fixture *f, const char *blocks)
{
	tp_cursor	cursor = {0};

	fixture_expect_slice(f, &cursor, UINT32_MAX, blocks);
	assert_true(cursor.over);
}

void
fixture_expect_slice(fixture *f, tp_cursor *cursor, uint64_t looks,
					 const char *blocks)
{
	char		text[1024] = "";
	uint32_t	frame;

	cursor->pause = cursor->looks + looks;
	while ((frame = tp_coldest(&f->pool, cursor)) != TP_NONE)
		add_block(f, text, frame);
	assert_string_equal(text, blocks);
}

void
fixture_expect_upcoming(fixture *f, tp_lookahead *ahead, uint32_t victims,
						const char *blocks)
{
	char		text[1024] = "";
	uint32_t	frame;

	tp_upcoming_begin(ahead, victims, usable, f);
	while ((frame = tp_upcoming(&f->pool, ahead)) != TP_NONE)
		add_block(f, text, frame);
	assert_true(ahead->cursor.over);
	assert_string_equal(text, blocks);
}

void
expect_state(const char *policy, const char *params, uint32_t frames,
			 const char *text, const char *state)
{
	fixture    *f = fixture_new(policy, params, frames);

	fixture_run(f, text);
	fixture_expect(f, state);
	fixture_free(f);
}
