// SPDX-License-Identifier: GPL-2.0
/*
 * Performance Management: the counters, in the form of the RDMA core's `ports/1/counters`.
 *
 * The core asks by a management datagram (MAD) of its own, and shows the files only for a driver
 * that answers. Prometheus' node_exporter reads bytes and packets nowhere else. iWARP has no MADs
 * on the wire and the port claims none (rdma_cap_ib_mad()), so ib_mad and ib_umad ignore the port:
 * only the core calls this.
 */
#include <linux/minmax.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>

#include "base/weft.h"
#include "device/mad.h"

/* Where the attribute of a Performance MAD lies in its data (InfiniBand Architecture, 16.1). */
#define MAD_ATTRIBUTE	(offsetof(struct ib_pma_mad, data) - sizeof(struct ib_mad_hdr))

/* PortSelect that means all ports. */
#define ALL_PORTS	0xff

/* A counter of 32 or 16 bits saturates instead of wrapping around. */
static __be32 held32(u64 value)
{
	return cpu_to_be32(min_t(u64, value, U32_MAX));
}

static __be16 held16(u64 value)
{
	return cpu_to_be16(min_t(u64, value, U16_MAX));
}

static u64 counter(const struct weft_device *dev, enum weft_counter which)
{
	return weft_counter_sum(dev->counters, which);
}

/* Data is counted in words of four bytes. */
static u64 words(const struct weft_device *dev, enum weft_counter which)
{
	return counter(dev, which) / 4;
}

/* Announces counters of 64 bits. */
static void answer_class(struct ib_class_port_info *info)
{
	info->base_version = IB_MGMT_BASE_VERSION;
	info->class_version = 1;
	info->capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH;
}

/* Errors that TCP hides, and counts that Ethernet does not have, are 0. */
static void answer_counters(const struct weft_device *dev, struct ib_pma_portcounters *c)
{
	c->port_select = 1;
	c->link_downed_counter = min_t(u64, counter(dev, WEFT_CNT_PORT_DOWNS), U8_MAX);
	c->port_rcv_errors = held16(counter(dev, WEFT_CNT_RX_CRC_ERRORS));
	c->port_xmit_data = held32(words(dev, WEFT_CNT_TX_BYTES));
	c->port_rcv_data = held32(words(dev, WEFT_CNT_RX_BYTES));
	c->port_xmit_packets = held32(counter(dev, WEFT_CNT_TX_FPDUS));
	c->port_rcv_packets = held32(counter(dev, WEFT_CNT_RX_FPDUS));
	c->port_xmit_wait = held32(counter(dev, WEFT_CNT_TX_BLOCKED));
}

static void answer_counters_ext(const struct weft_device *dev, struct ib_pma_portcounters_ext *c)
{
	c->port_select = 1;
	c->port_xmit_data = cpu_to_be64(words(dev, WEFT_CNT_TX_BYTES));
	c->port_rcv_data = cpu_to_be64(words(dev, WEFT_CNT_RX_BYTES));
	c->port_xmit_packets = cpu_to_be64(counter(dev, WEFT_CNT_TX_FPDUS));
	c->port_rcv_packets = cpu_to_be64(counter(dev, WEFT_CNT_RX_FPDUS));
	c->port_unicast_xmit_packets = c->port_xmit_packets;
	c->port_unicast_rcv_packets = c->port_rcv_packets;
}

/* Fills in an attribute, which is zeroed. Returns the status for the answer's header. */
static u16 answer(const struct weft_device *dev, __be16 attr_id, u8 select, void *attribute)
{
	if (attr_id == IB_PMA_CLASS_PORT_INFO) {
		answer_class(attribute);
		return 0;
	}
	if (attr_id != IB_PMA_PORT_COUNTERS && attr_id != IB_PMA_PORT_COUNTERS_EXT)
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	if (select != 1 && select != ALL_PORTS)
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	if (attr_id == IB_PMA_PORT_COUNTERS)
		answer_counters(dev, attribute);
	else
		answer_counters_ext(dev, attribute);
	return 0;
}

/**
 * weft_process_mad() - answer a question for the port's counters
 * @ib: the device
 * @flags: ignored
 * @port: the port, 1
 * @wc: ignored, because no question comes from the network; may be NULL
 * @grh: the same
 * @in: the question
 * @out: the answer
 * @out_size: its size, which stays
 * @out_pkey: ignored
 *
 * Return: IB_MAD_RESULT_SUCCESS, with IB_MAD_RESULT_REPLY if there is an answer. A question of
 * another class or version, or one that would change something, gets none.
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
