/* SPDX-License-Identifier: GPL-2.0 */
/* What a device keeps for the counters that queue pairs are bound to; see verbs/tally.c. */
#ifndef WEFT_TALLIES_H
#define WEFT_TALLIES_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/xarray.h>

/* What a queue pair counts itself; device/stats.c has the names. */
enum weft_tallied {
	WEFT_TALLIED_TX_FPDUS,
	WEFT_TALLIED_TX_BYTES,
	WEFT_TALLIED_RX_FPDUS,
	WEFT_TALLIED_RX_BYTES,
	WEFT_NUM_TALLIED
};

/* What one queue pair, or several together, have counted; by enum weft_tallied. */
struct weft_tallied_counts {
	u64 value[WEFT_NUM_TALLIED];
};

/**
 * struct weft_tallies - the counters that queue pairs of a device are bound to
 * @lock: protects the rest, all that is in @by_id, and the counter of each queue pair (@counter
 *	of struct ib_qp, which the core reads without it). The core's locks are outside of it,
 *	and none is taken under it
 * @by_id: struct weft_tally by the core's number for its counter. There is no number 0
 * @next_id: where the next search for a free number begins
 * @past: what those had counted that are gone
 */
struct weft_tallies {
	struct mutex lock; /* of tallies, and of which queue pair has which */
	struct xarray by_id;
	u32 next_id;
	struct weft_tallied_counts past;
};

#endif /* WEFT_TALLIES_H */
