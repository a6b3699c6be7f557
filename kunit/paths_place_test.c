// SPDX-License-Identifier: GPL-2.0
/* Two queue pairs and two paths, one of them late: placed at once, delivered in turn. */
#include "routes.h"

#define HERE	100000U	/* where bytes go in the receiver's memory */
#define LEN	40000U	/* of three segments */
#define SECOND	16000U	/* bytes from here on are not in the first of them */
#define ANSWER	4U	/* what the SEND behind them has */

/* Both ends. */
struct pair {
	struct end *a;	/* the initiator, which sends */
	struct end *b;	/* the responder */
};

static struct fake *path_of(const struct end *e, u32 number)
{
	return to_fake(to_weft_paths(e->llp)->path[number].llp);
}

END_OF(pair_end, struct pair *p)
{
	end_free(test, p->a);
	end_free(test, p->b);
	KUNIT_EXPECT_EQ(test, fake_end(), 0U);
}

static struct pair *pair_new(struct kunit *test)
{
	const struct weft_mpa_agreed agreed = {
		.revision = 2, .p2p = true, .rtr = WEFT_RTR_WRITE, .extended = true,
		.ird = 2, .ord = 2,
	};
	struct pair *p = zeroed(test, sizeof(*p));

	p->a = end_make(test);
	p->b = end_make(test);
	routes_join(p->a->fake, p->b->fake);
	end_spread(test, p->b, false, 2);
	end_spread(test, p->a, true, 2);
	KUNIT_ASSERT_EQ(test, end_start(p->b, &agreed, false), 0);
	KUNIT_ASSERT_EQ(test, end_start(p->a, &agreed, true), 0);
	settle();
	/* Nothing overtakes the first message, so each direction has one. */
	end_post_to(p->b, WEFT_OP_WRITE, 0, 4, 0);
	end_ring(p->b);
	settle();
	KUNIT_ASSERT_TRUE(test, end_poll(p->b));
	end_fill(p->a, 1);
	end_fill(p->b, 2);
	KUNIT_ASSERT_TRUE(test, weft_path_is_up(&to_weft_paths(p->a->llp)->path[1]));
	KUNIT_ASSERT_TRUE(test, weft_path_is_up(&to_weft_paths(p->b->llp)->path[1]));
	at_end(test, pair_end, p);
	return p;
}

/* Path 0 of an end is late from now on, with room for a part of a frame, or no longer. */
static void late(const struct end *e, bool is)
{
	path_of(e, 0)->script.stuck = is;
	path_of(e, 0)->script.window = is ? 1000 : 4 << 20;
}

static void catch_up(struct pair *p)
{
	late(p->a, false);
	late(p->b, false);
	settle();
	weft_paths_soon(to_weft_paths(p->a->llp), 0);
	weft_paths_soon(to_weft_paths(p->b->llp), 0);
	settle();
}

/* A WRITE of three segments and a SEND behind it, while a path is late that has the first. */
static void write_late(struct pair *p)
{
	end_receive(p->b, 0x77, 0, 100);
	late(p->a, true);
	late(p->b, true);
	end_post_to(p->a, WEFT_OP_WRITE, 0, LEN, HERE);
	end_send(p->a, 0, ANSWER);
	settle();
}

static bool same(const struct pair *p, u32 from, u32 len)
{
	return !memcmp(p->b->memory + HERE + from, p->a->memory + from, len);
}

static void expect_received(struct kunit *test, struct pair *p)
{
	expect_recv(test, p->b, 0x77, ANSWER, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, same(p, 0, LEN));
	KUNIT_EXPECT_EQ(test, memcmp(p->b->memory, p->a->memory, ANSWER), 0);
}

CASE_WITH(place_early, struct pair *p, pair_new(test))
{
	write_late(p);
	KUNIT_EXPECT_TRUE(test, same(p, SECOND, LEN - SECOND));
	KUNIT_EXPECT_FALSE(test, same(p, 0, 1000));
	KUNIT_EXPECT_EQ(test, end_count(p->b, WEFT_CNT_RX_EARLY_FPDUS), 3ULL);
	KUNIT_EXPECT_GT(test, end_count(p->b, WEFT_CNT_RX_EARLY_BYTES), (u64)LEN - SECOND);
	/* Little is kept of what was placed. */
	KUNIT_EXPECT_LT(test, to_weft_paths(p->b->llp)->arrivals.held, 300U);
	expect_none(test, p->b);
	catch_up(p);
	expect_received(test, p);
	KUNIT_EXPECT_EQ(test, to_weft_paths(p->b->llp)->arrivals.held, 0U);
}

