// SPDX-License-Identifier: GPL-2.0
/* What both directions share: requests in flight, reads of both ends, the gate, the ending. */
#include "pair/reads.h"
#include "pair/ending.h"
#include "pair/gate.h"
#include "pair/inflight.h"
#include "queue/cq.h"
#include "suite.h"

#define REQUESTS	4
#define SLOTS		8
#define QPN		17U

/* A list, the ring that its requests came from, and where they complete. */
struct sends {
	struct weft_inflight list;
	struct weft_ring sq;
	struct weft_cq cq;
};

static void sends_end(struct kunit *test, void *what)
{
	weft_inflight_destroy(&((struct sends *)what)->list);
}

/* As many requests, and as many slots of the ring and of the completion queue. */
static struct sends *sends_of(struct kunit *test, u32 requests, u32 slots)
{
	struct sends *s = zeroed(test, sizeof(*s));

	ring_memory(test, &s->sq, slots, WEFT_SQ_BLOCK);
	spin_lock_init(&s->cq.lock);
	ring_memory(test, &s->cq.ring, slots, sizeof(struct weft_cqe));
	KUNIT_ASSERT_EQ(test, weft_inflight_init(&s->list, requests), 0);
	at_end(test, sends_end, s);
	return s;
}

static struct sends *sends(struct kunit *test)
{
	return sends_of(test, REQUESTS, SLOTS);
}

/* Enters a request of one block. */
static struct weft_request *add(struct sends *s, u64 wr_id, bool signaled)
{
	struct weft_request *w = weft_inflight_add(&s->list);

	w->wr_id = wr_id;
	w->ring_end = ++s->sq.head;
	w->opcode = WEFT_OP_SEND;
	w->signaled = signaled;
	return w;
}

static bool finish(struct sends *s)
{
	s->list.unsent = s->list.head;
	return weft_inflight_complete(&s->list, &s->sq, &s->cq, QPN);
}

static u32 consumer(const struct sends *s)
{
	return ((struct weft_wq_ctl *)s->sq.mem)->consumer;
}

static const struct weft_cqe *completion(const struct sends *s, u32 index)
{
	return weft_ring_slot(&s->cq.ring, index);
}

CASE_WITH(inflight_is_a_ring, struct sends *s, sends(test))
{
	for (u32 i = 0; i < 3 * REQUESTS; i++) {
		KUNIT_EXPECT_LT(test, s->list.head - s->list.tail, s->list.size);
		add(s, i, true);
		KUNIT_EXPECT_PTR_EQ(test, weft_inflight_at(&s->list, s->list.head - 1),
				    weft_inflight_at(&s->list, i));
		if (i >= REQUESTS - 1) {
			KUNIT_EXPECT_EQ(test, s->list.head - s->list.tail, s->list.size);
			s->list.tail++;
		}
	}
	KUNIT_EXPECT_EQ(test, s->list.head - s->list.tail, REQUESTS - 1U);
	weft_inflight_forget(&s->list);
	KUNIT_EXPECT_EQ(test, s->list.head - s->list.tail, 0U);
}

/* In order, however they end; the unsignaled ones without a word. */
CASE_WITH(inflight_completes_in_order, struct sends *s, sends(test))
{
	struct weft_request *first = add(s, 1, true);
	struct weft_request *second = add(s, 2, false);

	add(s, 3, true)->done = true;
	second->done = true;
	KUNIT_EXPECT_TRUE(test, finish(s));
	KUNIT_EXPECT_EQ(test, s->cq.ring.head, 0U);
	KUNIT_EXPECT_EQ(test, consumer(s), 0U);
	first->done = true;
	KUNIT_EXPECT_TRUE(test, finish(s));
	KUNIT_EXPECT_EQ(test, s->cq.ring.head, 2U);
	KUNIT_EXPECT_EQ(test, completion(s, 0)->wr_id, 1ULL);
	KUNIT_EXPECT_EQ(test, completion(s, 1)->wr_id, 3ULL);
	KUNIT_EXPECT_EQ(test, completion(s, 1)->qp_num, QPN);
	KUNIT_EXPECT_EQ(test, consumer(s), 3U);
}

