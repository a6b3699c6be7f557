// SPDX-License-Identifier: GPL-2.0
/* From 6.13, one call sets up a timer and its function. */
#include <linux/hrtimer.h>

void weft_probe(struct hrtimer *timer);
void weft_probe(struct hrtimer *timer)
{
	hrtimer_setup(timer, NULL, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
}
