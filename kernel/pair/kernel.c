// SPDX-License-Identifier: GPL-2.0
/* The parts that only a kernel consumer's queue pair has; see kernel.h. */
#include <linux/slab.h>

#include "pair/kernel.h"
#include "pair/qp.h"

int weft_kernel_create(struct weft_qp *qp)
{
	struct weft_kernel *kernel = kzalloc(sizeof(*kernel), GFP_KERNEL);

	if (!kernel)
		return -ENOMEM;
	kernel->qp = qp;
	weft_gather_init(&kernel->gather);
	qp->kernel = kernel;
	return 0;
}

/* The worker and the gathering have ended. Does nothing for a queue pair of a process. */
void weft_kernel_destroy(struct weft_qp *qp)
{
	kfree(qp->kernel);
	qp->kernel = NULL;
}
