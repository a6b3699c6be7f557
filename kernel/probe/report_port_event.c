// SPDX-License-Identifier: GPL-2.0
/* From 6.14, the core reports changes of a port unless the driver has this operation. */
#include <rdma/ib_verbs.h>

void weft_probe(const struct ib_device_ops *ops, struct net_device *netdev);
void weft_probe(const struct ib_device_ops *ops, struct net_device *netdev)
{
	ops->report_port_event(NULL, netdev, 0UL);
}
