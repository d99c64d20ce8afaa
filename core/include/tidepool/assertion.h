/*
 * assertion.h
 *	  Contracts, checked where a caller may break them, and invariants, checked
 *	  on request.
 */
#ifndef TIDEPOOL_ASSERTION_H
#define TIDEPOOL_ASSERTION_H

#include "tidepool/policy.h"

/* Contracts are checked where the server's or the tests' assertions are. */
#if defined(USE_ASSERT_CHECKING) || defined(TP_CHECKING)
#define TP_ASSERT(claim) ((claim) ? (void) 0 : __builtin_trap())
#else
#define TP_ASSERT(claim) ((void) 0)
#endif

/* Helper of check functions: reports and returns 1 if the claim is false. */
static inline int
tp_expect(bool claim, const char *violation, uint32_t index,
		  tp_report report, void *arg)
{
	if (claim)
		return 0;
	if (report != NULL)
		report(arg, violation, index);
	return 1;
}

#endif							/* TIDEPOOL_ASSERTION_H */
