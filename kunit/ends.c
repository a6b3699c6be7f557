// SPDX-License-Identifier: GPL-2.0
/* Queue pairs on fake streams; see ends.h. */
#include <linux/gfp.h>

#include "conn/lane.h"
#include "ends.h"
#include "paths/paths.h"

static struct end *of_user(struct weft_qp_user *user)
{
	return container_of(user, struct end, user);
}

static void user_post(struct weft_qp_user *user, enum weft_qp_event event)
{
	struct end *end = of_user(user);

	end->failed += event == WEFT_QP_FAILED;
	end->closing += event == WEFT_QP_CLOSING;
	end->peer_closed += event == WEFT_QP_PEER_CLOSED;
}

static void user_nothing(struct weft_qp_user *user)
{
}

/* As if a lock were taken: the worker runs the queue pair. */
static bool user_serve(struct weft_qp_user *user)
{
	return false;
}

static const struct weft_qp_user_ops user_ops = {
	.post = user_post, .unlocked = user_nothing, .hold = user_nothing, .serve = user_serve,
};

static void stream_readable(struct weft_llp *llp)
{
	weft_rx_readable(rx_of(((struct end *)llp->owner)->qp));
}

static void stream_writable(struct weft_llp *llp)
{
	weft_qp_kick(((struct end *)llp->owner)->qp);
}

static void stream_changed(struct weft_llp *llp)
{
}

static const struct weft_llp_ops stream_ops = {
	.readable = stream_readable, .writable = stream_writable, .changed = stream_changed,
};

static void memory_make(struct kunit *test, struct end *e)
{
	e->memory = must(test, alloc_pages_exact(END_MEMORY, GFP_KERNEL | __GFP_ZERO));
	e->mr.iova = END_IOVA;
	e->mr.length = END_MEMORY;
	region(test, e->b, &e->mr, END_STAG);
	e->mr.access |= WEFT_ACCESS_REMOTE;
	KUNIT_ASSERT_EQ(test, weft_blocks_from_run(&e->mr.blocks, e->memory), 0);
}

/* Makes an end in INIT whose queue pair has no stream yet; fake_join() may join its to another. */
struct end *end_make(struct kunit *test)
{
	struct end *e = zeroed(test, sizeof(*e));

	e->b = bench_make(test, 0);
	e->qp = &e->b->engine.qp;
	e->user.ops = &user_ops;
	weft_settings_init(&e->b->dev.settings);
	e->b->dev.counters = must(test, alloc_percpu(struct weft_counters));
	e->qp->acc.rights = WEFT_ACCESS_REMOTE;
	memory_make(test, e);
	bench_idle(e->b);
	KUNIT_ASSERT_EQ(test, weft_engine_bind(e->qp, &e->user), 0);
	e->fake = must(test, fake_open(&stream_ops, e));
	e->llp = &e->fake->llp;
	return e;
}

/* Lets the stream be the first of several paths, as weft_conn_spread(). */
void end_spread(struct kunit *test, struct end *e, bool initiator, u32 paths)
{
	const struct weft_spread_terms terms = {
		.initiator = initiator, .crc = true, .counters = e->b->dev.counters,
	};

	weft_paths_settings.paths = paths;
	e->llp = must(test, weft_paths_begin(&e->fake->llp, &terms, &stream_ops, e));
}

/* Gives the queue pair its stream: the handshake has come to @agreed. As weft_engine_start(). */
int end_start(struct end *e, const struct weft_mpa_agreed *agreed, bool initiator)
{
	int ret;

	weft_baton_lock(&e->qp->tx_lock);
	ret = weft_engine_start(e->qp, e->llp, agreed, initiator);
	weft_qp_unlock(e->qp);
	return ret;
}

/* Takes the queue pair off its stream. Returns false while pages are lent. */
bool end_stop(struct end *e)
{
	bool done;

	weft_baton_lock(&e->qp->tx_lock);
	done = weft_engine_stop(e->qp);
	weft_qp_unlock(e->qp);
	return done;
}

/* Takes the queue pair off its stream, as a connection does, and ends both. */
void end_free(struct kunit *test, struct end *e)
{
	bool done;

	weft_baton_lock(&e->qp->tx_lock);
	done = weft_engine_stop(e->qp);
	if (!done) {
		/* Pages are lent: the reset brings them back. */
		weft_llp_close(e->llp, true);
		KUNIT_EXPECT_TRUE(test, weft_engine_stop(e->qp));
	}
	weft_engine_unbind(e->qp);
	weft_qp_unlock(e->qp);
	if (done)
		weft_llp_close(e->llp, true);
	teardown(test, e->b);
	weft_blocks_free(&e->mr.blocks);
	free_percpu(e->b->dev.counters);
	free_pages_exact(e->memory, END_MEMORY);
}

/* Begins the next work request, of @len bytes at @offset or none, which end_post() posts. */
struct weft_sq_wr *end_wr(struct end *e, u8 opcode, u32 offset, u32 len)
{
	struct weft_sq_wr *wr = weft_ring_slot(&e->qp->sq, e->sends);

