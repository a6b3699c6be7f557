// SPDX-License-Identifier: GPL-2.0
/* The module weft_paths: several TCP connections below a queue pair, and their parameters. */
#include <linux/kstrtox.h>
#include <linux/module.h>

#include "base/compat.h"
#include "llp/tcp.h"
#include "llp/transport.h"
#include "paths/paths.h"

MODULE_DESCRIPTION("Weft over several TCP connections, to peers that are Weft");
MODULE_LICENSE("GPL");
MODULE_VERSION(WEFT_VERSION);
MODULE_ALIAS("weft-transport-paths");
WEFT_IMPORT_WEFT;

static int paths_set(const char *text, const struct kernel_param *param)
{
	u32 value;

	if (kstrtou32(text, 10, &value) || value < 2 || value > WEFT_MAX_PATHS)
		return -EINVAL;
	WRITE_ONCE(weft_paths_settings.paths, value);
	return 0;
}

static int paths_get(char *text, const struct kernel_param *param)
{
	return sysfs_emit(text, "%u\n", READ_ONCE(weft_paths_settings.paths));
}

static const struct kernel_param_ops paths_ops = { .set = paths_set, .get = paths_get };

module_param_cb(paths, &paths_ops, NULL, 0644);
__MODULE_PARM_TYPE(paths, "uint");
MODULE_PARM_DESC(paths, "TCP connections that carry a queue pair's data: 2 to 8, 2 by default");
module_param_named(out_of_order, weft_paths_settings.out_of_order, bool, 0644);
MODULE_PARM_DESC(out_of_order, "whether messages are placed that come before their turn: on (default) or off");

static const struct weft_transport transport = {
	.name = "paths",
	.class = &weft_tcp_class,
	.spread = weft_paths_begin,
};

static int __init paths_main_init(void)
{
	return weft_transport_register(&transport);
}

static void __exit paths_main_exit(void)
{
	weft_transport_withdraw(&transport);
}

module_init(paths_main_init);
module_exit(paths_main_exit);
