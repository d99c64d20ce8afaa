/*-------------------------------------------------------------------------
 *
 * parameters.c
 *	  Parameters of policies as text: "hir=0.02, ghosts=3".
 *
 * Names, kinds and ranges come from the policy's table, as in the tidepool
 * command: a share of the frames is written 0.02 or 2%, a choice by its name.
 *
 * src/backend/storage/bufferpool/parameters.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "storage/bufferpool_internals.h"
#include "utils/builtins.h"

/* Strip surrounding white space.  Overwrites the text. */
static char *
trimmed(char *text)
{
	char	   *end;

	while (isspace((unsigned char) *text))
		text++;
	end = text + strlen(text);
	while (end > text && isspace((unsigned char) end[-1]))
		*--end = '\0';
	return text;
}

/* The values of a choice, separated by commas. */
static char *
choices_text(const tp_param *param)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; param->choices[i] != NULL; i++)
		appendStringInfo(&text, "%s%s", i > 0 ? ", " : "", param->choices[i]);
	return text.data;
}

static bool
parse_value(const tp_param *param, const char *text, double *value,
			char **problem)
{
	char	   *end;

	if (param->type == TP_PARAM_ENUM)
	{
		for (int i = 0; param->choices[i] != NULL; i++)
			if (pg_strcasecmp(param->choices[i], text) == 0)
			{
				*value = i;
				return true;
			}
		*problem = psprintf("\"%s\" must be one of %s", param->name,
							choices_text(param));
		return false;
	}
	errno = 0;
	*value = strtod(text, &end);
	if (param->type == TP_PARAM_FRACTION && end > text && *end == '%')
	{
		*value /= 100;
		end++;
	}
	if (end == text || *end != '\0' || errno != 0 || isnan(*value))
	{
		*problem = psprintf("value \"%s\" of \"%s\" is not a number", text,
							param->name);
		return false;
	}
	if (param->type == TP_PARAM_INTEGER && *value != floor(*value))
	{
		*problem = psprintf("\"%s\" must be a whole number", param->name);
		return false;
	}
	if (*value < param->min || *value > param->max)
	{
		*problem = psprintf("\"%s\" must be from %g to %g", param->name,
							param->min, param->max);
		return false;
	}
	return true;
}

/*
 * Fill in the parameters of a policy, TP_MAX_PARAMS values: those named in the
 * text, and the defaults of the others.  If the text is invalid, returns false
 * with the reason in *problem.
 */
bool
ParsePolicyParameters(const tp_policy *policy, const char *text,
					  double *params, char **problem)
{
	bool		given[TP_MAX_PARAMS] = {0};
	char	   *rest = pstrdup(text);

	tp_policy_defaults(policy, params);
	if (*trimmed(rest) == '\0')
		return true;
	while (rest != NULL)
	{
		char	   *item = rest;
		char	   *value;
		int			index;

		rest = strchr(item, ',');
		if (rest != NULL)
			*rest++ = '\0';
		value = strchr(item, '=');
		if (value == NULL)
		{
			*problem = psprintf("\"%s\" is not of the form name=value",
								trimmed(item));
			return false;
		}
		*value++ = '\0';
		item = trimmed(item);
		index = tp_policy_param_find(policy, item);
		if (index < 0)
		{
			*problem = psprintf("there is no parameter \"%s\"", item);
			return false;
		}
		if (given[index])
		{
			*problem = psprintf("\"%s\" is given twice", item);
			return false;
		}
		given[index] = true;
		if (!parse_value(&policy->params[index], trimmed(value),
						 &params[index], problem))
			return false;
	}
	return true;
}
