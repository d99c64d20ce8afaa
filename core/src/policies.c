/*
 * policies.c
 *	  All policies, and each by its name.
 *
 * Not in the server, where policies come with libraries.
 */
#include "tidepool/policy.h"
#include "tidepool/text.h"

#define POLICY(name, library) extern const tp_policy tp_policy_##name;
#include "policies.def"
#undef POLICY

const tp_policy *const tp_policies[] = {
#define POLICY(name, library) &tp_policy_##name,
#include "policies.def"
#undef POLICY
	NULL
};

const char *const tp_policy_libraries[] = {
#define POLICY(name, library) #library,
#include "policies.def"
#undef POLICY
	NULL
};

const tp_policy *
tp_policy_find(const char *name)
{
	for (const tp_policy *const *p = tp_policies; *p != NULL; p++)
		if (tp_text_equal((*p)->name, name) ||
			((*p)->alias != NULL && tp_text_equal((*p)->alias, name)))
			return *p;
	return NULL;
}
