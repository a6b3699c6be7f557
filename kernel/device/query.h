/* SPDX-License-Identifier: GPL-2.0 */
/* Queries of the device and of its port. */
#ifndef WEFT_QUERY_H
#define WEFT_QUERY_H

#include <rdma/ib_verbs.h>

struct net_device;

bool weft_port_active(const struct net_device *netdev);

/* Operations of the RDMA core (struct ib_device_ops). */
int weft_query_device(struct ib_device *ib, struct ib_device_attr *attr,
		      struct ib_udata *udata);
int weft_query_port(struct ib_device *ib, u32 port,
		    struct ib_port_attr *attr);
int weft_port_immutable(struct ib_device *ib, u32 port,
			struct ib_port_immutable *immutable);
int weft_query_gid(struct ib_device *ib, u32 port, int index,
		   union ib_gid *gid);
int weft_query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey);
void weft_fw_string(struct ib_device *ib, char *str);

#endif /* WEFT_QUERY_H */
