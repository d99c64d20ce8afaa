/*
 * report.h
 *	  The violations that a check finds as text, a line each.
 */
#ifndef TIDEPOOL_SIM_REPORT_H
#define TIDEPOOL_SIM_REPORT_H

#include <stdint.h>
#include <stdio.h>

typedef struct report_text
{
	char	   *at;
	size_t		left;
} report_text;

static inline report_text
report_to(char *text, size_t size)
{
	report_text report;

	report.at = text;

	report.left = size;
	if (size > 0)
		report.at[0] = '\0';
	return report;
}

/* A tp_report; leaves out lines that do not fit. */
static inline void
write_report(void *arg, const char *violation, uint32_t index)
{
	report_text *report = arg;
	int			n = snprintf(report->at, report->left, "%s (%u)\n", violation,
							 index);

	if (n > 0 && (size_t) n < report->left)
	{
		report->at += n;
		report->left -= (size_t) n;
	}
}

#endif							/* TIDEPOOL_SIM_REPORT_H */
