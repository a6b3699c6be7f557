/* SPDX-License-Identifier: GPL-2.0 */
/* Counters of a device, which `rdma statistic` shows. */
#ifndef WEFT_COUNTERS_H
#define WEFT_COUNTERS_H

#include <linux/irqflags.h>
#include <linux/percpu.h>
#include <linux/types.h>

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

u64 weft_counter_sum(const struct weft_counters __percpu *counters,
		     enum weft_counter which);

#endif /* WEFT_COUNTERS_H */
