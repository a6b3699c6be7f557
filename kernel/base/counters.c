// SPDX-License-Identifier: GPL-2.0
/* Counters of a device. */
#include "base/counters.h"

/* Sums a counter over all processors. */
u64 weft_counter_sum(const struct weft_counters __percpu *counters,
		     enum weft_counter which)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(counters, cpu)->value[which]);
	return sum;
}
