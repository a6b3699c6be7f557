// SPDX-License-Identifier: GPL-2.0
/* Streams of several paths in memory; see routes.h. */
#include <linux/in.h>

#include "routes.h"

static struct route *of_llp(const struct weft_llp *llp)
{
	return llp->owner;
}

static u8 byte_of(u32 number, u32 at)
{
	return number * 37 + at * 3 + (at >> 8);
}

static void check_segment(struct route *end, const u8 *segment, u32 len)
{
	KUNIT_EXPECT_EQ(end->test, get_unaligned_be32(segment), end->taken);
	for (u32 at = 4; at < len; at++) {
		if (segment[at] != byte_of(end->taken, at)) {
			KUNIT_FAIL(end->test, "segment %u is damaged at %u", end->taken, at);
			break;
		}
	}
	end->taken++;
}

static void take(struct route *end)
{
	struct weft_arrivals *arrivals = &end->p->arrivals;
	struct weft_arrival *segment;

	weft_llp_assert_locked(end->llp);
	while ((segment = weft_arrivals_turn(arrivals)) != NULL) {
		check_segment(end, segment->data, segment->len);
		weft_arrivals_pass(arrivals);
	}
	weft_llp_held(end->llp, await, 1);
}

/* Reads all that can be read. */
void route_take(struct route *end)
{
	weft_llp_call(end->llp, lock);
	take(end);
	weft_llp_call(end->llp, unlock);
	settle();
}

static void on_readable(struct weft_llp *llp)
{
	if (!of_llp(llp)->idle)
		take(of_llp(llp));
}

static void on_writable(struct weft_llp *llp)
{
	of_llp(llp)->writable++;
}

static void on_changed(struct weft_llp *llp)
{
	of_llp(llp)->changed++;
}

static const struct weft_llp_ops route_ops = {
	.readable = on_readable, .writable = on_writable, .changed = on_changed,
};

static void begin(struct kunit *test, struct route *end, struct fake *first, bool initiator,
		  u32 paths)
{
	struct weft_spread_terms terms = { .initiator = initiator, .crc = true };

	end->test = test;
	end->counters = must(test, alloc_percpu(struct weft_counters));
	terms.counters = end->counters;
	weft_paths_settings.paths = paths;
	end->llp = must(test, weft_paths_begin(&first->llp, &terms, &route_ops, end));
	end->p = to_weft_paths(end->llp);
}

static void name(struct sockaddr_storage *to, u32 host)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)to;

	v4->sin_family = AF_INET;
	v4->sin_port = htons(7000);
	v4->sin_addr.s_addr = htonl(0x0a090000 + host);
}

/* Makes two ends those of one stream between two hosts. */
void routes_join(struct fake *a, struct fake *b)
{
	name(&a->local, 1);
	name(&a->remote, 2);
	name(&b->local, 2);
	name(&b->remote, 1);
	fake_join(a, b);
}

static void end_route(struct route *end)
{
	if (end->llp)
		weft_llp_close(end->llp, true);
	free_percpu(end->counters);
}

/* Ends both ends, of which a test may have closed one and forgotten its stream. */
END_OF(routes_end, struct routes *r)
{
	end_route(&r->a);
	end_route(&r->b);
	KUNIT_EXPECT_EQ(test, fake_end(), 0U);
}

/* Makes a stream whose first path is up; its ends wish so many. The rest happens at settle(). */
struct routes *routes_make(struct kunit *test, u32 a_paths, u32 b_paths)
{
	struct routes *r = zeroed(test, sizeof(*r));
	struct fake *a = must(test, fake_open(NULL, NULL));
	struct fake *b = must(test, fake_open(NULL, NULL));

	routes_join(a, b);
	begin(test, &r->a, a, true, a_paths);
	begin(test, &r->b, b, false, b_paths);
	at_end(test, routes_end, r);
	return r;
}

/* The same, and all paths have joined. */
struct routes *routes_gather(struct kunit *test, u32 paths)
{
	struct routes *r = routes_make(test, paths, paths);

	settle();
	for (u32 i = 0; i < paths; i++) {
		KUNIT_ASSERT_TRUE(test, weft_path_is_up(&r->a.p->path[i]));
		KUNIT_ASSERT_TRUE(test, weft_path_is_up(&r->b.p->path[i]));
	}
	return r;
}

/* This end of a path, which is up. */
struct fake *route_fake(struct route *end, u32 number)
{
	return to_fake(end->p->path[number].llp);
}

/* Sends the next segment, 4 bytes or more. Returns as @send_page; -EAGAIN: not sent. */
int route_send(struct route *end, u32 len)
{
	u8 *fpdu = must(end->test, kzalloc(WEFT_PATH_MAX_FPDU, GFP_KERNEL));
	u8 *segment = weft_fpdu_begin(fpdu, len);
	int ret;

	put_unaligned_be32(end->sent, segment);
	for (u32 at = 4; at < len; at++)
		segment[at] = byte_of(end->sent, at);
	weft_llp_call(end->llp, lock);
	ret = weft_llp_held(end->llp, send_page, virt_to_page(fpdu), offset_in_page(fpdu),
			    weft_fpdu_end(fpdu, len, false), false);
	weft_llp_call(end->llp, unlock);
	kfree(fpdu);
	end->sent += ret != -EAGAIN;
	return ret;
}

/* Gives the stream so many segments, which has room for them. */
void route_send_many(struct route *end, u32 num, u32 len)
{
	while (num--)
		KUNIT_ASSERT_EQ(end->test, route_send(end, len), (int)weft_fpdu_len(len));
}

/* Has all come, after which the end has read so many segments. */
void expect_taken(struct route *end, u32 segments)
{
	settle();
	KUNIT_EXPECT_EQ(end->test, end->taken, segments);
}

/* Has the stream look after what may be due, without an event. */
void route_look(struct route *end)
{
	weft_paths_soon(end->p, 0);
	settle();
}

/* Has an end tell what it owes, as if the time for that had come. */
void route_tell_ack(struct route *end)
{
	route_look(end);
	weft_baton_lock(&end->p->lock);
	end->p->ack_due = jiffies;
	weft_baton_unlock(&end->p->lock);
	route_look(end);
}

/* Has @time pass for a path, in which the peer's host acknowledged nothing of it. */
void route_wait(struct route *end, u32 number, unsigned long time)
{
	route_look(end);
	weft_baton_lock(&end->p->lock);
	end->p->path[number].since -= time;
	weft_baton_unlock(&end->p->lock);
	route_look(end);
}

/* Has a frame arrive that the other end has not sent, of this header and @len zeroes. */
void route_feed(struct route *end, u32 number, const struct weft_path_hdr *hdr, u32 len)
{
	u8 *fpdu = must(end->test, kzalloc(WEFT_PATH_MAX_FPDU, GFP_KERNEL));

	len += WEFT_PATH_HDR_LEN;
	weft_path_encode(weft_fpdu_begin(fpdu, len), hdr);
	fake_feed(route_fake(end, number), fpdu, weft_fpdu_end(fpdu, len, true));
	kfree(fpdu);
}

u64 route_count(const struct route *end, enum weft_counter which)
{
	return weft_counter_sum(end->counters, which);
}