/* What the stream has not taken all of is not done, whatever is said of it. */
CASE_WITH(inflight_waits_for_the_stream, struct sends *s, sends(test))
{
	add(s, 1, true)->done = true;
	add(s, 2, true)->done = true;
	s->list.unsent = s->list.tail + 1;
	KUNIT_EXPECT_TRUE(test, weft_inflight_complete(&s->list, &s->sq, &s->cq, QPN));
	KUNIT_EXPECT_EQ(test, s->cq.ring.head, 1U);
	KUNIT_EXPECT_EQ(test, s->list.head - s->list.tail, 1U);
}

/* Behind the first that fails all fail, also those that had been sent. */
CASE_WITH(inflight_breaks, struct sends *s, sends(test))
{
	struct weft_request *w = add(s, 1, false);

	weft_request_fail(w, IB_WC_REM_ACCESS_ERR, WEFT_VE_REMOTE);
	add(s, 2, false)->done = true;
	add(s, 3, true);
	weft_inflight_flush(&s->list);
	KUNIT_EXPECT_TRUE(test, finish(s));
	KUNIT_EXPECT_EQ(test, s->cq.ring.head, 3U);
	KUNIT_EXPECT_EQ(test, WEFT_CQE_STATUS(completion(s, 0)->word), IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, WEFT_CQE_STATUS(completion(s, 1)->word), IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, WEFT_CQE_STATUS(completion(s, 2)->word), IB_WC_WR_FLUSH_ERR);
}

/* Notes how many entries there were when the consumer was woken. */
static void woken(struct ib_cq *ib, void *at)
{
	*(u32 *)at = to_weft_cq(ib)->ring.head;
}

/* Many that are done at once all complete, and interrupts are on between two slices of them. */
static void inflight_completes_in_slices(struct kunit *test)
{
	u32 num = 3 * WEFT_CQ_SLICE, at = 0, i;
	struct sends *s = sends_of(test, num, 1024);
	struct weft_cq_ctl *ctl = s->cq.ring.mem;

	s->cq.ib.comp_handler = woken;
	s->cq.ib.cq_context = &at;
	ctl->arm = WEFT_CQ_ARM(1, 0);
	for (i = 0; i < num; i++)
		add(s, i, true)->done = true;
	KUNIT_EXPECT_TRUE(test, finish(s));
	KUNIT_EXPECT_EQ(test, at, (u32)WEFT_CQ_SLICE);
	KUNIT_EXPECT_EQ(test, s->cq.ring.head, num);
	KUNIT_EXPECT_EQ(test, consumer(s), num);
	KUNIT_EXPECT_EQ(test, completion(s, num - 1)->wr_id, num - 1ULL);
}

/* A completion queue without room is told of, and the slots are free all the same. */
CASE_WITH(inflight_without_room, struct sends *s, sends(test))
{
	s->cq.ring.head = SLOTS;
	add(s, 1, true)->done = true;
	KUNIT_EXPECT_FALSE(test, finish(s));
	KUNIT_EXPECT_EQ(test, consumer(s), 1U);
}

static void reads_are_a_ring(struct kunit *test)
{
	struct weft_reads reads = {};
	struct weft_read *read, *oldest;

	KUNIT_ASSERT_EQ(test, weft_reads_start(&reads, 3, 2, NULL), 0);
	KUNIT_EXPECT_NULL(test, weft_reads_oldest(&reads));
	for (u32 i = 0; i < 10; i++) {
		KUNIT_EXPECT_FALSE(test, weft_reads_full(&reads));
		oldest = weft_reads_oldest(&reads);
		read = weft_reads_next(&reads, i);
		KUNIT_EXPECT_EQ(test, read->sink, i + 1);
		KUNIT_EXPECT_NULL(test, read->request);
		read->sge[0].addr = i;
		read->sge[1].addr = ~i;
		/* The receive side sees it when all of it is there. */
		KUNIT_EXPECT_PTR_EQ(test, weft_reads_oldest(&reads), oldest);
		KUNIT_EXPECT_EQ(test, weft_reads_outstanding(&reads), min(i, 2U));
		weft_reads_add(&reads);
		KUNIT_EXPECT_EQ(test, weft_reads_outstanding(&reads), min(i, 2U) + 1);
		if (i < 2)
			continue;
		KUNIT_EXPECT_TRUE(test, weft_reads_full(&reads));
		read = weft_reads_oldest(&reads);
		KUNIT_EXPECT_EQ(test, read->len, i - 2);
		KUNIT_EXPECT_EQ(test, read->sge[0].addr, (u64)(i - 2));
		KUNIT_EXPECT_EQ(test, read->sge[1].addr, (u64)~(i - 2));
		weft_reads_answered(&reads);
	}
	KUNIT_EXPECT_TRUE(test, weft_reads_outstanding(&reads));
	weft_reads_stop(&reads);
	KUNIT_EXPECT_FALSE(test, weft_reads_outstanding(&reads));
	weft_reads_stop(&reads);
}

