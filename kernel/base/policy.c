// SPDX-License-Identifier: GPL-2.0
/* The rules in force, and the module parameter that turns some off; see policy.h. */
#include <linux/kernel.h>
#include <linux/moduleparam.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "base/policy.h"

DEFINE_STATIC_KEY_ARRAY_TRUE(weft_rules, WEFT_NUM_RULES);

static const char *const names[WEFT_NUM_RULES] = {
	[WEFT_RULE_STREAK] = "streak",
	[WEFT_RULE_GATHER] = "gather",
	[WEFT_RULE_PUT_OFF] = "put-off",
	[WEFT_RULE_ACK_WITH_ANSWER] = "ack-with-answer",
	[WEFT_RULE_ACK_LATER] = "ack-later",
	[WEFT_RULE_APART] = "apart",
	[WEFT_RULE_TURNS] = "turns",
	[WEFT_RULE_SPARES] = "spares",
	[WEFT_RULE_LARGE] = "large",
	[WEFT_RULE_NEAR] = "near",
	[WEFT_RULE_FOLLOW] = "follow",
	[WEFT_RULE_VECTORS] = "vectors",
	[WEFT_RULE_ROUND_MSS] = "round-mss",
	[WEFT_RULE_END_BUFFER] = "end-buffer",
	[WEFT_RULE_URGENT] = "urgent",
};

static int without_set(const char *text, const struct kernel_param *param)
{
	unsigned long off = 0;
	size_t len;
	int i;

	for (; *text; text += len + (text[len] == ',')) {
		len = strcspn(text, ",\n");
		if (!strcmp(text, "\n"))
			break;
		for (i = 0; i < WEFT_NUM_RULES; i++)
			if (strlen(names[i]) == len && !strncmp(names[i], text, len))
				break;
		if (i == WEFT_NUM_RULES) {
			pr_err("weft: there is no rule '%.*s' to do without; modinfo weft lists them\n",
			       (int)len, text);
			return -EINVAL;
		}
		off |= BIT(i);
	}
	for (i = 0; i < WEFT_NUM_RULES; i++) {
		if (off & BIT(i))
			static_branch_disable(&weft_rules[i]);
		else
			static_branch_enable(&weft_rules[i]);
	}
	return 0;
}

static int without_get(char *text, const struct kernel_param *param)
{
	int i, n = 0;

	for (i = 0; i < WEFT_NUM_RULES; i++)
		if (!static_key_enabled(&weft_rules[i]))
			n += sysfs_emit_at(text, n, "%s%s", n ? "," : "", names[i]);
	return n + sysfs_emit_at(text, n, "\n");
}

static const struct kernel_param_ops without_ops = {
	.set = without_set,
	.get = without_get,
};

module_param_cb(without, &without_ops, NULL, 0644);
__MODULE_PARM_TYPE(without, "charp");
MODULE_PARM_DESC(without, "rules to do without, to find one that harms: some of streak,gather,put-off,ack-with-answer,ack-later,apart,turns,spares,large,near,follow,vectors,round-mss,end-buffer,urgent (default none)");
