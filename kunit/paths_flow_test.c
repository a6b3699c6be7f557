// SPDX-License-Identifier: GPL-2.0
/* Several paths: which one a frame takes, acknowledgments, limits on the peer, the stream's end. */
#include <linux/completion.h>

#include "routes.h"

#define LEN	8000U	/* of most segments here */

static u32 frame_len(u32 len)
{
	return weft_fpdu_len(WEFT_PATH_HDR_LEN + len);
}

static void expect_alive(struct route *end)
{
	KUNIT_EXPECT_EQ(end->test, (int)end->llp->class->state(end->llp), (int)WEFT_LLP_OPEN);
}

static bool has_ended(struct route *end)
{
	bool ended;

	weft_llp_call(end->llp, lock);
	ended = weft_llp_held(end->llp, end) == WEFT_LLP_ALL_READ;
	weft_llp_call(end->llp, unlock);
	return ended;
}

static void expect_dead(struct route *end, int error)
{
	KUNIT_EXPECT_EQ(end->test, (int)end->llp->class->state(end->llp), (int)WEFT_LLP_DEAD);
	KUNIT_EXPECT_EQ(end->test, end->llp->class->error(end->llp), error);
	KUNIT_EXPECT_EQ(end->test, end->changed, 1);
	KUNIT_EXPECT_FALSE(end->test, has_ended(end));
}

static bool wants_space(struct route *end)
{
	bool wants;

	weft_llp_call(end->llp, lock);
	wants = weft_llp_held(end->llp, want_space);
	weft_llp_call(end->llp, unlock);
	return wants;
}

/* --- which path a frame takes --- */

/* A path whose TCP has no room gets nothing; if none has any, the sender is told of the next. */
CASE_WITH(flow_by_room, struct routes *r, routes_gather(test, 2))
{
	struct fake *path[] = { route_fake(&r->a, 0), route_fake(&r->a, 1) };

	path[0]->script.window = 0;
	route_send_many(&r->a, 10, LEN);
	KUNIT_EXPECT_EQ(test, path[0]->unsent, 0U);
	KUNIT_EXPECT_EQ(test, path[1]->unsent, 10 * frame_len(LEN));
	path[1]->script.window = path[1]->unsent;
	KUNIT_EXPECT_EQ(test, route_send(&r->a, LEN), -EAGAIN);
	KUNIT_EXPECT_TRUE(test, wants_space(&r->a));
	KUNIT_EXPECT_EQ(test, r->a.writable, 0);
	settle();
	KUNIT_EXPECT_EQ(test, r->a.writable, 1);
	KUNIT_EXPECT_FALSE(test, wants_space(&r->a));
	KUNIT_EXPECT_EQ(test, r->b.taken, 10U);
}

/* What is left of a frame for which a path had no room follows it there. */
CASE_WITH(flow_in_parts, struct routes *r, routes_gather(test, 2))
{
	struct fake *path[] = { route_fake(&r->a, 0), route_fake(&r->a, 1) };

	path[0]->script.window = 1000;
	path[1]->script.window = 0;
	route_send_many(&r->a, 1, LEN);
	KUNIT_EXPECT_EQ(test, path[0]->unsent, 1000U);
	/* Another frame never comes amid the first, and takes the other path if that has room. */
	path[0]->script.window = 2000;
	KUNIT_EXPECT_EQ(test, route_send(&r->a, LEN), -EAGAIN);
	path[1]->script.window = 4 << 20;
	route_send_many(&r->a, 3, LEN);
	KUNIT_EXPECT_EQ(test, path[1]->unsent, 3 * frame_len(LEN));
	expect_taken(&r->b, 4);
}

/* Of two paths with room, a frame takes the one that has it at the peer first. */
CASE_WITH(flow_by_speed, struct routes *r, routes_gather(test, 2))
{
	struct fake *fast = route_fake(&r->a, 0), *slow = route_fake(&r->a, 1);
	u32 i, late_fast, late_slow;

	slow->script.rtt_us = 3 * fast->script.rtt_us;
	route_send_many(&r->a, 8, LEN);
	KUNIT_EXPECT_EQ(test, slow->unsent, 0U);
	for (i = 0; i < 8; i++)
		route_send_many(&r->a, 8, LEN);
	late_fast = fast->unsent;
	late_slow = 3 * slow->unsent;
	KUNIT_EXPECT_LE(test, abs((int)(late_fast - late_slow)), (int)(3 * frame_len(LEN)));
	/* A larger window is as good as a shorter way. */
	settle();
	slow->script.cwnd = 9 * fast->script.cwnd;
	route_send_many(&r->a, 60, LEN);
	KUNIT_EXPECT_GT(test, slow->unsent, fast->unsent);
	expect_taken(&r->b, 8 * 9 + 60);
}

