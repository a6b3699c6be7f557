// SPDX-License-Identifier: GPL-2.0
/* The peer's reads and atomics that wait for our answer. */
#include "base/context.h"
#include "pair/answers.h"

/* Allocates @ird slots, charged to @owner. On -ENOMEM @answers is unchanged. May sleep. */
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

/* Drops all requests. Harmless when repeated. */
void weft_answers_stop(struct weft_answers *answers)
{
	kvfree(answers->slot);
	*answers = (struct weft_answers){};
}
