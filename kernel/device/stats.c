// SPDX-License-Identifier: GPL-2.0
/* The counters, as `rdma statistic` and sysfs show them. */
#include <linux/bitmap.h>

#include "base/counters.h"
#include "base/weft.h"
#include "device/stats.h"
#include "verbs/tally.h"

/* rnr_stalls once more, under the name that monitoring tools know. */
#define OUT_OF_BUFFER	WEFT_NUM_COUNTERS
#define NUM_SHOWN	(WEFT_NUM_COUNTERS + 1)

/*
 * The names of the counters, which docs/weft.7 explains. The last ones are names of other drivers,
 * where the meaning fits, because Prometheus' node_exporter reads only those names.
 */
static const struct rdma_stat_desc descs[NUM_SHOWN] = {
	[WEFT_CNT_TX_FPDUS].name = "tx_fpdus",
	[WEFT_CNT_TX_BYTES].name = "tx_bytes",
	[WEFT_CNT_TX_BATCHES].name = "tx_batches",
	[WEFT_CNT_TX_BLOCKED].name = "tx_blocked",
	[WEFT_CNT_TX_LENT].name = "tx_lent",
	[WEFT_CNT_TX_LENT_COPIED].name = "tx_lent_copied",
	[WEFT_CNT_TX_TERMINATES].name = "tx_terminates",
	[WEFT_CNT_RX_FPDUS].name = "rx_fpdus",
	[WEFT_CNT_RX_BYTES].name = "rx_bytes",
	[WEFT_CNT_RX_SPLIT_FPDUS].name = "rx_split_fpdus",
	[WEFT_CNT_RX_STAGED_FPDUS].name = "rx_staged_fpdus",
	[WEFT_CNT_RX_EARLY_FPDUS].name = "rx_early_fpdus",
	[WEFT_CNT_RX_EARLY_BYTES].name = "rx_early_bytes",
	[WEFT_CNT_RX_CRC_ERRORS].name = "rx_crc_errors",
	[WEFT_CNT_RX_TERMINATES].name = "rx_terminates",
	[WEFT_CNT_RNR_STALLS].name = "rnr_stalls",
	[WEFT_CNT_RNR_TIMEOUTS].name = "rnr_timeouts",
	[WEFT_CNT_CONN_OPENED].name = "conn_opened",
	[WEFT_CNT_CONN_ACCEPTED].name = "conn_accepted",
	[WEFT_CNT_CONN_REFUSED_BY_US].name = "conn_refused_by_us",
	[WEFT_CNT_CONN_REFUSED_BY_PEER].name = "conn_refused_by_peer",
	[WEFT_CNT_CONN_WITHOUT_CRC].name = "conn_without_crc",
	[WEFT_CNT_CONN_TIMED_OUT].name = "conn_timed_out",
	[WEFT_CNT_CONN_FAILED].name = "conn_failed",
	[WEFT_CNT_CONN_BROKEN].name = "conn_broken",
	[WEFT_CNT_PATH_JOINS].name = "path_joins",
	[WEFT_CNT_PATH_LEAVES].name = "path_leaves",
	[WEFT_CNT_PATH_REPLAYED].name = "path_replayed",
	[WEFT_CNT_PATH_REFUSED].name = "path_refused",
	[WEFT_CNT_PORT_DOWNS].name = "port_downs",
	[WEFT_CNT_RX_WRITE_REQUESTS].name = "rx_write_requests",
	[WEFT_CNT_RX_READ_REQUESTS].name = "rx_read_requests",
	[WEFT_CNT_RX_ATOMIC_REQUESTS].name = "rx_atomic_requests",
	[WEFT_CNT_REQ_CQE_ERROR].name = "req_cqe_error",
	[WEFT_CNT_REQ_CQE_FLUSH_ERROR].name = "req_cqe_flush_error",
	[WEFT_CNT_REQ_REMOTE_ACCESS_ERRORS].name = "req_remote_access_errors",
	[WEFT_CNT_RESP_CQE_ERROR].name = "resp_cqe_error",
	[WEFT_CNT_RESP_CQE_FLUSH_ERROR].name = "resp_cqe_flush_error",
	[WEFT_CNT_RESP_LOCAL_LENGTH_ERROR].name = "resp_local_length_error",
	[WEFT_CNT_RESP_REMOTE_ACCESS_ERRORS].name = "resp_remote_access_errors",
	[OUT_OF_BUFFER].name = "out_of_buffer",
};

