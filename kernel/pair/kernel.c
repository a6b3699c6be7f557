// SPDX-License-Identifier: GPL-2.0
/* What only a queue pair of the kernel's own has; see kernel.h. */
#include <linux/slab.h>

#include "pair/kernel.h"
#include "pair/qp.h"

/**
 * weft_kernel_create() - make what only a queue pair of the kernel's own has
 * @qp: the queue pair, which nobody else knows yet
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
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

/* Undoes weft_kernel_create(), if it was called. The worker and the gathering have ended. */
void weft_kernel_destroy(struct weft_qp *qp)
{
	kfree(qp->kernel);
	qp->kernel = NULL;
}
