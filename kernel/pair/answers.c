// SPDX-License-Identifier: GPL-2.0
/* The reads and atomics that the peer asked for and we have not answered. */
#include <linux/slab.h>

#include "pair/answers.h"

/**
 * weft_answers_start() - prepare for a stream
 * @answers: stopped, or zeroed
 * @ird: how many the peer may have outstanding
 *
 * Context: process, may sleep. The caller's memory cgroup is charged.
 * Return: 0, or -ENOMEM, with @answers unchanged.
 */
int weft_answers_start(struct weft_answers *answers, u32 ird)
{
	struct weft_answer *slot = NULL;

	if (ird) {
		slot = kcalloc(roundup_pow_of_two(ird), sizeof(*slot), GFP_KERNEL_ACCOUNT);
		if (!slot)
			return -ENOMEM;
	}
	*answers = (struct weft_answers){ .slot = slot, .ird = ird };
	return 0;
}

/* Drops all requests, since the stream is gone. Harmless when repeated. */
void weft_answers_stop(struct weft_answers *answers)
{
	kfree(answers->slot);
	*answers = (struct weft_answers){};
}