	*wr = (struct weft_sq_wr){
		.wr_id = 0x1000 + e->sends, .opcode = opcode, .flags = WEFT_WR_SIGNALED,
		.num_blocks = 1, .num_sge = len ? 1 : 0,
		.sge = { { END_IOVA + offset, len, END_STAG } },
	};
	return wr;
}

/* It names the peer's memory. */
void end_remote(struct weft_sq_wr *wr, u32 offset)
{
	wr->rkey = END_STAG;
	wr->remote_addr = END_IOVA + offset;
}

void end_post(struct end *e, const struct weft_sq_wr *wr)
{
	struct weft_wq_ctl *ctl = e->qp->sq.mem;

	e->sends += wr->num_blocks;
	/* Pairs with weft_ring_pending()'s load, after which the slots are read. */
	smp_store_release(&ctl->producer, e->sends);
}

/* Posts what moves bytes between the memory of an end and its peer's. */
void end_post_to(struct end *e, u8 opcode, u32 offset, u32 len, u32 remote)
{
	struct weft_sq_wr *wr = end_wr(e, opcode, offset, len);

	end_remote(wr, remote);
	end_post(e, wr);
}

int end_ring(struct end *e)
{
	return weft_engine_doorbell(e->qp);
}

/* Posts a SEND, and says so. */
void end_send(struct end *e, u32 offset, u32 len)
{
	end_post(e, end_wr(e, WEFT_OP_SEND, offset, len));
	end_ring(e);
}

/* Posts a receive, and says so. */
void end_receive(struct end *e, u64 wr_id, u32 offset, u32 len)
{
	struct weft_rq_wr *wr = weft_ring_slot(&e->qp->own_rq.ring, e->receives);
	struct weft_wq_ctl *ctl = e->qp->own_rq.ring.mem;
	struct weft_sge *sge = (struct weft_sge *)(wr + 1);

	*wr = (struct weft_rq_wr){ .wr_id = wr_id, .num_sge = len ? 1 : 0 };
	*sge = (struct weft_sge){ END_IOVA + offset, len, END_STAG };
	/* Pairs with the same load. */
	smp_store_release(&ctl->producer, ++e->receives);
	weft_engine_post_recv(e->qp);
}

/* Takes the oldest completion, to @cqe. Returns false if there is none. */
bool end_poll(struct end *e)
{
	struct weft_ring *ring = &e->b->cq.ring;
	struct weft_cq_ctl *ctl = ring->mem;

	if (e->polled == READ_ONCE(ring->head))
		return false;
	e->cqe = *(struct weft_cqe *)weft_ring_slot(ring, e->polled);
	/* Pairs with the load of weft_cq_add(), which then writes the slot anew. */
	smp_store_release(&ctl->consumer, ++e->polled);
	return true;
}

/* The oldest completion is of this request. */
void expect_done(struct kunit *test, struct end *e, u64 wr_id, u8 status)
{
	if (!end_poll(e)) {
		KUNIT_FAIL(test, "%llx has no completion", wr_id);
		return;
	}
	KUNIT_EXPECT_EQ(test, e->cqe.wr_id, wr_id);
	KUNIT_EXPECT_EQ(test, WEFT_CQE_STATUS(e->cqe.word), status);
}

/* The same of a receive, with its length if it did not fail. */
void expect_recv(struct kunit *test, struct end *e, u64 wr_id, u32 len, u8 status)
{
	expect_done(test, e, wr_id, status);
	if (!status)
		KUNIT_EXPECT_EQ(test, e->cqe.byte_len, len);
}

void expect_none(struct kunit *test, struct end *e)
{
	KUNIT_EXPECT_FALSE(test, end_poll(e));
}

u64 end_count(const struct end *e, enum weft_counter which)
{
	return weft_counter_sum(e->b->dev.counters, which);
}

/* Fills the end's memory with bytes that no other seed has. */
void end_fill(struct end *e, u32 seed)
{
	u32 i, x = seed * 2654435761U + 1;

	for (i = 0; i < END_MEMORY; i++) {
		x = x * 1664525 + 1013904223;
		e->memory[i] = x >> 24;
	}
}

/* Writes an FPDU by the encoders of wire/, its CRC zero without @crc. Returns its length. */
u32 fpdu_put(u8 *to, const struct weft_ddp_hdr *hdr, const void *payload, u32 len, bool crc)
{
	u32 n = weft_ddp_encode(to + WEFT_MPA_LEN, hdr), end;

	memcpy(to + WEFT_MPA_LEN + n, payload, len);
	n += len;
	put_unaligned_be16(n, to);
	end = weft_fpdu_len(n) - WEFT_CRC_LEN;
	memset(to + WEFT_MPA_LEN + n, 0, weft_fpdu_len(n) - WEFT_MPA_LEN - n);
	if (crc)
		put_unaligned_le32(~crc32c(WEFT_CRC_SEED, to, end), to + end);
	return end + WEFT_CRC_LEN;
}

/* Has all be done that can be: work that is queued, and bytes between joined ends. */
void settle(void)
{
	int quiet = 0;

	while (quiet < 3) {
		flush_workqueue(weft_workqueue);
		if (weft_conn_wq)
			flush_workqueue(weft_conn_wq);
		quiet = fake_pump() ? 0 : quiet + 1;
	}
}
