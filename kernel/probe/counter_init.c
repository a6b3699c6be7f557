// SPDX-License-Identifier: GPL-2.0
/* From 6.15, a driver must give the size of its counters, and initialize them. */
#include <rdma/ib_verbs.h>
#include <rdma/rdma_counter.h>

size_t weft_probe(const struct ib_device_ops *ops);
size_t weft_probe(const struct ib_device_ops *ops)
{
	ops->counter_init(NULL);
	return ops->size_rdma_counter;
}
