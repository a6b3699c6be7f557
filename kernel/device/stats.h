/* SPDX-License-Identifier: GPL-2.0 */
/* The counters, as `rdma statistic` and sysfs show them. */
#ifndef WEFT_STATS_H
#define WEFT_STATS_H

#include <rdma/ib_verbs.h>
#include <rdma/rdma_counter.h>

/* Operations of the RDMA core (struct ib_device_ops). */
struct rdma_hw_stats *weft_alloc_hw_port_stats(struct ib_device *ib, u32 port);
int weft_get_hw_stats(struct ib_device *ib, struct rdma_hw_stats *stats,
		      u32 port, int index);
struct rdma_hw_stats *weft_counter_alloc_stats(struct rdma_counter *counter);
int weft_counter_update_stats(struct rdma_counter *counter);

#endif /* WEFT_STATS_H */
