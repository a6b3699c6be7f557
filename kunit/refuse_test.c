// SPDX-License-Identifier: GPL-2.0
/* FPDUs that are refused: for the first reason, and not before the engine fails the queue pair. */
#include "bench.h"
#include "rx/rx.h"

/* The receive side of a queue pair in RTS, at the first byte of an FPDU, tx_lock held. */
static struct bench *receiver(struct kunit *test)
{
	struct bench *b = setup(test, ORD);

	b->engine.qp.agreed.ird = 1;
	weft_baton_lock(&b->engine.qp.tx_lock);
	KUNIT_ASSERT_EQ(test, weft_peer_reads_start(&b->engine.qp.peer_reads, 1, NULL), 0);
	weft_rx_start(rx_of(&b->engine.qp));
	return b;
}

/* An FPDU's header is here, of an untagged message whose only segment it is. */
static enum weft_rx_verdict begin(struct bench *b, u8 opcode, u32 qn, u32 msn, u32 len)
{
	struct weft_template *seg = &b->engine.rx.seg;

	seg->ddp = (struct weft_ddp_hdr){ .opcode = opcode, .last = true, .qn = qn, .msn = msn };
	seg->payload_len = len;
	seg->len = WEFT_DDP_UNTAGGED_LEN + len;
	seg->hdr_len = weft_ddp_encode(seg->hdr, &seg->ddp);
	return weft_rx_begin(rx_of(&b->engine.qp));
}

/* Nothing happens to the queue pair before the engine asks for it. */
CASE_WITH(refused_when_the_engine_says_so, struct bench *b, receiver(test))
{
	struct weft_ending *ending = &b->engine.qp.ending;

	KUNIT_EXPECT_EQ(test, begin(b, WEFT_RDMAP_SEND, WEFT_QN_SEND, 2, 0), WEFT_RX_BAD);
	KUNIT_EXPECT_TRUE(test, b->engine.rx.stopped);
	KUNIT_EXPECT_EQ(test, b->engine.qp.state, IB_QPS_RTS);
	KUNIT_EXPECT_FALSE(test, ending->due);
	weft_rx_fail(rx_of(&b->engine.qp));
	KUNIT_EXPECT_EQ(test, b->engine.qp.state, IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, b->event, IB_EVENT_QP_REQ_ERR);
	KUNIT_EXPECT_TRUE(test, ending->due);
	KUNIT_EXPECT_EQ(test, ending->term.layer, WEFT_TERM_DDP);
	KUNIT_EXPECT_EQ(test, ending->term.code, WEFT_DU_MSN_RANGE);
	KUNIT_EXPECT_EQ(test, ending->blame.len, WEFT_DDP_UNTAGGED_LEN);
	KUNIT_EXPECT_EQ(test, memcmp(ending->blame.seg, b->engine.rx.seg.hdr,
				     WEFT_DDP_UNTAGGED_LEN), 0);
	weft_qp_unlock(&b->engine.qp);
}

/* Of two reasons the peer is told the first, with the event that goes with it. */
CASE_WITH(refused_for_the_first_reason, struct bench *b, receiver(test))
{
	weft_rx_refuse_key(&b->engine.rx, WEFT_KEY_ACCESS);
	weft_rx_refuse(&b->engine.rx, WEFT_TERM_DDP, WEFT_DDP_TAGGED_BUFFER, WEFT_DT_STAG);
	weft_rx_break(&b->engine.rx);
	weft_rx_fail(rx_of(&b->engine.qp));
	KUNIT_EXPECT_EQ(test, b->engine.qp.ending.term.etype, WEFT_RDMAP_PROTECTION);
	KUNIT_EXPECT_EQ(test, b->engine.qp.ending.term.code, WEFT_RP_ACCESS);
	KUNIT_EXPECT_EQ(test, b->event, IB_EVENT_QP_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, b->events, 1);
	weft_qp_unlock(&b->engine.qp);
}

/* A Terminate is not answered by another (RFC 5040, 4.8), not even a wrong one. */
CASE_WITH(refused_without_a_word, struct bench *b, receiver(test))
{
	KUNIT_EXPECT_EQ(test, begin(b, WEFT_RDMAP_TERMINATE, WEFT_QN_TERMINATE, 2, 0), WEFT_RX_BAD);
	weft_rx_refuse(&b->engine.rx, WEFT_TERM_DDP, WEFT_DDP_TAGGED_BUFFER, WEFT_DT_STAG);
	weft_rx_fail(rx_of(&b->engine.qp));
	KUNIT_EXPECT_EQ(test, b->engine.qp.state, IB_QPS_ERR);
	KUNIT_EXPECT_FALSE(test, b->engine.qp.ending.due);
	KUNIT_EXPECT_EQ(test, b->event, IB_EVENT_QP_FATAL);
	weft_qp_unlock(&b->engine.qp);
}

/* A header under a bad CRC names nothing, so none is shown. */
CASE_WITH(refused_crc_shows_no_header, struct bench *b, receiver(test))
{
	b->engine.rx.seg.hdr_len = WEFT_DDP_UNTAGGED_LEN;
	weft_rx_refuse_crc(&b->engine.rx);
	weft_rx_fail(rx_of(&b->engine.qp));
	KUNIT_EXPECT_EQ(test, b->engine.qp.ending.term.code, WEFT_MPA_CRC);
	KUNIT_EXPECT_EQ(test, b->engine.qp.ending.blame.len, 0);
	weft_qp_unlock(&b->engine.qp);
}

/* As many reads as were agreed are taken, and one more is refused. */
CASE_WITH(refused_beyond_the_ird, struct bench *b, receiver(test))
{
	const struct weft_read_req req = { .size = 1 };

	KUNIT_EXPECT_EQ(test, begin(b, WEFT_RDMAP_READ_REQ, WEFT_QN_READ_REQ, 1,
				    WEFT_READ_REQ_LEN), WEFT_RX_OK);
	weft_peer_reads_push(&b->engine.qp.peer_reads, &(struct weft_peer_read){ .read_req = req });
	KUNIT_EXPECT_EQ(test, begin(b, WEFT_RDMAP_READ_REQ, WEFT_QN_READ_REQ, 1,
				    WEFT_READ_REQ_LEN), WEFT_RX_BAD);
	KUNIT_EXPECT_EQ(test, b->engine.rx.term.code, WEFT_DU_NO_BUFFER);
	weft_rx_fail(rx_of(&b->engine.qp));
	weft_qp_unlock(&b->engine.qp);
}

A_SUITE(refuse, bench, refused_when_the_engine_says_so, refused_for_the_first_reason,
	refused_without_a_word, refused_crc_shows_no_header, refused_beyond_the_ird);