CASE_WITH(place_in_order, struct pair *p, pair_new(test))
{
	to_weft_paths(p->b->llp)->arrivals.early = false;
	write_late(p);
	KUNIT_EXPECT_FALSE(test, same(p, SECOND, 1000));
	KUNIT_EXPECT_FALSE(test, same(p, LEN - 1000, 1000));
	KUNIT_EXPECT_EQ(test, end_count(p->b, WEFT_CNT_RX_EARLY_FPDUS), 0ULL);
	KUNIT_EXPECT_GT(test, to_weft_paths(p->b->llp)->arrivals.held, LEN - SECOND);
	expect_none(test, p->b);
	catch_up(p);
	expect_received(test, p);
}

/* Not a byte is placed of a frame that is damaged, whichever byte that is. */
static void place_damaged(struct kunit *test)
{
	const u32 at[] = { 3, 8, 20, 9000, 15999 };
	struct fake *bad;
	struct pair *p;

	for (u32 i = 0; i < ARRAY_SIZE(at); i++) {
		p = pair_new(test);
		bad = path_of(p->b, 1);
		bad->damage = bad->arrived + at[i];
		write_late(p);
		KUNIT_EXPECT_EQ(test, end_count(p->b, WEFT_CNT_RX_CRC_ERRORS), 1ULL);
		KUNIT_EXPECT_EQ(test, end_count(p->b, WEFT_CNT_RX_EARLY_FPDUS), 0ULL);
		KUNIT_EXPECT_FALSE(test, same(p, SECOND, 500));
		KUNIT_EXPECT_FALSE(test, same(p, SECOND + 12000, 500));
		expect_none(test, p->b);
		catch_up(p);
		expect_received(test, p);
		end_now(test, p);
	}
}

/* What comes a second time, after its message was delivered, is not placed again. */
static void place_once(struct kunit *test)
{
	struct weft_paths *paths;
	struct pair *p;

	fake_script.rto = HZ / 2;
	p = pair_new(test);
	paths = to_weft_paths(p->a->llp);
	write_late(p);
	weft_baton_lock(&paths->lock);
	paths->path[0].since -= HZ + HZ / 5;
	weft_baton_unlock(&paths->lock);
	weft_paths_soon(paths, 0);
	settle();
	KUNIT_EXPECT_GT(test, end_count(p->a, WEFT_CNT_PATH_REPLAYED), 0ULL);
	expect_received(test, p);
	end_fill(p->b, 3);
	end_fill(p->a, 3);
	catch_up(p);
	KUNIT_EXPECT_EQ(test, memcmp(p->a->memory, p->b->memory, END_MEMORY), 0);
	KUNIT_EXPECT_EQ(test, (int)p->b->qp->state, (int)IB_QPS_RTS);
}

/* The answer to a read comes early as well. */
CASE_WITH(place_answer, struct pair *p, pair_new(test))
{
	/* The request is on its way before the path is late. */
	late(p->b, true);
	end_post_to(p->a, WEFT_OP_READ, HERE, LEN, 0);
	end_ring(p->a);
	settle();
	KUNIT_EXPECT_EQ(test, memcmp(p->a->memory + HERE + SECOND, p->b->memory + SECOND,
				     LEN - SECOND), 0);
	KUNIT_EXPECT_GT(test, end_count(p->a, WEFT_CNT_RX_EARLY_FPDUS), 0ULL);
	expect_none(test, p->a);
	catch_up(p);
	KUNIT_EXPECT_EQ(test, memcmp(p->a->memory + HERE, p->b->memory, LEN), 0);
	expect_done(test, p->a, 0x1000, IB_WC_SUCCESS);
}

/* A queue pair that failed drops what comes, and the peer's end comes all the same. */
CASE_WITH(place_nothing, struct pair *p, pair_new(test))
{
	write_late(p);
	weft_engine_error(p->b->qp);
	settle();
	weft_llp_shutdown(p->a->llp);
	catch_up(p);
	KUNIT_EXPECT_GT(test, p->b->peer_closed, 0);
	KUNIT_EXPECT_FALSE(test, same(p, 0, 1000));
	KUNIT_EXPECT_EQ(test, to_weft_paths(p->b->llp)->arrivals.held, 0U);
}

A_SUITE(paths_place, fake, place_early, place_in_order, place_damaged, place_once, place_answer,
	place_nothing);
