/*
 * policies.h
 *	  The policies, in the order of the manual.
 *
 * X(symbol) for each; a new policy is one line here and one file beside it.
 */
#ifndef TIDEPOOL_POLICIES_H
#define TIDEPOOL_POLICIES_H

#define TP_ALL_POLICIES(X) \
	X(tp_policy_fifo) \
	X(tp_policy_random) \
	X(tp_policy_clock) \
	X(tp_policy_lru) \
	X(tp_policy_mru) \
	X(tp_policy_lru_k) \
	X(tp_policy_2q) \
	X(tp_policy_mq) \
	X(tp_policy_arc) \
	X(tp_policy_car) \
	X(tp_policy_lirs) \
	X(tp_policy_lirs2) \
	X(tp_policy_osic) \
	X(tp_policy_sieve) \
	X(tp_policy_s3fifo) \
	X(tp_policy_w_tinylfu) \
	X(tp_policy_hyperbolic) \
	X(tp_policy_lean_evict) \
	X(tp_policy_watt) \
	X(tp_policy_keep) \
	X(tp_policy_recycle) \
	X(tp_policy_jam) \
	X(tp_policy_pbm) \
	X(tp_policy_pbm_pq) \
	X(tp_policy_tac) \
	X(tp_policy_page_temperature)

#endif							/* TIDEPOOL_POLICIES_H */
