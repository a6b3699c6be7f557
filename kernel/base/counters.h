/* SPDX-License-Identifier: GPL-2.0 */
/* Counters of a device, and those that queue pairs are bound to: `rdma statistic` shows both. */
#ifndef WEFT_COUNTERS_H
#define WEFT_COUNTERS_H

#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/types.h>
#include <linux/xarray.h>

/* In the order in which they are shown; the names are in device/stats.c. */
enum weft_counter {
	WEFT_CNT_TX_FPDUS,
	WEFT_CNT_TX_BYTES,
	WEFT_CNT_TX_BATCHES,
	WEFT_CNT_TX_BLOCKED,
	WEFT_CNT_TX_LENT,
	WEFT_CNT_TX_LENT_COPIED,
	WEFT_CNT_TX_TERMINATES,
	WEFT_CNT_RX_FPDUS,
	WEFT_CNT_RX_BYTES,
	WEFT_CNT_RX_SPLIT_FPDUS,
	WEFT_CNT_RX_STAGED_FPDUS,
	WEFT_CNT_RX_EARLY_FPDUS,
	WEFT_CNT_RX_EARLY_BYTES,
	WEFT_CNT_RX_CRC_ERRORS,
	WEFT_CNT_RX_TERMINATES,
	WEFT_CNT_RNR_STALLS,
	WEFT_CNT_RNR_TIMEOUTS,
	WEFT_CNT_CONN_OPENED,
	WEFT_CNT_CONN_ACCEPTED,
	WEFT_CNT_CONN_REFUSED_BY_US,
	WEFT_CNT_CONN_REFUSED_BY_PEER,
	WEFT_CNT_CONN_WITHOUT_CRC,
	WEFT_CNT_CONN_TIMED_OUT,
	WEFT_CNT_CONN_FAILED,
	WEFT_CNT_CONN_BROKEN,
	WEFT_CNT_PATH_JOINS,
	WEFT_CNT_PATH_LEAVES,
	WEFT_CNT_PATH_REPLAYED,
	WEFT_CNT_PATH_REFUSED,
	WEFT_CNT_PORT_DOWNS,
	WEFT_CNT_RX_WRITE_REQUESTS,
	WEFT_CNT_RX_READ_REQUESTS,
	WEFT_CNT_RX_ATOMIC_REQUESTS,
	WEFT_CNT_REQ_CQE_ERROR,
	WEFT_CNT_REQ_CQE_FLUSH_ERROR,
	WEFT_CNT_REQ_REMOTE_ACCESS_ERRORS,
	WEFT_CNT_RESP_CQE_ERROR,
	WEFT_CNT_RESP_CQE_FLUSH_ERROR,
	WEFT_CNT_RESP_LOCAL_LENGTH_ERROR,
	WEFT_CNT_RESP_REMOTE_ACCESS_ERRORS,
	WEFT_NUM_COUNTERS
};

/**
 * struct weft_counters - one processor's share
 * @value: by enum weft_counter. Any context adds to it without a lock, so a sum over all
 *	processors may miss the latest additions
 */
struct weft_counters {
	u64 value[WEFT_NUM_COUNTERS];
};

/* Adds to a counter, in any context. @counters is NULL for a device of a test suite. */
static inline void weft_count(struct weft_counters __percpu *counters,
			      enum weft_counter which, u64 n)
{
	if (likely(counters))
		this_cpu_add(counters->value[which], n);
}

/* Sums a counter over all processors. */
static inline u64 weft_counter_sum(const struct weft_counters __percpu *counters,
				   enum weft_counter which)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(counters, cpu)->value[which]);
	return sum;
}

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

/* The counters that queue pairs of a device are bound to. */
struct weft_tallies {
	/*
	 * Protects the rest, all entries of @by_id, and the counter of each queue pair (@counter of
	 * struct ib_qp, which the core reads without it). Inside the core's locks, and innermost
	 */
	struct mutex lock; /* see above */
	struct xarray by_id; /* struct weft_tally by the core's number for its counter, from 1 */
	u32 next_id; /* where the next search for a free number begins */
	struct weft_tallied_counts past; /* counts of freed counters */
};

#endif /* WEFT_COUNTERS_H */
