// SPDX-License-Identifier: GPL-2.0
/* From 6.17, a workqueue whose work stays on the processor that queued it says so. */
#include <linux/workqueue.h>

unsigned int weft_probe(void);
unsigned int weft_probe(void)
{
	return WQ_PERCPU;
}
