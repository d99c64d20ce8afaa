/*-------------------------------------------------------------------------
 *
 * pg_bp.c
 *	  Registers policies of the replacement core as replacement algorithms.
 *
 * One source for all pg_bp_* libraries: meson.build passes the policies of
 * each as a list of X(policy).  A policy's alias is an algorithm too.
 *
 * contrib/pg_bp/pg_bp.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "storage/bufferpool.h"

PG_MODULE_MAGIC_EXT(
					.name = PG_BP_LIBRARY,
					.version = PG_VERSION
);

#define X(policy) extern const tp_policy tp_policy_##policy;
PG_BP_POLICIES
#undef X

static void
register_policy(const tp_policy *policy)
{
	RegisterBufferPoolPolicy(policy, policy->name);
	if (policy->alias != NULL)
		RegisterBufferPoolPolicy(policy, policy->alias);
}

void
_PG_init(void)
{
#define X(policy) register_policy(&tp_policy_##policy);
	PG_BP_POLICIES
#undef X
}
