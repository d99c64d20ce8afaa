/*
 * policies.h
 *	  The policies, in the order of the manual.
 *
 * X(symbol) for each; a new policy is one line here and one file beside it.
 */
#ifndef TIDEPOOL_POLICIES_H
#define TIDEPOOL_POLICIES_H

#define TP_ALL_POLICIES(X) \
	X(tp_policy_clock) \
	X(tp_policy_lru) \
	X(tp_policy_lru_k) \
	X(tp_policy_arc) \
	X(tp_policy_lirs) \
	X(tp_policy_lirs2)

#endif							/* TIDEPOOL_POLICIES_H */
