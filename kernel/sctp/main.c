// SPDX-License-Identifier: GPL-2.0
/* The module weft_sctp: SCTP as a transport of Weft's devices, and its parameters. */
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/string.h>

#include "base/compat.h"
#include "llp/transport.h"
#include "sctp/sctp.h"

MODULE_DESCRIPTION("Weft over SCTP (RFC 5043)");
MODULE_LICENSE("GPL");
MODULE_VERSION(WEFT_VERSION);
MODULE_ALIAS("weft-transport-sctp");
WEFT_IMPORT_WEFT;

/* Takes "FIRST-LAST", a port, or "none". Returns 0 or -EINVAL. */
static int ports_set(const char *text, const struct kernel_param *param)
{
	u16 from, to;
	char copy[16], *rest, *first;

	if (strscpy(copy, text, sizeof(copy)) < 0)
		return -EINVAL;
	rest = strim(copy);
	if (!strcmp(rest, "none")) {
		WRITE_ONCE(weft_sctp_settings.ports, 0);
		return 0;
	}
	first = strsep(&rest, "-");
	if (kstrtou16(first, 10, &from) || kstrtou16(rest ?: first, 10, &to) || !from || from > to)
		return -EINVAL;
	WRITE_ONCE(weft_sctp_settings.ports, (u32)from << 16 | to);
	return 0;
}

static int ports_get(char *text, const struct kernel_param *param)
{
	u32 ports = READ_ONCE(weft_sctp_settings.ports);

	if (!ports)
		return sysfs_emit(text, "none\n");
	return sysfs_emit(text, "%u-%u\n", ports >> 16, ports & 0xffff);
}

static const struct kernel_param_ops ports_ops = { .set = ports_set, .get = ports_get };

module_param_cb(ports, &ports_ops, NULL, 0644);
__MODULE_PARM_TYPE(ports, "charp");
MODULE_PARM_DESC(ports, "ports, FIRST-LAST, that are served and reached over SCTP whatever a device's transport is: none (default)");
module_param_named(multihoming, weft_sctp_settings.multihoming, bool, 0644);
MODULE_PARM_DESC(multihoming, "whether connections have all addresses of the host: off (default) or on");
module_param_named(out_of_order, weft_sctp_settings.out_of_order, bool, 0644);
MODULE_PARM_DESC(out_of_order, "whether messages are placed that come before their turn: on (default) or off");

static bool serves(u16 port)
{
	u32 ports = READ_ONCE(weft_sctp_settings.ports);

	return ports && port >= ports >> 16 && port <= (ports & 0xffff);
}

static const struct weft_transport transport = {
	.name = "sctp",
	.class = &weft_sctp_class,
	.serves = serves,
};

static int __init sctp_main_init(void)
{
	return weft_transport_register(&transport);
}

static void __exit sctp_main_exit(void)
{
	weft_transport_withdraw(&transport);
	weft_sctp_wait();
}

module_init(sctp_main_init);
module_exit(sctp_main_exit);
