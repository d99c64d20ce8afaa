/*
 * text.c
 *	  Text written piece by piece.  See text.h.
 */
#include "tidepool/text.h"

void
tp_text_char(tp_text *t, char c)
{
	if (t->length + 1 < t->size)
		t->at[t->length] = c;
	t->length++;
}

void
tp_text_string(tp_text *t, const char *s)
{
	while (*s != '\0')
		tp_text_char(t, *s++);
}

void
tp_text_unsigned(tp_text *t, uint64_t value)
{
	char		digits[20];
	int			n = 0;

	do
		digits[n++] = (char) ('0' + value % 10);
	while ((value /= 10) != 0);
	while (n > 0)
		tp_text_char(t, digits[--n]);
}

void
tp_text_double(tp_text *t, double value)
{
	uint64_t	thousandths;
	unsigned	decimals;

	if (value < 0)
	{
		tp_text_char(t, '-');
		value = -value;
	}
	if (!(value < 1e15))
	{
		tp_text_string(t, "inf");
		return;
	}
	thousandths = (uint64_t) (value * 1000 + 0.5);
	tp_text_unsigned(t, thousandths / 1000);
	decimals = (unsigned) (thousandths % 1000);
	if (decimals != 0)
		tp_text_char(t, '.');
	for (unsigned unit = 100; decimals != 0; unit /= 10)
	{
		tp_text_char(t, (char) ('0' + decimals / unit));
		decimals %= unit;
	}
}

void
tp_text_page(tp_text *t, tp_page page)
{
	tp_text_char(t, ' ');
	if (page.relation != 0)
	{
		tp_text_unsigned(t, page.relation);
		tp_text_char(t, ':');
	}
	tp_text_unsigned(t, page.block);
}

bool
tp_text_equal(const char *a, const char *b)
{
	while (*a != '\0' && *a == *b)
		a++, b++;
	return *a == *b;
}
