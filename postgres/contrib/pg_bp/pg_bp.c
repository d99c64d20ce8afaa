/*-------------------------------------------------------------------------
 *
 * pg_bp.c
 *	  Registers policies of the replacement core as replacement algorithms.
 *
 * One source for all the pg_bp_* libraries: meson.build says which policies
 * each has, as a list of X(policy, name).
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

#define X(policy, name) extern const tp_policy tp_policy_##policy;
PG_BP_POLICIES
#undef X

void
_PG_init(void)
{
#define X(policy, name) RegisterBufferPoolPolicy(&tp_policy_##policy, #name);
	PG_BP_POLICIES
#undef X
}