/* An answer, and a Terminate, name a request of ours by its number. */
static void reads_are_named(struct kunit *test)
{
	struct weft_reads reads = {};
	struct weft_read *first, *second;

	KUNIT_ASSERT_EQ(test, weft_reads_start(&reads, 4, 1, NULL), 0);
	KUNIT_EXPECT_NULL(test, weft_reads_named(&reads, 1));
	first = weft_reads_next(&reads, 1);
	weft_reads_add(&reads);
	second = weft_reads_next(&reads, 8);
	weft_reads_add(&reads);
	KUNIT_EXPECT_PTR_EQ(test, weft_reads_named(&reads, 1), first);
	KUNIT_EXPECT_PTR_EQ(test, weft_reads_named(&reads, 2), second);
	KUNIT_EXPECT_NULL(test, weft_reads_named(&reads, 0));
	KUNIT_EXPECT_NULL(test, weft_reads_named(&reads, 3));
	weft_reads_answered(&reads);
	KUNIT_EXPECT_NULL(test, weft_reads_named(&reads, 1));
	weft_reads_stop(&reads);
}

/* A peer that may ask for nothing is refused its first request. */
static void none_allowed(struct kunit *test)
{
	struct weft_peer_reads answers = {};
	struct weft_reads reads = {};

	KUNIT_ASSERT_EQ(test, weft_reads_start(&reads, 0, 1, NULL), 0);
	KUNIT_ASSERT_EQ(test, weft_peer_reads_start(&answers, 0, NULL), 0);
	KUNIT_EXPECT_TRUE(test, weft_reads_full(&reads));
	KUNIT_EXPECT_TRUE(test, weft_peer_reads_full(&answers));
	KUNIT_EXPECT_NULL(test, weft_peer_reads_oldest(&answers));
	weft_reads_stop(&reads);
	weft_peer_reads_stop(&answers);
}

static void answers_in_order(struct kunit *test)
{
	struct weft_peer_read atomic_ask = { .atomic = true }, read_ask = {};
	const struct weft_peer_read *answer;
	struct weft_peer_reads answers = {};

	KUNIT_ASSERT_EQ(test, weft_peer_reads_start(&answers, 2, NULL), 0);
	for (u32 i = 0; i < 5; i++) {
		read_ask.read_req.size = i;
		weft_peer_reads_push(&answers, &read_ask);
		KUNIT_EXPECT_FALSE(test, weft_peer_reads_full(&answers));
		atomic_ask.atomic_req.id = i;
		weft_peer_reads_push(&answers, &atomic_ask);
		KUNIT_EXPECT_TRUE(test, weft_peer_reads_full(&answers));

		answer = must(test, weft_peer_reads_oldest(&answers));
		KUNIT_EXPECT_FALSE(test, answer->atomic);
		KUNIT_EXPECT_EQ(test, answer->read_req.size, i);
		/* The peer's next request gets the slot when it is not read any more. */
		KUNIT_EXPECT_TRUE(test, weft_peer_reads_full(&answers));
		weft_peer_reads_taken(&answers);
		KUNIT_EXPECT_FALSE(test, weft_peer_reads_full(&answers));
		answer = must(test, weft_peer_reads_oldest(&answers));
		KUNIT_EXPECT_TRUE(test, answer->atomic);
		KUNIT_EXPECT_EQ(test, answer->atomic_req.id, i);
		weft_peer_reads_taken(&answers);
		KUNIT_EXPECT_FALSE(test, weft_peer_reads_due(&answers));
	}
	weft_peer_reads_stop(&answers);
}

static const struct weft_mpa_agreed with_frame = { .p2p = true, .rtr = WEFT_RTR_WRITE };

static void gate_of_an_initiator(struct kunit *test)
{
	struct weft_gate gate = {};

	weft_gate_start(&gate, &with_frame, true);
	KUNIT_EXPECT_EQ(test, gate.rtr_due, WEFT_RTR_WRITE);
	KUNIT_EXPECT_TRUE(test, weft_gate_passes(&gate));
	KUNIT_EXPECT_FALSE(test, weft_gate_awaits_peer(&gate));
	KUNIT_EXPECT_FALSE(test, weft_gate_open(&gate));
}

