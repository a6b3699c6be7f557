// SPDX-License-Identifier: GPL-2.0
/* From 7.2, a process's memory is pinned by a function whose name tells it from other memory. */
#include <rdma/ib_umem.h>

struct ib_umem *weft_probe(struct ib_device *device);
struct ib_umem *weft_probe(struct ib_device *device)
{
	return ib_umem_get_va(device, 0, 0, 0);
}
