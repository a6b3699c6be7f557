// SPDX-License-Identifier: GPL-2.0
/* The reads and atomics that the peer asked for and we have not answered. */
#include "base/context.h"
#include "pair/answers.h"

/**
 * weft_answers_start() - prepare for a stream
 * @answers: stopped, or zeroed
 * @ird: how many the peer may have outstanding
 * @owner: of the queue pair, who is charged
 *
 * Context: process, may sleep.
 * Return: 0, or -ENOMEM, with @answers unchanged.
 */
int weft_answers_start(struct weft_answers *answers, u32 ird,
		       const struct ib_ucontext *owner)
{
	struct weft_answer *slot = NULL;

	if (ird) {
		slot = weft_charge_zalloc(owner, roundup_pow_of_two(ird), sizeof(*slot));
		if (!slot)
			return -ENOMEM;
	}
	*answers = (struct weft_answers){ .slot = slot, .ird = ird };
	return 0;
}

/* Drops all requests, since the stream is gone. Harmless when repeated. */
void weft_answers_stop(struct weft_answers *answers)
{
	kvfree(answers->slot);
	*answers = (struct weft_answers){};
}
