// SPDX-License-Identifier: GPL-2.0
/* Paths that join, leave, break or stall: the peer reads every segment once, in order. */
#include "routes.h"

#define LEN	8000U	/* of most segments here */

static u32 num_up(const struct route *end)
{
	u32 i, num = 0;

	for (i = 0; i < WEFT_MAX_PATHS; i++)
		num += weft_path_is_up(&end->p->path[i]);
	return num;
}

static void expect_up(struct routes *r, u32 paths)
{
	KUNIT_EXPECT_EQ(r->a.test, num_up(&r->a), paths);
	KUNIT_EXPECT_EQ(r->b.test, num_up(&r->b), paths);
}

/* Has all that follows take this path, or any. */
static void use_only(struct route *end, int number)
{
	for (int i = 0; i < WEFT_MAX_PATHS; i++)
		if (weft_path_is_up(&end->p->path[i]))
			route_fake(end, i)->script.window = number < 0 || i == number ? 4 << 20 : 0;
}

static void use_all(struct route *end)
{
	use_only(end, -1);
	route_look(end);
}

static void breaks(struct route *end, u32 number, int error)
{
	fake_die(route_fake(end, number), error);
	settle();
}

static void cut(struct routes *r, u32 number, bool off)
{
	route_fake(&r->a, number)->script.stuck = off;
	route_fake(&r->b, number)->script.stuck = off;
}

/* Has the time come to try the peer's address again. */
static void try_again(struct routes *r)
{
	weft_baton_lock(&r->a.p->lock);
	r->a.p->home[0].next_try = jiffies;
	weft_baton_unlock(&r->a.p->lock);
	route_look(&r->a);
}

static void expect_counts(struct route *end, u32 joins, u32 leaves)
{
	KUNIT_EXPECT_EQ(end->test, route_count(end, WEFT_CNT_PATH_JOINS), (u64)joins);
	KUNIT_EXPECT_EQ(end->test, route_count(end, WEFT_CNT_PATH_LEAVES), (u64)leaves);
}

/* --- the beginning --- */

/* Something comes, and is looked at, as soon as events go to the new stream. */
static void come_at_once(struct weft_llp *llp)
{
	struct weft_paths *p = llp->owner;

	llp->ops->readable(llp);
	flush_delayed_work(&p->work);
}

/* A stream whose first path is about to be up is not one without paths, which would be dead. */
static void join_begins(struct kunit *test)
{
	struct routes *r;

	fake_adopted = come_at_once;
	r = routes_make(test, 2, 2);
	fake_adopted = NULL;
	settle();
	KUNIT_EXPECT_EQ(test, (int)r->a.llp->class->state(r->a.llp), (int)WEFT_LLP_OPEN);
	KUNIT_EXPECT_EQ(test, (int)r->b.llp->class->state(r->b.llp), (int)WEFT_LLP_OPEN);
	expect_up(r, 2);
}

/* --- what a path had --- */

/* What a path has not carried when it breaks takes another. */
CASE_WITH(join_replays, struct routes *r, routes_gather(test, 2))
{
	use_only(&r->a, 1);
	route_send_many(&r->a, 5, LEN);
	route_fake(&r->a, 0)->script.window = 4 << 20;
	breaks(&r->a, 1, -ECONNRESET);
	KUNIT_EXPECT_EQ(test, r->b.taken, 5U);
	KUNIT_EXPECT_EQ(test, route_count(&r->a, WEFT_CNT_PATH_REPLAYED), 5ULL);
	KUNIT_EXPECT_EQ(test, r->a.p->path[1].counts.replayed, 5ULL);
	expect_counts(&r->a, 1, 1);
	expect_counts(&r->b, 1, 1);
	route_send_many(&r->a, 5, LEN);
	expect_taken(&r->b, 10);
}

