// SPDX-License-Identifier: GPL-2.0
/* Lanes: who is served in what order, and that none waits for a lock that a process may hold. */
#include "hosts.h"

static void conn_end(struct kunit *test, void *conn)
{
	weft_conn_put(conn);
}

/* A connection that nobody but the test knows, with a reference for it. */
static struct weft_conn *stray(struct kunit *test, struct weft_lane *lane)
{
	struct weft_conn *conn = must(test, weft_conn_new(true, lane));

	kref_get(&conn->refs);
	at_end(test, conn_end, conn);
	return conn;
}

static void lane_end(struct kunit *test, void *lane)
{
	weft_lane_put(lane);
}

static struct weft_lane *lane(struct kunit *test)
{
	struct weft_lane *made = must(test, weft_lane_new());

	at_end(test, lane_end, made);
	return made;
}

/* The lanes have served whom they can, and then a connection is in this state. */
static void expect_served(struct kunit *test, struct weft_conn *conn, enum weft_conn_state state)
{
	flush_workqueue(weft_conn_wq);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)state);
}

/* One whose lock is held does not keep the others of its lane, and is not forgotten. */
CASE_WITH(conn_lock_taken, struct weft_lane *both, lane(test))
{
	struct weft_conn *held = stray(test, both), *other = stray(test, both);

	weft_baton_lock(&held->lock);
	weft_conn_post(held, WEFT_EV_EVICT);
	weft_conn_post(other, WEFT_EV_EVICT);
	expect_served(test, other, WEFT_CONN_CLOSED);
	expect_served(test, held, WEFT_CONN_NEW);
	weft_conn_unlock(held);
	expect_served(test, held, WEFT_CONN_CLOSED);
}

/* Binds a queue pair in INIT to a connection, and holds its tx_lock. */
static void bind(struct kunit *test, struct weft_qp *qp, struct weft_conn *conn)
{
	qp->state = IB_QPS_INIT;
	kref_get(&conn->refs);
	KUNIT_ASSERT_EQ(test, weft_engine_bind(qp, &conn->user), 0);
	conn->qp = qp;
	weft_baton_lock(&qp->tx_lock);
}

static void unbind(struct weft_qp *qp, struct weft_conn *conn)
{
	weft_baton_lock(&qp->tx_lock);
	weft_engine_unbind(qp);
	weft_qp_unlock(qp);
	conn->qp = NULL;
	weft_conn_put(conn);
}

/* The same for tx_lock of its queue pair: whoever holds that has it served. */
CASE_WITH(conn_tx_lock_taken, struct bench *b, setup(test, 1))
{
	struct weft_lane *both = lane(test);
	struct weft_conn *bound = stray(test, both), *other = stray(test, both);
	struct weft_qp *qp = &b->engine.qp;

	bind(test, qp, bound);
	weft_conn_post(bound, WEFT_EV_EVICT);
	weft_conn_post(other, WEFT_EV_EVICT);
	expect_served(test, other, WEFT_CONN_CLOSED);
	expect_served(test, bound, WEFT_CONN_NEW);
	KUNIT_EXPECT_EQ(test, wanted_of(qp), BIT(WEFT_WANT_CONN));
	weft_qp_unlock(qp);
	expect_served(test, bound, WEFT_CONN_CLOSED);
	KUNIT_EXPECT_EQ(test, wanted_of(qp), 0UL);
	unbind(qp, bound);
}

/* A lane that left word at tx_lock and then finds the connection's lock taken is kept in mind. */
CASE_WITH(conn_tx_lock_wanted_twice, struct bench *b, setup(test, 1))
{
	struct weft_conn *conn = stray(test, lane(test));
	struct weft_qp *qp = &b->engine.qp;

	bind(test, qp, conn);
	weft_conn_post(conn, WEFT_EV_EVICT);
	flush_workqueue(weft_conn_wq);
	KUNIT_EXPECT_TRUE(test, weft_baton_grab(&conn->lock));
	weft_qp_unlock(qp);
	expect_served(test, conn, WEFT_CONN_NEW);
	weft_conn_unlock(conn);
	expect_served(test, conn, WEFT_CONN_CLOSED);
	unbind(qp, conn);
}

/* More than a lane serves at a time: all are served, in the order of their events. */
CASE_WITH(conn_many, struct weft_lane *many, lane(test))
{
	struct weft_conn *conn[200];
	size_t i, open = 0, strays = 0;

	for (i = 0; i < ARRAY_SIZE(conn); i++)
		conn[i] = stray(test, many);
	/* Backwards: it is not the order of the making that counts. Nobody serves yet. */
	preempt_disable();
	for (i = ARRAY_SIZE(conn); i-- > 0;)
		weft_conn_post(conn[i], WEFT_EV_EVICT);
	weft_conn_post(conn[ARRAY_SIZE(conn) - 1], WEFT_EV_READABLE); /* keeps its turn */
	for (i = 0; i + 1 < ARRAY_SIZE(conn); i++)
		strays += conn[i + 1]->in_lane.next != &conn[i]->in_lane;
	preempt_enable();
	KUNIT_EXPECT_EQ(test, strays, 0U);
	for (i = 0; i < ARRAY_SIZE(conn) / 64 + 1; i++)
		flush_workqueue(weft_conn_wq);
	for (i = 0; i < ARRAY_SIZE(conn); i++)
		open += conn[i]->state != WEFT_CONN_CLOSED;
	KUNIT_EXPECT_EQ(test, open, 0U);
}

/* Who waits in a lane and is moved is served in the other. */
static void conn_moved(struct kunit *test)
{
	struct weft_lane *from = must(test, weft_lane_new()), *to = lane(test);
	struct weft_conn *conn = stray(test, from);

	weft_baton_lock(&conn->lock);
	weft_conn_post(conn, WEFT_EV_EVICT);
	weft_lane_move(conn, to);
	weft_lane_put(from);
	weft_conn_unlock(conn);
	expect_served(test, conn, WEFT_CONN_CLOSED);
	KUNIT_EXPECT_PTR_EQ(test, conn->lane, to);
}

A_SUITE(conn, host, conn_lock_taken, conn_tx_lock_taken, conn_tx_lock_wanted_twice, conn_many,
	conn_moved);