/* FPDUs come in whatever pieces the engine hands over. */
CASE_WITH(flow_in_pieces, struct routes *r, routes_gather(test, 2))
{
	const u32 len = weft_fpdu_len(100);
	u8 *three = zeroed(test, PAGE_SIZE);
	int ret;

	r->b.idle = true;
	for (u32 i = 0; i < 3; i++)
		weft_fpdu_begin(three + i * len, 100);
	for (u32 cut = 1; cut < 3 * len; cut += 7) {
		weft_llp_call(r->a.llp, lock);
		ret = weft_llp_held(r->a.llp, send_page, virt_to_page(three), offset_in_page(three),
				    cut, true);
		KUNIT_EXPECT_EQ(test, ret, (int)cut);
		KUNIT_EXPECT_EQ(test, weft_llp_call(r->a.llp, unsent), true);
		ret = weft_llp_held(r->a.llp, send_page, virt_to_page(three),
				    offset_in_page(three) + cut, 3 * len - cut, false);
		KUNIT_EXPECT_EQ(test, ret, (int)(3 * len - cut));
		weft_llp_call(r->a.llp, unlock);
		KUNIT_EXPECT_EQ(test, r->a.p->partial_len, 0U);
	}
	KUNIT_EXPECT_EQ(test, r->a.p->next, (3 * len - 1 + 6) / 7 * 3);
}

/* --- what the peer is told that was taken --- */

/* Many frames are acknowledged at once, few after a while, and those are all. */
CASE_WITH(flow_acks, struct routes *r, routes_gather(test, 2))
{
	route_send_many(&r->a, 3 * WEFT_PATHS_ACK_FRAMES, 40);
	expect_taken(&r->b, 3 * WEFT_PATHS_ACK_FRAMES);
	KUNIT_EXPECT_LT(test, r->a.p->num_unacked, (u32)WEFT_PATHS_ACK_FRAMES);
	route_send_many(&r->a, 5, 40);
	settle();
	route_tell_ack(&r->b);
	KUNIT_EXPECT_EQ(test, r->a.p->num_unacked, 0U);
	KUNIT_EXPECT_EQ(test, r->a.p->bytes, 0U);
	KUNIT_EXPECT_FALSE(test, weft_llp_call(r->a.llp, unsent));
}

/* What came, but was not taken, is not acknowledged. */
CASE_WITH(flow_acks_taken, struct routes *r, routes_gather(test, 2))
{
	r->b.idle = true;
	route_send_many(&r->a, 3 * WEFT_PATHS_ACK_FRAMES, 40);
	settle();
	route_tell_ack(&r->b);
	KUNIT_EXPECT_EQ(test, r->a.p->num_unacked, 3U * WEFT_PATHS_ACK_FRAMES);
	route_take(&r->b);
	route_tell_ack(&r->b);
	KUNIT_EXPECT_EQ(test, r->a.p->num_unacked, 0U);
}

/* A segment that goes back tells it, without a frame for that. */
CASE_WITH(flow_acks_ride, struct routes *r, routes_gather(test, 2))
{
	route_send_many(&r->a, 5, LEN);
	settle();
	route_send_many(&r->b, 1, LEN);
	KUNIT_EXPECT_EQ(test, r->b.p->sent_ack, 5U);
	settle();
	KUNIT_EXPECT_EQ(test, r->a.p->num_unacked, 0U);
	KUNIT_EXPECT_EQ(test, r->a.taken, 1U);
}

static void flow_ack_of_nothing(struct kunit *test)
{
	const struct weft_path_hdr wrong[] = {
		{ .type = WEFT_PATH_ACK, .ack = 4 }, { .type = WEFT_PATH_ACK, .ack = 0x7fffffff },
		{ .type = WEFT_PATH_SEGMENT, .ack = 4 }, { .type = WEFT_PATH_END, .ack = 4 },
	};
	struct routes *r;

	for (u32 i = 0; i < ARRAY_SIZE(wrong); i++) {
		r = routes_gather(test, 2);
		r->a.idle = true;
		r->b.idle = true;
		route_send_many(&r->a, 3, LEN);
		route_feed(&r->a, 1, &wrong[i], wrong[i].type == WEFT_PATH_SEGMENT ? 20 : 0);
		settle();
		expect_dead(&r->a, -EPROTO);
		end_now(test, r);
	}
}

