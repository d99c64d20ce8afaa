/*-------------------------------------------------------------------------
 *
 * registry.c
 *	  Replacement algorithms by name.
 *
 * Some are built in.  The libraries in shared_preload_libraries add theirs in the
 * postmaster, and every process inherits them (or adds them again after exec).
 * So function pointers are valid everywhere, and no process needs a catalog,
 * which the startup process could not read.
 *
 * src/backend/storage/bufferpool/registry.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufferpool_internals.h"

/* 2 KiB of each process, for four times the algorithms that come with this. */
#define MAX_POLICIES 128

typedef struct Algorithm
{
	const char *name;
	const tp_policy *policy;
} Algorithm;

#define BUILTIN_POLICIES \
	X(clock) X(keep) X(recycle) X(jam) X(pbm) X(pbm_pq)

#define X(policy) extern const tp_policy tp_policy_##policy;
BUILTIN_POLICIES
#undef X

static Algorithm policies[MAX_POLICIES] = {
#define X(policy) {#policy, &tp_policy_##policy},
	BUILTIN_POLICIES
#undef X
};

/* The first of a library, or the end. */
#define X(policy) + 1
static const int nbuiltin = 0 BUILTIN_POLICIES;
static int	npolicies = 0 BUILTIN_POLICIES;
#undef X

void
RegisterBufferPoolPolicy(const tp_policy *policy, const char *name)
{
	if (!process_shared_preload_libraries_in_progress)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("replacement algorithm \"%s\" must be loaded at server start",
						name),
				 errhint("Add its library to \"shared_preload_libraries\".")));
	if (strlen(name) >= NAMEDATALEN)
		ereport(ERROR,
				(errcode(ERRCODE_NAME_TOO_LONG),
				 errmsg("name of replacement algorithm \"%s\" is too long",
						name)));
	if (FindBufferPoolPolicy(name, NULL) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("replacement algorithm \"%s\" is already registered",
						name)));
	if (npolicies == MAX_POLICIES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many replacement algorithms"),
				 errdetail("There can be at most %d.", MAX_POLICIES)));
	policies[npolicies].name = name;
	policies[npolicies++].policy = policy;
}

/*
 * The algorithm of this name, ignoring case, or NULL.  *registered (may be
 * NULL): the name as it was registered.
 */
const tp_policy *
FindBufferPoolPolicy(const char *name, const char **registered)
{
	for (int i = 0; i < npolicies; i++)
		if (pg_strcasecmp(policies[i].name, name) == 0)
		{
			if (registered != NULL)
				*registered = policies[i].name;
			return policies[i].policy;
		}
	return NULL;
}

/*
 * Walk the names of the algorithms in order of registration: position begins
 * at 0.  NULL at the end.
 */
const char *
NextBufferPoolPolicy(int *position)
{
	return *position < npolicies ? policies[(*position)++].name : NULL;
}

/* Has a library registered an algorithm? */
bool
HasLibraryBufferPoolPolicies(void)
{
	return npolicies > nbuiltin;
}