/* What was replayed goes before what no path has had, since the peer waits for it. */
CASE_WITH(join_replays_first, struct routes *r, routes_gather(test, 2))
{
	u32 first;

	use_only(&r->a, 1);
	route_send_many(&r->a, 3, LEN);
	route_fake(&r->a, 1)->script.window = 0;
	weft_llp_shutdown(r->a.llp);
	breaks(&r->a, 1, -ECONNRESET);
	weft_baton_lock(&r->a.p->lock);
	first = list_first_entry(&r->a.p->waiting, struct weft_path_frame, waiting)->ssn;
	weft_baton_unlock(&r->a.p->lock);
	KUNIT_EXPECT_EQ(test, first, 0U);
	/* Nothing new is taken before these are gone. */
	KUNIT_EXPECT_EQ(test, route_send(&r->a, LEN), -EAGAIN);
	use_all(&r->a);
	KUNIT_EXPECT_EQ(test, r->b.taken, 3U);
	KUNIT_EXPECT_EQ(test, (int)r->b.llp->class->state(r->b.llp), (int)WEFT_LLP_PEER_CLOSED);
}

/* What came by a path that breaks before that was told comes again, and is read once. */
CASE_WITH(join_doubles, struct routes *r, routes_gather(test, 2))
{
	r->b.idle = true;
	use_only(&r->a, 1);
	route_send_many(&r->a, 5, LEN);
	settle();
	route_fake(&r->a, 0)->script.window = 4 << 20;
	breaks(&r->a, 1, -ECONNRESET);
	KUNIT_EXPECT_EQ(test, route_count(&r->a, WEFT_CNT_PATH_REPLAYED), 5ULL);
	KUNIT_EXPECT_GT(test, r->b.p->path[0].counts.rx_bytes, 5ULL * LEN);
	route_take(&r->b);
	KUNIT_EXPECT_EQ(test, r->b.taken, 5U);
}

/* A frame of which a part came is sent again as a whole. */
CASE_WITH(join_torn, struct routes *r, routes_gather(test, 2))
{
	route_fake(&r->b, 1)->script.cut = 100;
	use_only(&r->a, 1);
	route_send_many(&r->a, 2, LEN);
	fake_pump();
	fake_pump();
	fake_pump();
	route_fake(&r->a, 0)->script.window = 4 << 20;
	breaks(&r->a, 1, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, r->b.taken, 2U);
	/* A path that joins in its place begins with a frame of its own. */
	try_again(r);
	use_only(&r->a, 1);
	route_send_many(&r->a, 2, LEN);
	expect_taken(&r->b, 4);
	KUNIT_EXPECT_EQ(test, num_up(&r->b), 2U);
}

/* A path that damages bytes ends alone, wherever in a frame these are. */
static void join_damaged(struct kunit *test)
{
	const u32 at[] = { 1, 2, 3, 7, 12, 15, 5000, LEN + 17 };
	struct routes *r;
	struct fake *bad;

	for (u32 i = 0; i < ARRAY_SIZE(at); i++) {
		r = routes_gather(test, 2);
		bad = route_fake(&r->b, 1);
		bad->damage = bad->arrived + at[i];
		use_only(&r->a, 1);
		route_send_many(&r->a, 3, LEN);
		route_fake(&r->a, 0)->script.window = 4 << 20;
		settle();
		KUNIT_EXPECT_EQ_MSG(test, r->b.taken, 3U, "at %u", at[i]);
		KUNIT_EXPECT_EQ(test, num_up(&r->b), 1U);
		end_now(test, r);
	}
}

/* The same with a length that no frame has. */
static void join_wrong_length(struct kunit *test)
{
	const u16 wrong[] = { 0, 1, WEFT_PATH_HDR_LEN - 1, WEFT_PATH_MAX_ULPDU + 1, 0xffff };
	u8 bytes[100] = {};
	struct routes *r;

	for (u32 i = 0; i < ARRAY_SIZE(wrong); i++) {
		r = routes_gather(test, 2);
		put_unaligned_be16(wrong[i], bytes);
		fake_feed(route_fake(&r->b, 1), bytes, sizeof(bytes));
		settle();
		KUNIT_EXPECT_EQ_MSG(test, num_up(&r->b), 1U, "%u", wrong[i]);
		route_send_many(&r->a, 3, LEN);
		expect_taken(&r->b, 3);
		end_now(test, r);
	}
}

/* Their paths stall after a second without an acknowledgment. */
static struct routes *routes_that_stall(struct kunit *test, u32 paths)
{
	fake_script.rto = HZ / 2;
	return routes_gather(test, paths);
}