/* Nor may it have taken what no path has sent. */
CASE_WITH(flow_ack_of_unsent, struct routes *r, routes_gather(test, 2))
{
	const struct weft_path_hdr wrong = { .type = WEFT_PATH_ACK, .ack = 1 };

	route_fake(&r->a, 0)->script.window = 0;
	route_fake(&r->a, 1)->script.window = 0;
	weft_llp_shutdown(r->a.llp);
	KUNIT_EXPECT_EQ(test, r->a.p->num_unacked, 1U);
	route_feed(&r->a, 1, &wrong, 0);
	settle();
	expect_dead(&r->a, -EPROTO);
}

/* --- limits --- */

CASE_WITH(flow_too_far_ahead, struct routes *r, routes_gather(test, 2))
{
	struct weft_path_hdr hdr = { .type = WEFT_PATH_SEGMENT, .ssn = WEFT_PATH_WINDOW - 1 };

	route_feed(&r->b, 1, &hdr, 20);
	settle();
	expect_alive(&r->b);
	hdr.ssn++;
	route_feed(&r->b, 1, &hdr, 20);
	settle();
	expect_dead(&r->b, -EPROTO);
	/* The other end is told by TCP. */
	expect_dead(&r->a, -ECONNRESET);
}

/* Whether these wait for one before them, or for the engine. */
static void flow_too_many_bytes(struct kunit *test)
{
	const u32 most = WEFT_PATH_WINDOW_BYTES / WEFT_PATH_MAX_FPDU;
	struct weft_path_hdr hdr = { .type = WEFT_PATH_SEGMENT };
	struct routes *r;

	for (u32 first = 0; first < 2; first++) {
		r = routes_gather(test, 2);
		r->b.idle = true;
		for (hdr.ssn = first; hdr.ssn < first + most; hdr.ssn++) {
			route_feed(&r->b, 1, &hdr, WEFT_PATH_MAX_ULPDU - WEFT_PATH_HDR_LEN);
			if (hdr.ssn % 64 == 0)
				settle();
		}
		settle();
		expect_alive(&r->b);
		/* All that there is room for, so that not a byte more is. */
		route_feed(&r->b, 1, &hdr, WEFT_PATH_WINDOW_BYTES - r->b.p->arrivals.held);
		hdr.ssn++;
		settle();
		expect_alive(&r->b);
		route_feed(&r->b, 1, &hdr, WEFT_PATH_MAX_ULPDU - WEFT_PATH_HDR_LEN);
		settle();
		expect_dead(&r->b, -EPROTO);
		end_now(test, r);
	}
}

/* Sends until there is no room, whatever is carried. */
static void send_all(struct route *end, u32 len)
{
	int ret;

	do {
		ret = route_send(end, len);
		if (ret == -EAGAIN) {
			settle();
			ret = route_send(end, len);
		}
	} while (ret > 0 && end->sent < 2 * WEFT_PATH_WINDOW);
	KUNIT_EXPECT_EQ(end->test, ret, -EAGAIN);
}

/* An honest end keeps within them, however long the peer's engine takes nothing. */
static void flow_keeps_within(struct kunit *test)
{
	const u32 longest = WEFT_PATH_EMSS - WEFT_MPA_LEN - WEFT_CRC_LEN;
	const u32 len[] = { 4, longest };
	const u32 most[] = { WEFT_PATH_WINDOW, WEFT_PATH_WINDOW_BYTES / WEFT_PATH_MAX_FPDU };
	struct routes *r;

	for (u32 i = 0; i < ARRAY_SIZE(len); i++) {
		r = routes_gather(test, 2);
		r->b.idle = true;
		send_all(&r->a, len[i]);
		KUNIT_EXPECT_EQ(test, r->a.sent, most[i]);
		KUNIT_EXPECT_TRUE(test, wants_space(&r->a));
		expect_alive(&r->a);
		expect_alive(&r->b);
		r->a.writable = 0;
		route_take(&r->b);
		route_tell_ack(&r->b);
		KUNIT_EXPECT_EQ(test, r->b.taken, most[i]);
		KUNIT_EXPECT_EQ(test, r->a.writable, 1);
		route_send_many(&r->a, 10, len[i]);
		settle();
		route_take(&r->b);
		KUNIT_EXPECT_EQ(test, r->b.taken, most[i] + 10);
		end_now(test, r);
	}
}

