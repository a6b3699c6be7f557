// SPDX-License-Identifier: GPL-2.0
/* From 6.17, a flag says that a workqueue's work stays on the CPU that queued it. */
#include <linux/workqueue.h>

unsigned int weft_probe(void);
unsigned int weft_probe(void)
{
	return WQ_PERCPU;
}
