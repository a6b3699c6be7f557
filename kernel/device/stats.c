// SPDX-License-Identifier: GPL-2.0
/* The counters, as `rdma statistic`, sysfs and monitoring tools get them. */
#include <linux/bitmap.h>
#include <linux/minmax.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>

#include "base/weft.h"
#include "device/device.h"
#include "verbs/verbs.h"

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

/* Allocates room for a port's counters, which the core frees; or returns NULL. */
struct rdma_hw_stats *weft_alloc_hw_port_stats(struct ib_device *ib, u32 port)
{
	return rdma_alloc_hw_stats_struct(descs, NUM_SHOWN, RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/*
 * Fills in a port's counters, and returns how many there are. Port 0, the device as a whole, has
 * none (-EINVAL).
 *
 * Before the core shows a value, it adds the counts of all queue pairs that are or were bound to a
 * counter. The port's counters include those counts, so they are subtracted here, and a value may
 * be below 0 until the core adds. No shown value is less than the one before: the port's counters
 * are read first, then the counts to subtract, then those that the core adds, and a queue pair
 * counts before the port does.
 */
int weft_get_hw_stats(struct ib_device *ib, struct rdma_hw_stats *stats, u32 port, int index)
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

/*
 * Allocates room for the values of a counter of queue pairs, which the core frees; or returns NULL.
 * The counter has all values of a port, because the core adds values up by their place. Values that
 * a queue pair does not count are not shown.
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

/* Fills in a counter of queue pairs. Returns -EINVAL if the counter is about to go. */
int weft_counter_update_stats(struct rdma_counter *counter)
{
	struct weft_tallied_counts sum;
	int i, ret = weft_tally_sum(counter, &sum);

	for (i = 0; !ret && i < WEFT_NUM_TALLIED; i++)
		counter->stats->value[tallied[i]] = sum.value[i];
	return ret;
}

/*
 * --- Performance Management: the counters, in the form of the core's `ports/1/counters` ---
 *
 * The core asks by a management datagram (MAD) of its own, and shows the files only for a driver
 * that answers. Prometheus' node_exporter reads bytes and packets nowhere else. iWARP has no MADs
 * on the wire and the port claims none (rdma_cap_ib_mad()), so ib_mad and ib_umad ignore the port:
 * only the core calls this.
 */

/* Where the attribute of a Performance MAD lies in its data (InfiniBand Architecture, 16.1). */
#define MAD_ATTRIBUTE	(offsetof(struct ib_pma_mad, data) - sizeof(struct ib_mad_hdr))

/* PortSelect that means all ports. */
#define ALL_PORTS	0xff

/*
 * Fills in an attribute, which is zeroed. Errors that TCP hides, and counts that Ethernet does not
 * have, stay 0. Data is counted in words of four bytes. A counter of fewer than 64 bits saturates
 * instead of wrapping around. Returns the status for the answer's header.
 */
static u16 answer(const struct weft_device *dev, __be16 attr_id, u8 select, void *attribute)
{
	const struct weft_counters __percpu *counters = dev->counters;
	struct ib_class_port_info *info = attribute;
	struct ib_pma_portcounters_ext *ext = attribute;
	struct ib_pma_portcounters *c = attribute;
	u64 tx_words, rx_words, tx_fpdus, rx_fpdus, downs, crc_errors, blocked;

	if (attr_id == IB_PMA_CLASS_PORT_INFO) {
		info->base_version = IB_MGMT_BASE_VERSION;
		info->class_version = 1;
		info->capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH; /* counters of 64 bits */
		return 0;
	}
	if (attr_id != IB_PMA_PORT_COUNTERS && attr_id != IB_PMA_PORT_COUNTERS_EXT)
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	if (select != 1 && select != ALL_PORTS)
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	tx_words = weft_counter_sum(counters, WEFT_CNT_TX_BYTES) / 4;
	rx_words = weft_counter_sum(counters, WEFT_CNT_RX_BYTES) / 4;
	tx_fpdus = weft_counter_sum(counters, WEFT_CNT_TX_FPDUS);
	rx_fpdus = weft_counter_sum(counters, WEFT_CNT_RX_FPDUS);
	if (attr_id == IB_PMA_PORT_COUNTERS_EXT) {
		ext->port_select = 1;
		ext->port_xmit_data = cpu_to_be64(tx_words);
		ext->port_rcv_data = cpu_to_be64(rx_words);
		ext->port_xmit_packets = cpu_to_be64(tx_fpdus);
		ext->port_rcv_packets = cpu_to_be64(rx_fpdus);
		ext->port_unicast_xmit_packets = ext->port_xmit_packets;
		ext->port_unicast_rcv_packets = ext->port_rcv_packets;
		return 0;
	}
	downs = weft_counter_sum(counters, WEFT_CNT_PORT_DOWNS);
	crc_errors = weft_counter_sum(counters, WEFT_CNT_RX_CRC_ERRORS);
	blocked = weft_counter_sum(counters, WEFT_CNT_TX_BLOCKED);
	c->port_select = 1;
	c->link_downed_counter = min_t(u64, downs, U8_MAX);
	c->port_rcv_errors = cpu_to_be16(min_t(u64, crc_errors, U16_MAX));
	c->port_xmit_data = cpu_to_be32(min_t(u64, tx_words, U32_MAX));
	c->port_rcv_data = cpu_to_be32(min_t(u64, rx_words, U32_MAX));
	c->port_xmit_packets = cpu_to_be32(min_t(u64, tx_fpdus, U32_MAX));
	c->port_rcv_packets = cpu_to_be32(min_t(u64, rx_fpdus, U32_MAX));
	c->port_xmit_wait = cpu_to_be32(min_t(u64, blocked, U32_MAX));
	return 0;
}

/*
 * Answers a question for the port's counters. @wc and @grh are of no use, because no question comes
 * from the network. A question of another class or version, or one that would change something,
 * gets no answer (IB_MAD_RESULT_SUCCESS alone).
 */
int weft_process_mad(struct ib_device *ib, int flags, u32 port, const struct ib_wc *wc,
		     const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
		     size_t *out_size, u16 *out_pkey)
{
	const struct ib_pma_portcounters *asked = (const void *)(in->data + MAD_ATTRIBUTE);
	const struct ib_mad_hdr *hdr = &in->mad_hdr;

	if (hdr->base_version != IB_MGMT_BASE_VERSION || hdr->class_version != 1 ||
	    hdr->mgmt_class != IB_MGMT_CLASS_PERF_MGMT || hdr->method != IB_MGMT_METHOD_GET)
		return IB_MAD_RESULT_SUCCESS;
	out->mad_hdr = *hdr;
	out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	memset(out->data, 0, sizeof(out->data));
	out->mad_hdr.status = cpu_to_be16(answer(to_weft_device(ib), hdr->attr_id,
						 asked->port_select, out->data + MAD_ATTRIBUTE));
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}
