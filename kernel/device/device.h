/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the files of this folder: operations of the RDMA core (struct ib_device_ops). */
#ifndef WEFT_DEVICE_DEVICE_H
#define WEFT_DEVICE_DEVICE_H

#include <linux/sysfs.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <rdma/rdma_counter.h>

struct weft_device;

/* --- query.c: the device and its port --- */

bool weft_port_active(const struct net_device *netdev);
int weft_query_device(struct ib_device *ib, struct ib_device_attr *attr, struct ib_udata *udata);
int weft_query_port(struct ib_device *ib, u32 port, struct ib_port_attr *attr);
int weft_port_immutable(struct ib_device *ib, u32 port, struct ib_port_immutable *immutable);
int weft_query_gid(struct ib_device *ib, u32 port, int index, union ib_gid *gid);
int weft_query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey);
void weft_fw_string(struct ib_device *ib, char *str);

/* --- restrack.c: the fields of `rdma -dd res show` that only this driver knows --- */

int weft_fill_res_qp(struct sk_buff *msg, struct ib_qp *ib);
int weft_fill_res_cq(struct sk_buff *msg, struct ib_cq *ib);
int weft_fill_res_mr(struct sk_buff *msg, struct ib_mr *ib);
int weft_fill_res_cm_id(struct sk_buff *msg, struct rdma_cm_id *id);

/* --- stats.c: the counters --- */

struct rdma_hw_stats *weft_alloc_hw_port_stats(struct ib_device *ib, u32 port);
int weft_get_hw_stats(struct ib_device *ib, struct rdma_hw_stats *stats, u32 port, int index);
struct rdma_hw_stats *weft_counter_alloc_stats(struct rdma_counter *counter);
int weft_counter_update_stats(struct rdma_counter *counter);
int weft_process_mad(struct ib_device *ib, int flags, u32 port, const struct ib_wc *wc,
		     const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
		     size_t *out_size, u16 *out_pkey);

/* --- sysfs.c: settings and kind, as files --- */

extern const struct attribute_group weft_settings_group;
extern const struct attribute_group weft_kind_group;

int weft_device_transport(struct weft_device *dev);

#endif /* WEFT_DEVICE_DEVICE_H */