/* A path whose peer's host is silent stays, and others carry what it has; then it gives up. */
CASE_WITH(join_stalls, struct routes *r, routes_that_stall(test, 2))
{
	struct fake *slow = route_fake(&r->a, 1);
	u32 unsent;

	use_only(&r->a, 1);
	cut(r, 1, true);
	route_send_many(&r->a, 3, LEN);
	use_all(&r->a);
	KUNIT_EXPECT_EQ(test, r->b.taken, 0U);
	route_wait(&r->a, 1, HZ + HZ / 5);
	KUNIT_EXPECT_EQ(test, r->b.taken, 3U);
	KUNIT_EXPECT_EQ(test, num_up(&r->a), 2U);
	/* It gets nothing more, although it has room and was faster. */
	slow->script.rtt_us = 1;
	unsent = slow->unsent;
	route_send_many(&r->a, 3, LEN);
	KUNIT_EXPECT_EQ(test, slow->unsent, unsent);
	expect_taken(&r->b, 6);
	/* What it had comes late, and is read no second time. */
	cut(r, 1, false);
	settle();
	expect_counts(&r->a, 1, 0);
	route_look(&r->a);
	use_only(&r->a, 1);
	route_send_many(&r->a, 1, LEN);
	KUNIT_EXPECT_GT(test, slow->unsent, 0U);
	cut(r, 1, true);
	use_all(&r->a);
	route_wait(&r->a, 1, 4 * HZ);
	KUNIT_EXPECT_EQ(test, r->b.taken, 7U);
	expect_counts(&r->a, 1, 1);
	KUNIT_EXPECT_EQ(test, num_up(&r->a), 1U);
}

/* If all are silent, none is given up: TCP knows how long to wait. */
CASE_WITH(join_all_stall, struct routes *r, routes_that_stall(test, 2))
{
	cut(r, 0, true);
	cut(r, 1, true);
	for (u32 i = 0; i < 2; i++) {
		use_only(&r->a, i);
		route_send_many(&r->a, 3, LEN);
	}
	use_all(&r->a);
	weft_baton_lock(&r->a.p->lock);
	for (u32 i = 0; i < 2; i++)
		r->a.p->path[i].since -= 10 * HZ;
	weft_baton_unlock(&r->a.p->lock);
	route_look(&r->a);
	KUNIT_EXPECT_EQ(test, num_up(&r->a), 2U);
	KUNIT_EXPECT_TRUE(test, r->a.p->path[0].stalled && r->a.p->path[1].stalled);
	/* What is new has to go somewhere. */
	route_send_many(&r->a, 1, LEN);
	KUNIT_EXPECT_TRUE(test, list_empty(&r->a.p->waiting));
	weft_baton_lock(&r->a.p->lock);
	for (u32 i = 0; i < 2; i++)
		r->a.p->path[i].since = jiffies;
	weft_baton_unlock(&r->a.p->lock);
	cut(r, 0, false);
	cut(r, 1, false);
	expect_taken(&r->b, 7);
	expect_counts(&r->a, 1, 0);
}

/* What was acknowledged by a path that breaks is told again. */
CASE_WITH(join_lost_ack, struct routes *r, routes_gather(test, 2))
{
	route_send_many(&r->a, 5, LEN);
	settle();
	use_only(&r->b, 0);
	cut(r, 0, true);
	route_tell_ack(&r->b);
	KUNIT_EXPECT_EQ(test, r->b.p->sent_ack, 5U);
	fake_die(route_fake(&r->b, 0), -ECONNRESET);
	use_all(&r->b);
	settle();
	route_tell_ack(&r->b);
	KUNIT_EXPECT_EQ(test, r->a.p->num_unacked, 0U);
}

/* --- joining and leaving --- */

/* A path that joins amid the flow carries its part of it. */
CASE_WITH(join_late, struct routes *r, routes_make(test, 3, 3))
{
	KUNIT_EXPECT_EQ(test, num_up(&r->a), 1U);
	route_send_many(&r->a, 5, LEN);
	route_send_many(&r->b, 5, LEN);
	settle();
	expect_up(r, 3);
	expect_counts(&r->a, 2, 0);
	expect_counts(&r->b, 2, 0);
	use_only(&r->a, 2);
	use_only(&r->b, 1);
	route_send_many(&r->a, 5, LEN);
	route_send_many(&r->b, 5, LEN);
	expect_taken(&r->a, 10);
	KUNIT_EXPECT_EQ(test, r->b.taken, 10U);
	KUNIT_EXPECT_GT(test, r->b.p->path[2].counts.rx_bytes, 5ULL * LEN);
}

