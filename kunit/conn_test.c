// SPDX-License-Identifier: GPL-2.0
/* Lanes: who is served in what order, and that none waits for a lock that a process may hold. */
#include "hosts.h"
#include "conn/conn.h"

/* A connection that nobody but the test knows, with a reference for it. */
static struct weft_conn *stray(struct kunit *test, struct weft_lane *lane)
{
	struct weft_conn *conn = weft_conn_new(true, lane);

	KUNIT_ASSERT_NOT_NULL(test, conn);
	kref_get(&conn->refs);
	return conn;
}

static struct weft_lane *lane(struct kunit *test)
{
	struct weft_lane *made = weft_lane_new();

	KUNIT_ASSERT_NOT_NULL(test, made);
	return made;
}

/* One whose lock is held does not keep the others of its lane, and is not forgotten. */
static void conn_lock_taken(struct kunit *test)
{
	struct weft_lane *both = lane(test);
	struct weft_conn *held = stray(test, both), *other = stray(test, both);

	weft_baton_lock(&held->lock);
	weft_conn_post(held, WEFT_EV_EVICT);
	weft_conn_post(other, WEFT_EV_EVICT);
	flush_workqueue(weft_conn_wq);
	KUNIT_EXPECT_EQ(test, (int)other->state, (int)WEFT_CONN_CLOSED);
	KUNIT_EXPECT_EQ(test, (int)held->state, (int)WEFT_CONN_NEW);
	weft_conn_unlock(held);
	flush_workqueue(weft_conn_wq);
	KUNIT_EXPECT_EQ(test, (int)held->state, (int)WEFT_CONN_CLOSED);
	weft_conn_put(held);
	weft_conn_put(other);
	weft_lane_put(both);
}

/* The same for tx_lock of its queue pair: whoever holds that has it served. */
static void conn_tx_lock_taken(struct kunit *test)
{
	struct bench *b = setup(test, 1);
	struct weft_lane *both = lane(test);
	struct weft_conn *bound = stray(test, both), *other = stray(test, both);
	struct weft_qp *qp = &b->engine.qp;

	qp->state = IB_QPS_INIT;
	kref_get(&bound->refs);
	KUNIT_ASSERT_EQ(test, weft_engine_bind(qp, &bound->user), 0);
	bound->qp = qp;
	weft_baton_lock(&qp->tx_lock);
	weft_conn_post(bound, WEFT_EV_EVICT);
	weft_conn_post(other, WEFT_EV_EVICT);
	flush_workqueue(weft_conn_wq);
	KUNIT_EXPECT_EQ(test, (int)other->state, (int)WEFT_CONN_CLOSED);
	KUNIT_EXPECT_EQ(test, (int)bound->state, (int)WEFT_CONN_NEW);
	KUNIT_EXPECT_EQ(test, wanted_of(qp), BIT(WEFT_WANT_CONN));
	weft_qp_unlock(qp);
	flush_workqueue(weft_conn_wq);
	KUNIT_EXPECT_EQ(test, (int)bound->state, (int)WEFT_CONN_CLOSED);
	KUNIT_EXPECT_EQ(test, wanted_of(qp), 0UL);
	weft_baton_lock(&qp->tx_lock);
	weft_engine_unbind(qp);
	weft_qp_unlock(qp);
	bound->qp = NULL;
	weft_conn_put(bound);
	weft_conn_put(bound);
	weft_conn_put(other);
	weft_lane_put(both);
}

/* A lane that left word at tx_lock and then finds the connection's lock taken is kept in mind. */
static void conn_tx_lock_wanted_twice(struct kunit *test)
{
	struct bench *b = setup(test, 1);
	struct weft_lane *own = lane(test);
	struct weft_conn *conn = stray(test, own);
	struct weft_qp *qp = &b->engine.qp;

	qp->state = IB_QPS_INIT;
	kref_get(&conn->refs);
	KUNIT_ASSERT_EQ(test, weft_engine_bind(qp, &conn->user), 0);
	conn->qp = qp;
	weft_baton_lock(&qp->tx_lock);
	weft_conn_post(conn, WEFT_EV_EVICT);
	flush_workqueue(weft_conn_wq);
	KUNIT_EXPECT_TRUE(test, weft_baton_grab(&conn->lock));
	weft_qp_unlock(qp);
	flush_workqueue(weft_conn_wq);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)WEFT_CONN_NEW);
	weft_conn_unlock(conn);
	flush_workqueue(weft_conn_wq);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)WEFT_CONN_CLOSED);
	weft_baton_lock(&qp->tx_lock);
	weft_engine_unbind(qp);
	weft_qp_unlock(qp);
	conn->qp = NULL;
	weft_conn_put(conn);
	weft_conn_put(conn);
	weft_lane_put(own);
}

/* More than a lane serves at a time: all are served, in the order of their events. */
static void conn_many(struct kunit *test)
{
	struct weft_lane *many = lane(test);
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
		strays += conn[i + 1]->turn.next != &conn[i]->turn;
	preempt_enable();
	KUNIT_EXPECT_EQ(test, strays, 0U);
	for (i = 0; i < ARRAY_SIZE(conn) / 64 + 1; i++)
		flush_workqueue(weft_conn_wq);
	for (i = 0; i < ARRAY_SIZE(conn); i++) {
		open += conn[i]->state != WEFT_CONN_CLOSED;
		weft_conn_put(conn[i]);
	}
	KUNIT_EXPECT_EQ(test, open, 0U);
	weft_lane_put(many);
}

/* Who waits in a lane and is moved is served in the other. */
static void conn_moved(struct kunit *test)
{
	struct weft_lane *from = lane(test), *to = lane(test);
	struct weft_conn *conn = stray(test, from);

	weft_baton_lock(&conn->lock);
	weft_conn_post(conn, WEFT_EV_EVICT);
	weft_lane_move(conn, to);
	weft_lane_put(from);
	weft_conn_unlock(conn);
	flush_workqueue(weft_conn_wq);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)WEFT_CONN_CLOSED);
	KUNIT_EXPECT_PTR_EQ(test, conn->lane, to);
	weft_conn_put(conn);
	weft_lane_put(to);
}

A_SUITE(conn, host, KUNIT_CASE(conn_lock_taken), KUNIT_CASE(conn_tx_lock_taken),
	KUNIT_CASE(conn_tx_lock_wanted_twice), KUNIT_CASE(conn_many), KUNIT_CASE(conn_moved));
