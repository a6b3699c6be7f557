// SPDX-License-Identifier: GPL-2.0
/* What the RDMA core is told when it asks for the port's counters by a MAD. */
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>

#include "base/weft.h"
#include "device/device.h"
#include "suite.h"

#define REPLIES	(IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY)
#define OF_PORT	41	/* PortSelect, in the data */
#define AT	40	/* an attribute, in the data */

struct pma_asked {
	struct weft_device dev;
	struct ib_mad in, out;
};

static void asked_end(struct kunit *test, void *what)
{
	free_percpu(((struct pma_asked *)what)->dev.counters);
}

static struct pma_asked *asked_new(struct kunit *test)
{
	struct pma_asked *a = zeroed(test, sizeof(*a));

	a->dev.counters = must(test, alloc_percpu(struct weft_counters));
	a->in.mad_hdr = (struct ib_mad_hdr){
		.base_version = 1, .class_version = 1, .mgmt_class = IB_MGMT_CLASS_PERF_MGMT,
		.method = IB_MGMT_METHOD_GET, .tid = cpu_to_be64(4711),
	};
	a->in.data[OF_PORT] = 1;
	memset(&a->out, 0xee, sizeof(a->out));
	at_end(test, asked_end, a);
	return a;
}

/* Asks as sysfs does, which gives neither a completion nor an address. */
static int ask(struct pma_asked *a, __be16 attr)
{
	size_t size = sizeof(a->out);
	u16 pkey = 0;

	a->in.mad_hdr.attr_id = attr;
	return weft_process_mad(&a->dev.ib, IB_MAD_IGNORE_MKEY, 1, NULL, NULL, &a->in, &a->out,
				&size, &pkey);
}

static u16 status_of(const struct pma_asked *a)
{
	return be16_to_cpu(a->out.mad_hdr.status);
}

CASE_WITH(class_says_64_bits, struct pma_asked *a, asked_new(test))
{
	const struct ib_class_port_info *info = (void *)(a->out.data + AT);

	a->in.data[OF_PORT] = 0;
	KUNIT_EXPECT_EQ(test, ask(a, IB_PMA_CLASS_PORT_INFO), REPLIES);
	KUNIT_EXPECT_EQ(test, status_of(a), 0);
	KUNIT_EXPECT_EQ(test, a->out.mad_hdr.method, IB_MGMT_METHOD_GET_RESP);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(a->out.mad_hdr.tid), 4711ULL);
	KUNIT_EXPECT_TRUE(test, info->capability_mask & IB_PMA_CLASS_CAP_EXT_WIDTH);
}

CASE_WITH(counters_of_64_bits, struct pma_asked *a, asked_new(test))
{
	const struct ib_pma_portcounters_ext *c = (void *)(a->out.data + AT);

	weft_count(a->dev.counters, WEFT_CNT_TX_BYTES, 0x500000008ULL);
	weft_count(a->dev.counters, WEFT_CNT_RX_BYTES, 44);
	weft_count(a->dev.counters, WEFT_CNT_TX_FPDUS, 3);
	weft_count(a->dev.counters, WEFT_CNT_RX_FPDUS, 5);
	KUNIT_EXPECT_EQ(test, ask(a, IB_PMA_PORT_COUNTERS_EXT), REPLIES);
	KUNIT_EXPECT_EQ(test, status_of(a), 0);
	KUNIT_EXPECT_EQ(test, c->port_select, 1);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(c->port_xmit_data), 0x140000002ULL);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(c->port_rcv_data), 11ULL);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(c->port_xmit_packets), 3ULL);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(c->port_rcv_packets), 5ULL);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(c->port_unicast_xmit_packets), 3ULL);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(c->port_unicast_rcv_packets), 5ULL);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(c->port_multicast_xmit_packets), 0ULL);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(c->port_multicast_rcv_packets), 0ULL);
}