/* Both ends know of a path, also where nothing flows. */
CASE_WITH(join_heard, struct routes *r, routes_gather(test, 2))
{
	KUNIT_EXPECT_TRUE(test, r->a.p->path[1].heard);
}

/* A responder that has no memory for a listener makes it later. */
static void join_without_memory(struct kunit *test)
{
	struct routes *r;

	fake_faults.open = -ENOMEM;
	r = routes_make(test, 2, 2);
	settle();
	KUNIT_EXPECT_EQ(test, num_up(&r->a), 1U);
	fake_faults.open = 0;
	route_look(&r->b);
	KUNIT_EXPECT_EQ(test, num_up(&r->a), 2U);
}

/* As many paths as the end has that wants fewer. */
CASE_WITH(join_fewer, struct routes *r, routes_make(test, 4, 2))
{
	settle();
	expect_up(r, 2);
	KUNIT_EXPECT_EQ(test, route_count(&r->b, WEFT_CNT_PATH_REFUSED), 0ULL);
}

/* What cannot be reached now is tried again, and the stream goes on meanwhile. */
static void join_unreachable(struct kunit *test)
{
	struct routes *r;

	fake_faults.connect = -ENETUNREACH;
	r = routes_make(test, 2, 2);
	route_send_many(&r->a, 3, LEN);
	settle();
	KUNIT_EXPECT_EQ(test, num_up(&r->a), 1U);
	KUNIT_EXPECT_EQ(test, r->a.p->home[0].failures, 1U);
	KUNIT_EXPECT_TRUE(test, time_after(r->a.p->home[0].next_try, jiffies));
	fake_faults.connect = 0;
	route_look(&r->a);
	KUNIT_EXPECT_EQ(test, num_up(&r->a), 1U);
	try_again(r);
	KUNIT_EXPECT_EQ(test, num_up(&r->a), 2U);
	KUNIT_EXPECT_EQ(test, r->b.taken, 3U);
}

/* Somebody who does not answer is given up. */
static void join_silent(struct kunit *test)
{
	struct routes *r;

	fake_script.mute = true;
	r = routes_make(test, 2, 2);
	settle();
	KUNIT_EXPECT_EQ(test, num_up(&r->a), 1U);
	KUNIT_EXPECT_NOT_NULL(test, r->a.p->path[1].llp);
	route_wait(&r->a, 1, 10 * HZ);
	KUNIT_EXPECT_NULL(test, r->a.p->path[1].llp);
	fake_script.mute = false;
	try_again(r);
	KUNIT_EXPECT_EQ(test, num_up(&r->a), 2U);
}

/* A path that left joins again, and carries what is sent then. */
CASE_WITH(join_again, struct routes *r, routes_gather(test, 2))
{
	for (u32 i = 1; i <= 3; i++) {
		breaks(i % 2 ? &r->a : &r->b, i % 2, -ECONNRESET);
		expect_counts(&r->a, i, i);
		route_send_many(&r->a, 3, LEN);
		try_again(r);
		expect_up(r, 2);
		use_only(&r->a, i % 2);
		route_send_many(&r->a, 3, LEN);
		expect_taken(&r->b, 6 * i);
		use_all(&r->a);
	}
}

/* The stream lives as long as one of its paths. */
CASE_WITH(join_last_leaves, struct routes *r, routes_gather(test, 2))
{
	breaks(&r->a, 0, -ECONNRESET);
	KUNIT_EXPECT_EQ(test, (int)r->a.llp->class->state(r->a.llp), (int)WEFT_LLP_OPEN);
	breaks(&r->a, 1, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, (int)r->a.llp->class->state(r->a.llp), (int)WEFT_LLP_DEAD);
	KUNIT_EXPECT_EQ(test, r->a.llp->class->error(r->a.llp), -ECONNRESET);
	KUNIT_EXPECT_EQ(test, r->a.changed, 1);
	KUNIT_EXPECT_EQ(test, (int)r->b.llp->class->state(r->b.llp), (int)WEFT_LLP_DEAD);
	KUNIT_EXPECT_EQ(test, route_send(&r->a, LEN), -ECONNRESET);
}