/* No FPDU is longer than a frame has room for, nor shorter than a length field says. */
CASE_WITH(flow_too_long, struct routes *r, routes_gather(test, 2))
{
	const u32 longest = WEFT_PATH_EMSS - WEFT_MPA_LEN - WEFT_CRC_LEN;

	route_send_many(&r->a, 1, longest);
	KUNIT_EXPECT_EQ(test, route_send(&r->a, longest + 1), -EMSGSIZE);
	expect_taken(&r->b, 1);
}

/* --- the end --- */

CASE_WITH(flow_ends, struct routes *r, routes_gather(test, 2))
{
	route_send_many(&r->a, 5, LEN);
	weft_llp_shutdown(r->a.llp);
	KUNIT_EXPECT_FALSE(test, has_ended(&r->b));
	expect_taken(&r->b, 5);
	KUNIT_EXPECT_TRUE(test, has_ended(&r->b));
	KUNIT_EXPECT_EQ(test, (int)r->b.llp->class->state(r->b.llp), (int)WEFT_LLP_PEER_CLOSED);
	KUNIT_EXPECT_EQ(test, r->b.changed, 1);
	/* The other direction goes on. */
	expect_alive(&r->a);
	route_send_many(&r->b, 5, LEN);
	expect_taken(&r->a, 5);
	route_tell_ack(&r->b);
	KUNIT_EXPECT_EQ(test, r->a.p->num_unacked, 0U);
	weft_llp_shutdown(r->b.llp);
	settle();
	KUNIT_EXPECT_TRUE(test, has_ended(&r->a));
}

/* What was sent before a close in order arrives, and then the end. */
CASE_WITH(flow_closes, struct routes *r, routes_gather(test, 2))
{
	route_send_many(&r->a, 5, LEN);
	weft_llp_close(r->a.llp, false);
	r->a.llp = NULL;
	expect_taken(&r->b, 5);
	KUNIT_EXPECT_TRUE(test, has_ended(&r->b));
	KUNIT_EXPECT_EQ(test, r->b.llp->class->error(r->b.llp), 0);
}

/* A frame of which a part has come when the stream is closed in order goes with it. */
CASE_WITH(flow_closes_amid_frame, struct routes *r, routes_gather(test, 2))
{
	u8 bytes[WEFT_PATH_HEAD + 20] = {};

	put_unaligned_be16(100, bytes);
	fake_feed(route_fake(&r->a, 1), bytes, sizeof(bytes));
	route_look(&r->a);
	KUNIT_EXPECT_TRUE(test, r->a.p->path[1].coming);
	route_send_many(&r->a, 5, LEN);
	weft_llp_close(r->a.llp, false);
	r->a.llp = NULL;
	expect_taken(&r->b, 5);
}

/* An end has to be behind all segments, and stays where it is. */
static void flow_wrong_ends(struct kunit *test)
{
	const struct weft_path_hdr frames[][2] = {
		{ { .type = WEFT_PATH_SEGMENT, .ssn = 1 }, { .type = WEFT_PATH_END, .ssn = 1 } },
		{ { .type = WEFT_PATH_END, .ssn = 1 }, { .type = WEFT_PATH_SEGMENT, .ssn = 1 } },
		{ { .type = WEFT_PATH_END, .ssn = 1 }, { .type = WEFT_PATH_END, .ssn = 2 } },
		{ { .type = WEFT_PATH_END, .ssn = 1 }, { .type = WEFT_PATH_END, .ssn = 0 } },
		{ { .type = WEFT_PATH_ACK },
		  { .type = WEFT_PATH_END, .ssn = WEFT_PATH_WINDOW + 1 } },
	};
	struct routes *r;

	for (u32 i = 0; i < ARRAY_SIZE(frames); i++) {
		r = routes_gather(test, 2);
		for (u32 n = 0; n < 2; n++) {
			expect_alive(&r->b);
			route_feed(&r->b, n, &frames[i][n],
				   frames[i][n].type == WEFT_PATH_SEGMENT ? 20 : 0);
			settle();
		}
		expect_dead(&r->b, -EPROTO);
		end_now(test, r);
	}
}

