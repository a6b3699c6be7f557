// SPDX-License-Identifier: GPL-2.0
/* From 6.15, binding and unbinding a queue pair's counter takes the port. */
#include <rdma/ib_verbs.h>

int weft_probe(const struct ib_device_ops *ops);
int weft_probe(const struct ib_device_ops *ops)
{
	return ops->counter_bind_qp(NULL, NULL, 1U) + ops->counter_unbind_qp(NULL, 1U);
}