/* A path breaks that brings a packet which cannot be read. */
CASE_WITH(join_unreadable, struct routes *r, routes_gather(test, 2))
{
	struct fake *bad = route_fake(&r->b, 1);
	u8 bytes[WEFT_PATH_HEAD] = {};
	struct sk_buff *skb;

	put_unaligned_be16(100, bytes);
	weft_baton_lock(&r->b.p->lock);
	fake_feed(bad, bytes, 8);
	mutex_lock(&bad->lock);
	skb = skb_peek_tail(&bad->in);
	/* It says that it has eight bytes more, which are nowhere. */
	skb->len += 8;
	skb->data_len += 8;
	bad->unread += 8;
	mutex_unlock(&bad->lock);
	weft_baton_unlock(&r->b.p->lock);
	route_look(&r->b);
	KUNIT_EXPECT_EQ(test, num_up(&r->b), 1U);
	KUNIT_EXPECT_EQ(test, (int)r->b.llp->class->state(r->b.llp), (int)WEFT_LLP_OPEN);
	route_send_many(&r->a, 3, LEN);
	expect_taken(&r->b, 3);
}

/* --- anything at all --- */

/* Returns true if a path is the same connection at both ends. */
static bool is_whole(struct routes *r, u32 i)
{
	return weft_path_is_up(&r->a.p->path[i]) && weft_path_is_up(&r->b.p->path[i]) &&
	       route_fake(&r->a, i)->peer == route_fake(&r->b, i);
}

static u32 num_whole(struct routes *r)
{
	u32 i, num = 0;

	for (i = 0; i < WEFT_MAX_PATHS; i++)
		num += is_whole(r, i);
	return num;
}

static void mend(struct routes *r)
{
	for (u32 i = 0; i < WEFT_MAX_PATHS; i++) {
		if (weft_path_is_up(&r->a.p->path[i]))
			route_fake(&r->a, i)->script.stuck = false;
		if (weft_path_is_up(&r->b.p->path[i]))
			route_fake(&r->b, i)->script.stuck = false;
	}
}

static void mishap(struct routes *r, u32 *seed)
{
	u32 number = dice(seed, WEFT_MAX_PATHS);
	struct route *end = dice(seed, 2) ? &r->a : &r->b;
	struct fake *f;

	if (!is_whole(r, number))
		return;
	f = route_fake(end, number);
	switch (dice(seed, 5)) {
	case 0:
		if (num_whole(r) > 1)
			fake_die(f, -ECONNRESET);
		break;
	case 1:
		f->script.cut = dice(seed, 2) ? 0 : 500 + dice(seed, 5000);
		break;
	case 2:
		f->script.stuck = true;
		break;
	case 3:
		f->script.window = 500 + dice(seed, 100000);
		break;
	default:
		f->script.rtt_us = 1 + dice(seed, 100000);
	}
}

CASE_WITH(join_any_weather, struct routes *r, routes_that_stall(test, 4))
{
	u32 seed = 20, step;

	for (step = 0; step < 3000; step++) {
		route_send(dice(&seed, 3) ? &r->a : &r->b, 4 + dice(&seed, LEN));
		if (!dice(&seed, 3))
			fake_pump();
		if (!dice(&seed, 20))
			mishap(r, &seed);
		if (dice(&seed, 40))
			continue;
		mend(r);
		try_again(r);
	}
	mend(r);
	settle();
	use_all(&r->a);
	use_all(&r->b);
	KUNIT_EXPECT_EQ(test, (int)r->a.llp->class->state(r->a.llp), (int)WEFT_LLP_OPEN);
	KUNIT_EXPECT_EQ(test, r->b.taken, r->a.sent);
	KUNIT_EXPECT_EQ(test, r->a.taken, r->b.sent);
	KUNIT_EXPECT_GT(test, r->a.sent, 500U);
	KUNIT_EXPECT_GT(test, route_count(&r->a, WEFT_CNT_PATH_REPLAYED), 5ULL);
	KUNIT_EXPECT_GT(test, route_count(&r->a, WEFT_CNT_PATH_LEAVES), 2ULL);
}

A_SUITE(paths_join, fake, join_begins, join_replays, join_replays_first, join_doubles, join_torn,
	join_damaged, join_wrong_length, join_stalls, join_all_stall, join_lost_ack, join_late,
	join_heard, join_without_memory, join_fewer, join_unreachable, join_silent, join_again,
	join_last_leaves, join_unreadable, join_any_weather);