/* With an agreed frame it is waited for as long as it takes. */
static void gate_with_a_frame(struct kunit *test)
{
	struct weft_gate gate = {};

	weft_gate_start(&gate, &with_frame, false);
	gate.until = jiffies - 1;
	KUNIT_EXPECT_EQ(test, gate.rtr_due, 0);
	KUNIT_EXPECT_FALSE(test, weft_gate_passes(&gate));
	KUNIT_EXPECT_TRUE(test, weft_gate_awaits_peer(&gate));
	KUNIT_EXPECT_TRUE(test, weft_gate_open(&gate));
	KUNIT_EXPECT_FALSE(test, weft_gate_open(&gate));
	KUNIT_EXPECT_TRUE(test, weft_gate_passes(&gate));
}

/* Without one it opens when time is up: half a second after the stream began. */
static void gate_without_a_frame(struct kunit *test)
{
	const struct weft_mpa_agreed agreed = {};
	unsigned long since = jiffies;
	struct weft_gate gate = {};

	weft_gate_start(&gate, &agreed, false);
	KUNIT_EXPECT_LE(test, gate.until - since - HZ / 2, jiffies - since);
	gate.until = jiffies + HZ;
	KUNIT_EXPECT_FALSE(test, weft_gate_passes(&gate));
	KUNIT_EXPECT_FALSE(test, weft_gate_awaits_peer(&gate));
	gate.until = jiffies - 1;
	KUNIT_EXPECT_TRUE(test, weft_gate_passes(&gate));
}

/* The peer is shown what it sent that was wrong, and nothing if it was not to blame. */
static void ending_shows_the_blame(struct kunit *test)
{
	const struct weft_term term = { WEFT_TERM_DDP, WEFT_DDP_TAGGED_BUFFER, WEFT_DT_STAG };
	const u8 hdr[WEFT_DDP_UNTAGGED_LEN] = { 0x41, 0x42 };
	const u8 request[WEFT_READ_REQ_LEN] = { 0x51, 0x52 };
	u8 want[WEFT_TERM_MAX_LEN], got[WEFT_TERM_MAX_LEN];
	struct weft_ending ending = {};
	struct weft_blame blame;
	u32 len;

	weft_ending_start(&ending);
	KUNIT_EXPECT_FALSE(test, ending.due);
	weft_blame_set(&blame, hdr, sizeof(hdr), 99, request);
	KUNIT_EXPECT_EQ(test, blame.len, sizeof(hdr) + sizeof(request));
	weft_ending_set(&ending, &term, &blame);
	KUNIT_EXPECT_TRUE(test, ending.due);
	len = weft_term_encode(want, &term, blame.seg, blame.len, 99);
	KUNIT_EXPECT_EQ(test, weft_ending_tell(&ending, got), len);
	KUNIT_EXPECT_EQ(test, memcmp(got, want, len), 0);
	KUNIT_EXPECT_FALSE(test, ending.due);
	/* A connection later, of an end that blames nobody. */
	weft_ending_start(&ending);
	weft_ending_set(&ending, &term, NULL);
	KUNIT_EXPECT_EQ(test, weft_ending_tell(&ending, got),
			weft_term_encode(want, &term, NULL, 0, 0));
	/* Without a header there is nothing to show. */
	weft_blame_set(&blame, hdr, 0, 99, request);
	KUNIT_EXPECT_EQ(test, blame.len, 0);
}

static void ending_is_overdue(struct kunit *test)
{
	struct weft_ending ending = {};

	KUNIT_EXPECT_FALSE(test, weft_ending_overdue(&ending));
	KUNIT_EXPECT_NE(test, ending.drain_until, 0UL);
	ending.drain_until = (jiffies - 2) | 1;
	KUNIT_EXPECT_TRUE(test, weft_ending_overdue(&ending));
}

A_SUITE(nouns, no, inflight_is_a_ring, inflight_completes_in_order, inflight_waits_for_the_stream,
	inflight_breaks, inflight_completes_in_slices, inflight_without_room, reads_are_a_ring,
	reads_are_named, none_allowed, answers_in_order, gate_of_an_initiator, gate_with_a_frame,
	gate_without_a_frame, ending_shows_the_blame, ending_is_overdue);
