/* SPDX-License-Identifier: GPL-2.0 */
/* Counters that queue pairs of a device are bound to; see verbs/tally.c. */
#ifndef WEFT_TALLIES_H
#define WEFT_TALLIES_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/xarray.h>

/* Counted by each queue pair; device/stats.c has the names. */
enum weft_tallied {
	WEFT_TALLIED_TX_FPDUS,
	WEFT_TALLIED_TX_BYTES,
	WEFT_TALLIED_RX_FPDUS,
	WEFT_TALLIED_RX_BYTES,
	WEFT_NUM_TALLIED
};

struct weft_tallied_counts {
	u64 value[WEFT_NUM_TALLIED];
};

/**
 * struct weft_tallies - the counters that queue pairs of a device are bound to
 * @lock: protects the rest, all entries of @by_id, and the counter of each queue pair (@counter of
 *	struct ib_qp, which the core reads without it). Inside the core's locks, and innermost
 * @by_id: struct weft_tally by the core's number for its counter, from 1
 * @next_id: where the next search for a free number begins
 * @past: counts of freed counters
 */
struct weft_tallies {
	struct mutex lock; /* of tallies, and of which queue pair has which */
	struct xarray by_id;
	u32 next_id;
	struct weft_tallied_counts past;
};

#endif /* WEFT_TALLIES_H */
