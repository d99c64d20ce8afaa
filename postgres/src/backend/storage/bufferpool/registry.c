/*-------------------------------------------------------------------------
 *
 * registry.c
 *	  Replacement algorithms by name.
 *
 * The libraries in shared_preload_libraries fill the registry in the
 * postmaster, and every process inherits it (or fills it again after exec).
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

#define MAX_ROUTINES 128

static const BufferPoolRoutine *routines[MAX_ROUTINES];
static int	nroutines = 0;

void
RegisterBufferPoolRoutine(const BufferPoolRoutine *routine)
{
	if (!process_shared_preload_libraries_in_progress)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("replacement algorithm \"%s\" must be loaded at server start",
						routine->name),
				 errhint("Add its library to \"shared_preload_libraries\".")));
	if (strlen(routine->name) >= NAMEDATALEN)
		ereport(ERROR,
				(errcode(ERRCODE_NAME_TOO_LONG),
				 errmsg("name of replacement algorithm \"%s\" is too long",
						routine->name)));
	if (pg_strcasecmp(routine->name, BUFFERPOOL_CLOCK) == 0 ||
		FindBufferPoolRoutine(routine->name) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("replacement algorithm \"%s\" is already registered",
						routine->name)));
	if (nroutines == MAX_ROUTINES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many replacement algorithms"),
				 errdetail("There can be at most %d.", MAX_ROUTINES)));
	routines[nroutines++] = routine;
}

void
RegisterBufferPoolPolicy(const tp_policy *policy, const char *name)
{
	RegisterBufferPoolRoutine(MakePolicyRoutine(policy, name));
}

/* The algorithm of this name, ignoring case, or NULL. */
const BufferPoolRoutine *
FindBufferPoolRoutine(const char *name)
{
	for (int i = 0; i < nroutines; i++)
		if (pg_strcasecmp(routines[i]->name, name) == 0)
			return routines[i];
	return NULL;
}

/* Walk the algorithms in order of registration: position begins at 0. */
const BufferPoolRoutine *
NextBufferPoolRoutine(int *position)
{
	return *position < nroutines ? routines[(*position)++] : NULL;
}
