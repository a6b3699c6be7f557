// SPDX-License-Identifier: GPL-2.0
/* From 6.15, drivers say how large a counter is, and begin it; both have to be said. */
#include <rdma/ib_verbs.h>
#include <rdma/rdma_counter.h>

size_t weft_probe(const struct ib_device_ops *ops);
size_t weft_probe(const struct ib_device_ops *ops)
{
	ops->counter_init(NULL);
	return ops->size_rdma_counter;
}
