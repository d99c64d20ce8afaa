/*
 * parameters.c
 *	  What follows from a policy's table: its parameters, ghosts and bytes.
 */
#include <string.h>

#include "tidepool/pool.h"
#include "tidepool/text.h"

int
tp_policy_param_count(const tp_policy *policy)
{
	int			n = 0;

	if (policy->params != NULL)
		while (policy->params[n].name != NULL)
			n++;
	return n;
}

int
tp_policy_param_find(const tp_policy *policy, const char *name)
{
	for (int i = 0; i < tp_policy_param_count(policy); i++)
		if (tp_text_equal(policy->params[i].name, name))
			return i;
	return -1;
}

void
tp_policy_defaults(const tp_policy *policy, double *params)
{
	int			n = tp_policy_param_count(policy);

	memset(params, 0, TP_MAX_PARAMS * sizeof(double));
	for (int i = 0; i < n; i++)
		params[i] = policy->params[i].default_value;
}

const char *
tp_policy_check_params(const tp_policy *policy, const double *params)
{
	for (int i = 0; i < tp_policy_param_count(policy); i++)
	{
		const tp_param *param = &policy->params[i];

		/* written so that NaN fails */
		if (!(params[i] >= param->min && params[i] <= param->max))
			return "value out of range";
		if (param->type != TP_PARAM_REAL && param->type != TP_PARAM_FRACTION &&
			params[i] != (double) (int64_t) params[i])
			return "value must be a whole number";
	}
	return NULL;
}

uint32_t
tp_policy_ghosts_per_frame(const tp_policy *policy, const double *params)
{
	double		defaults[TP_MAX_PARAMS];
	double		factor;
	uint32_t	whole;

	if (policy->ghosts == NULL)
		return 0;
	if (params == NULL)
	{
		tp_policy_defaults(policy, defaults);
		params = defaults;
	}
	factor = policy->ghosts(params);
	whole = (uint32_t) factor;
	return whole + (whole < factor ? 1 : 0);
}

/* Bytes of node, extra and member. */
static uint32_t
bytes_without_buckets(const tp_policy *policy)
{
	return (uint32_t) (sizeof(tp_node) + sizeof(uint32_t)) +
		((policy->extra_size + 7) & ~UINT32_C(7));
}

uint32_t
tp_policy_buckets_per_frame(const tp_policy *policy, const double *params)
{
	uint32_t	ghosts = tp_policy_ghosts_per_frame(policy, params);
	uint32_t	wanted = (ghosts + 1) / 2;
	uint32_t	room = (TP_MAX_FRAME_BYTES - bytes_without_buckets(policy)) /
		(uint32_t) sizeof(uint32_t);

	if (ghosts == 0)
		return (policy->flags & TP_USES_HASH) != 0;
	return wanted < room ? wanted : room;
}

uint32_t
tp_policy_frame_bytes(const tp_policy *policy)
{
	return bytes_without_buckets(policy) +
		(uint32_t) sizeof(uint32_t) * tp_policy_buckets_per_frame(policy, NULL);
}