/* An end that comes first, and again, counts when all before it are here. */
CASE_WITH(flow_end_first, struct routes *r, routes_gather(test, 2))
{
	struct weft_path_hdr hdr = { .type = WEFT_PATH_END, .ssn = 2 };

	route_feed(&r->b, 0, &hdr, 0);
	route_feed(&r->b, 1, &hdr, 0);
	settle();
	KUNIT_EXPECT_FALSE(test, has_ended(&r->b));
	expect_alive(&r->b);
	route_send_many(&r->a, 2, LEN);
	expect_taken(&r->b, 2);
	KUNIT_EXPECT_TRUE(test, has_ended(&r->b));
}

/* An end that found no memory is tried again. */
CASE_WITH(flow_end_without_memory, struct routes *r, routes_gather(test, 2))
{
	weft_baton_lock(&r->a.p->lock);
	/* As weft_paths_finish() leaves it then. */
	r->a.p->out = WEFT_PATHS_ENDING;
	weft_baton_unlock(&r->a.p->lock);
	route_look(&r->a);
	KUNIT_EXPECT_EQ(test, (int)r->a.p->out, (int)WEFT_PATHS_SHUT);
	KUNIT_EXPECT_EQ(test, (int)r->b.llp->class->state(r->b.llp), (int)WEFT_LLP_PEER_CLOSED);
}

/* A stream that is to be looked after later is looked after sooner if that is due. */
CASE_WITH(flow_sooner, struct routes *r, routes_gather(test, 2))
{
	struct timer_list *timer = &r->a.p->work.timer;

	cancel_delayed_work_sync(&r->a.p->work);
	r->a.p->is_due = false;
	weft_paths_soon(r->a.p, 100 * HZ);
	KUNIT_EXPECT_TRUE(test, time_after(timer->expires, jiffies + 50 * HZ));
	weft_paths_soon(r->a.p, 10 * HZ);
	KUNIT_EXPECT_TRUE(test, time_before(timer->expires, jiffies + 50 * HZ));
	weft_paths_soon(r->a.p, 100 * HZ);
	KUNIT_EXPECT_TRUE(test, time_before(timer->expires, jiffies + 50 * HZ));
}

static DECLARE_COMPLETION(go);

static void wait_to_go(struct work_struct *work)
{
	wait_for_completion(&go);
}

static struct route *watched;
static bool in_place;

static void look_at_place(struct work_struct *work)
{
	in_place = !watched->p->is_due;
}

static DECLARE_WORK(blocker, wait_to_go);
static DECLARE_WORK(behind, look_at_place);

/* A stream that is due keeps its place in the queue, and gets one before its late timer fires. */
CASE_WITH(flow_keeps_place, struct routes *r, routes_gather(test, 2))
{
	struct workqueue_struct *blocked = must(test, alloc_ordered_workqueue("weft_blocked", 0));
	struct weft_paths *p = r->a.p;

	watched = &r->a;
	swap(weft_workqueue, blocked);
	for (u32 timed = 0; timed < 2; timed++) {
		cancel_delayed_work_sync(&p->work);
		p->is_due = false;
		if (timed)
			weft_paths_soon(p, 100 * HZ);
		p->due = jiffies - 1;
		reinit_completion(&go);
		in_place = false;
		queue_work(weft_workqueue, &blocker);
		weft_paths_soon(p, 0);
		queue_work(weft_workqueue, &behind);
		weft_paths_soon(p, 0);
		complete_all(&go);
		flush_workqueue(weft_workqueue);
		KUNIT_EXPECT_TRUE(test, in_place);
	}
	swap(weft_workqueue, blocked);
	end_now(test, r);
	/* Last, because timers of the streams may have waited to queue work there. */
	destroy_workqueue(blocked);
}

A_SUITE(paths_flow, fake, flow_by_room, flow_in_parts, flow_by_speed, flow_in_pieces, flow_acks,
	flow_acks_taken, flow_acks_ride, flow_ack_of_nothing, flow_ack_of_unsent,
	flow_too_far_ahead, flow_too_many_bytes, flow_keeps_within, flow_too_long, flow_ends,
	flow_closes, flow_closes_amid_frame, flow_wrong_ends, flow_end_first,
	flow_end_without_memory, flow_sooner, flow_keeps_place);
