/*
 * text.h
 *	  Text written piece by piece into memory that may be too small for it.
 */
#ifndef TIDEPOOL_TEXT_H
#define TIDEPOOL_TEXT_H

#include "tidepool/page.h"

/* What does not fit is counted, but not written. */
typedef struct tp_text
{
	char	   *at;
	size_t		size;			/* bytes there; the last stays for the NUL */
	size_t		length;			/* of all that was put */
} tp_text;

void		tp_text_char(tp_text *t, char c);
void		tp_text_string(tp_text *t, const char *s);
void		tp_text_unsigned(tp_text *t, uint64_t value);

/* At most three decimals, none that is a trailing zero. */
void		tp_text_double(tp_text *t, double value);

/* A space and the block, with the relation before it unless that is 0. */
void		tp_text_page(tp_text *t, tp_page page);

/* As strcmp(a, b) == 0, for a core without a library. */
bool		tp_text_equal(const char *a, const char *b);

#endif							/* TIDEPOOL_TEXT_H */