/* Each stays at its end: one that starts again at 0 would be taken for a restart. */
CASE_WITH(small_counters_stay_at_their_end, struct pma_asked *a, asked_new(test))
{
	const struct ib_pma_portcounters *c = (void *)(a->out.data + AT);

	a->in.data[OF_PORT] = 0xff;
	weft_count(a->dev.counters, WEFT_CNT_TX_BYTES, 8);
	weft_count(a->dev.counters, WEFT_CNT_TX_BLOCKED, 7);
	weft_count(a->dev.counters, WEFT_CNT_PORT_DOWNS, 255);
	weft_count(a->dev.counters, WEFT_CNT_RX_CRC_ERRORS, 0xffff);
	KUNIT_EXPECT_EQ(test, ask(a, IB_PMA_PORT_COUNTERS), REPLIES);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(c->port_xmit_data), 2U);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(c->port_xmit_wait), 7U);
	KUNIT_EXPECT_EQ(test, c->link_downed_counter, 255);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(c->port_rcv_errors), 0xffff);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(c->symbol_error_counter), 0);
	weft_count(a->dev.counters, WEFT_CNT_TX_BYTES, 1ULL << 40);
	weft_count(a->dev.counters, WEFT_CNT_PORT_DOWNS, 1);
	weft_count(a->dev.counters, WEFT_CNT_RX_CRC_ERRORS, 1);
	weft_count(a->dev.counters, WEFT_CNT_RX_FPDUS, 1ULL << 32);
	KUNIT_EXPECT_EQ(test, ask(a, IB_PMA_PORT_COUNTERS), REPLIES);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(c->port_xmit_data), U32_MAX);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(c->port_rcv_packets), U32_MAX);
	KUNIT_EXPECT_EQ(test, c->link_downed_counter, 255);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(c->port_rcv_errors), 0xffff);
}

CASE_WITH(wrong_questions_get_no_counters, struct pma_asked *a, asked_new(test))
{
	weft_count(a->dev.counters, WEFT_CNT_TX_BYTES, 1 << 20);
	KUNIT_EXPECT_EQ(test, ask(a, cpu_to_be16(0x1234)), REPLIES);
	KUNIT_EXPECT_EQ(test, status_of(a), IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB);
	a->in.data[OF_PORT] = 2;
	KUNIT_EXPECT_EQ(test, ask(a, IB_PMA_PORT_COUNTERS_EXT), REPLIES);
	KUNIT_EXPECT_EQ(test, status_of(a), IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE);
	for (int i = 0; i < sizeof(a->out.data); i++)
		KUNIT_EXPECT_EQ(test, a->out.data[i], 0);
}

CASE_WITH(what_is_not_a_question_gets_no_answer, struct pma_asked *a, asked_new(test))
{
	a->in.mad_hdr.method = IB_MGMT_METHOD_SET;
	KUNIT_EXPECT_EQ(test, ask(a, IB_PMA_PORT_COUNTERS), IB_MAD_RESULT_SUCCESS);
	a->in.mad_hdr.method = IB_MGMT_METHOD_GET;
	a->in.mad_hdr.mgmt_class = IB_MGMT_CLASS_SUBN_LID_ROUTED;
	KUNIT_EXPECT_EQ(test, ask(a, IB_PMA_PORT_COUNTERS), IB_MAD_RESULT_SUCCESS);
	a->in.mad_hdr.mgmt_class = IB_MGMT_CLASS_PERF_MGMT;
	a->in.mad_hdr.class_version = 2;
	KUNIT_EXPECT_EQ(test, ask(a, IB_PMA_PORT_COUNTERS), IB_MAD_RESULT_SUCCESS);
	KUNIT_EXPECT_EQ(test, a->out.mad_hdr.method, 0xee);
}

A_SUITE(mad, no, class_says_64_bits, counters_of_64_bits, small_counters_stay_at_their_end,
	wrong_questions_get_no_counters, what_is_not_a_question_gets_no_answer);
