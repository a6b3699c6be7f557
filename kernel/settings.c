// SPDX-License-Identifier: GPL-2.0
/* What an operator can set: module parameters, the defaults of new devices. */
#include <linux/module.h>

#include "device.h"
#include "settings.h"

/* A parameter of a few whole numbers; others are refused with -EINVAL. */
struct weft_choice {
	unsigned int value;
	unsigned int min;
	unsigned int max;
};

static int weft_choice_set(const char *text, const struct kernel_param *param)
{
	struct weft_choice *choice = param->arg;
	unsigned int value;
	int rv;

	rv = kstrtouint(text, 0, &value);
	if (!rv && (value < choice->min || value > choice->max))
		rv = -EINVAL;
	if (rv) {
		pr_err("weft: %s takes %u to %u, not '%s'\n", param->name,
		       choice->min, choice->max, text);
		return rv;
	}
	WRITE_ONCE(choice->value, value);
	return 0;
}

static int weft_choice_get(char *text, const struct kernel_param *param)
{
	const struct weft_choice *choice = param->arg;

	return sysfs_emit(text, "%u\n", READ_ONCE(choice->value));
}

static const struct kernel_param_ops weft_choice_ops = {
	.set = weft_choice_set,
	.get = weft_choice_get,
};

static struct weft_choice weft_crc = { WEFT_CRC_PREFERRED, WEFT_CRC_OFF, WEFT_CRC_REQUIRED };
module_param_cb(crc, &weft_choice_ops, &weft_crc, 0644);
__MODULE_PARM_TYPE(crc, "uint");
MODULE_PARM_DESC(crc, "CRC32C of each frame on new devices: 0 not asked for, 1 preferred (default), 2 required");

static struct weft_choice weft_mpa_revision = { 2, 1, 2 };
module_param_cb(mpa_revision, &weft_choice_ops, &weft_mpa_revision, 0644);
__MODULE_PARM_TYPE(mpa_revision, "uint");
MODULE_PARM_DESC(mpa_revision, "MPA revision that new devices connect with: 1, or 2 (default)");

static struct weft_choice weft_rtr = {
	WEFT_RTR_SEND | WEFT_RTR_WRITE | WEFT_RTR_READ, 1, 7
};
module_param_cb(rtr, &weft_choice_ops, &weft_rtr, 0644);
__MODULE_PARM_TYPE(rtr, "uint");
MODULE_PARM_DESC(rtr, "ready-to-receive frames of new devices, a sum of 1 send, 2 write, 4 read (default 7)");

/**
 * weft_settings_init() - give a new device the module's defaults
 * @dev: the device
 */
void weft_settings_init(struct weft_device *dev)
{
	dev->policy = (struct weft_mpa_policy) {
		.revision = READ_ONCE(weft_mpa_revision.value),
		.crc = READ_ONCE(weft_crc.value),
		.rtr = READ_ONCE(weft_rtr.value),
		.p2p = true,
		.ird = WEFT_MAX_RD_ATOM,
		.ord = WEFT_MAX_RD_ATOM,
	};
}