/* The port's counter for each count that queue pairs keep themselves. */
static const enum weft_counter tallied[WEFT_NUM_TALLIED] = {
	[WEFT_TALLIED_TX_FPDUS] = WEFT_CNT_TX_FPDUS,
	[WEFT_TALLIED_TX_BYTES] = WEFT_CNT_TX_BYTES,
	[WEFT_TALLIED_RX_FPDUS] = WEFT_CNT_RX_FPDUS,
	[WEFT_TALLIED_RX_BYTES] = WEFT_CNT_RX_BYTES,
};

/**
 * weft_alloc_hw_port_stats() - allocate room for a port's counters
 * @ib: the device
 * @port: its port
 *
 * Context: process.
 * Return: the room, which the core frees, or NULL.
 */
struct rdma_hw_stats *weft_alloc_hw_port_stats(struct ib_device *ib, u32 port)
{
	return rdma_alloc_hw_stats_struct(descs, NUM_SHOWN,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/**
 * weft_get_hw_stats() - fill in a port's counters
 * @ib: the device
 * @stats: where they go
 * @port: the port; 0, the device as a whole, has none
 * @index: ignored: all are filled in
 *
 * Before the core shows a value, it adds the counts of all queue pairs that are or were bound to a
 * counter. The port's counters include those counts, so they are subtracted here, and a value may
 * be below 0 until the core adds. No shown value is less than the one before: the port's counters
 * are read first, then the counts to subtract, then those that the core adds, and a queue pair
 * counts before the port does.
 *
 * Return: how many counters there are, or -EINVAL.
 */
int weft_get_hw_stats(struct ib_device *ib, struct rdma_hw_stats *stats,
		      u32 port, int index)
{
	struct weft_device *dev = to_weft_device(ib);
	struct weft_tallied_counts bound;
	int i;

	if (!port)
		return -EINVAL;
	for (i = 0; i < WEFT_NUM_COUNTERS; i++)
		stats->value[i] = weft_counter_sum(dev->counters, i);
	stats->value[OUT_OF_BUFFER] = stats->value[WEFT_CNT_RNR_STALLS];
	bound = weft_tallies_sum(&dev->tallies);
	for (i = 0; i < WEFT_NUM_TALLIED; i++)
		stats->value[tallied[i]] -= bound.value[i];
	return NUM_SHOWN;
}

/**
 * weft_counter_alloc_stats() - allocate room for the values of a counter of queue pairs
 * @counter: the counter, which is new
 *
 * The counter has all values of a port, because the core adds values up by their place. Values
 * that a queue pair does not count are not shown.
 *
 * Context: process.
 * Return: the room, which the core frees, or NULL.
 */
struct rdma_hw_stats *weft_counter_alloc_stats(struct rdma_counter *counter)
{
	struct rdma_hw_stats *stats = weft_alloc_hw_port_stats(counter->device, counter->port);
	int i;

	if (!stats)
		return NULL;
	bitmap_fill(stats->is_disabled, NUM_SHOWN);
	for (i = 0; i < WEFT_NUM_TALLIED; i++)
		__clear_bit(tallied[i], stats->is_disabled);
	return stats;
}

/**
 * weft_counter_update_stats() - fill in the values of a counter of queue pairs
 * @counter: the counter, which the core has locked
 *
 * Context: process.
 * Return: 0, or -EINVAL if the counter is about to go.
 */
int weft_counter_update_stats(struct rdma_counter *counter)
{
	struct weft_tallied_counts sum;
	int i, ret = weft_tally_sum(counter, &sum);

	for (i = 0; !ret && i < WEFT_NUM_TALLIED; i++)
		counter->stats->value[tallied[i]] = sum.value[i];
	return ret;
}
