// SPDX-License-Identifier: GPL-2.0
/* What each event, and the stream, does in each state that a connection can be in. */
#include "hosts.h"

/* A connection in some state. */
struct scene {
	struct meeting *m;
	struct weft_conn *conn;	/* a reference */
};

static const char *const names[] = {
	"new", "connecting", "requested", "accepted", "pending", "streaming", "closing", "closed",
};

static const char *const event_names[] = {
	"stop", "evict", "start", "readable", "peer closed", "qp failed", "qp closing", "changed",
	"timeout", "accept", "reject",
};

static void make_initiator(struct kunit *test, struct meeting *m, enum weft_conn_state state)
{
	fake_script.mute = state == WEFT_CONN_CONNECTING;
	KUNIT_ASSERT_EQ(test, host_connect(m->h, "hello"), 0);
	m->peer = server_accept(m->server);
	if (state < WEFT_CONN_STREAMING)
		return;
	meeting_reads(test, m, false);
	peer_sends(test, m->peer, &a_reply, "welcome");
	if (state == WEFT_CONN_CLOSING)
		weft_engine_error(host_qp(m->h));
}

static struct scene *scene(struct kunit *test, enum weft_conn_state state)
{
	struct scene *s = zeroed(test, sizeof(*s));
	bool visited = state == WEFT_CONN_ACCEPTED || state == WEFT_CONN_PENDING;
	struct meeting *m = meeting_new(test, visited);

	s->m = m;
	if (state == WEFT_CONN_NEW) {
		s->conn = must(test, weft_conn_new(false, host_dev(m->h)->lane));
		weft_conn_attach(s->conn, host_dev(m->h));
		s->conn->llp = &fake_open(&weft_conn_stream_ops, s->conn)->llp;
	} else if (!visited) {
		make_initiator(test, m, state);
	} else if (state == WEFT_CONN_PENDING) {
		peer_sends(test, m->peer, &a_request, "hello");
	}
	settle();
	s->conn = must(test, host_conn(m->h));
	kref_get(&s->conn->refs);
	KUNIT_ASSERT_EQ_MSG(test, (int)s->conn->state, (int)state, "%s", names[state]);
	m->h->seen = m->h->events;
	return s;
}

static void scene_end(struct kunit *test, struct scene *s)
{
	weft_conn_put(s->conn);
	s->m->h->seen = s->m->h->events;
	end_now(test, s->m);
}

/* What a caller of iw_cm's asks, which waits for the outcome. */
static void ask(struct scene *s, enum weft_conn_event event)
{
	struct iw_cm_conn_param param = { .ird = 2, .ord = 2, .qpn = host_qp(s->m->h)->acc.qpn };

	host_id(s->m->h, &s->m->id);
	s->m->id.provider_data = (void *)(uintptr_t)s->conn->token;
	if (event == WEFT_EV_ACCEPT)
		weft_iw_accept(&s->m->id, &param);
	else
		weft_iw_reject(&s->m->id, NULL, 0);
}

static void happen(struct scene *s, enum weft_conn_event event)
{
	if (event == WEFT_EV_TIMEOUT)
		host_expire(s->m->h);
	else if (event < WEFT_EV_NUM_POSTED)
		weft_conn_post(s->conn, event);
	else
		ask(s, event);
	settle();
}

/* To which state an event leads; what is not here leaves it as it is. */
struct arrow {
	u8 from, event, to;
};

#define ARROW(FROM, EVENT, TO) { WEFT_CONN_##FROM, WEFT_EV_##EVENT, WEFT_CONN_##TO }

static const struct arrow arrows[] = {
	ARROW(NEW, START, ACCEPTED), ARROW(NEW, STOP, CLOSED), ARROW(NEW, EVICT, CLOSED),
	ARROW(CONNECTING, TIMEOUT, CLOSED), ARROW(CONNECTING, STOP, CLOSED),
	ARROW(CONNECTING, QP_FAILED, CLOSED), ARROW(CONNECTING, QP_CLOSING, CLOSED),
	ARROW(REQUESTED, TIMEOUT, CLOSED), ARROW(REQUESTED, STOP, CLOSED),
	ARROW(REQUESTED, QP_FAILED, CLOSED), ARROW(REQUESTED, QP_CLOSING, CLOSED),
	ARROW(ACCEPTED, TIMEOUT, CLOSED), ARROW(ACCEPTED, STOP, CLOSED),
	ARROW(ACCEPTED, EVICT, CLOSED),
	ARROW(PENDING, ACCEPT, STREAMING), ARROW(PENDING, REJECT, CLOSED),
	ARROW(PENDING, TIMEOUT, CLOSED), ARROW(PENDING, STOP, CLOSED),
	ARROW(STREAMING, QP_FAILED, CLOSING), ARROW(STREAMING, QP_CLOSING, CLOSING),
	ARROW(STREAMING, PEER_CLOSED, CLOSED), ARROW(STREAMING, STOP, CLOSED),
	ARROW(CLOSING, TIMEOUT, CLOSED), ARROW(CLOSING, STOP, CLOSED),
};

static enum weft_conn_state leads(enum weft_conn_state from, enum weft_conn_event event)
{
	for (u32 i = 0; i < ARRAY_SIZE(arrows); i++) {
		if (arrows[i].from == from && arrows[i].event == event)
			return arrows[i].to;
	}
	return from;
}

/* Each event in each state, while nothing has come by the stream. */
static void table_cells(struct kunit *test)
{
	int state, event, cells = 0;

	for (state = WEFT_CONN_NEW; state < WEFT_CONN_CLOSED; state++) {
		for (event = 0; event < WEFT_CONN_NUM_EVENTS; event++) {
			enum weft_conn_state to = leads(state, event);
			struct scene *s;

			/* A new one that we did not open has no application to answer. */
			if (event >= WEFT_EV_ACCEPT && state != WEFT_CONN_PENDING)
				continue;
			s = scene(test, state);
			/* Without an initiator there is no queue pair to fail. */
			if (state == WEFT_CONN_NEW &&
			    (event == WEFT_EV_QP_FAILED || event == WEFT_EV_QP_CLOSING)) {
				weft_conn_post(s->conn, WEFT_EV_EVICT);
				settle();
				scene_end(test, s);
				continue;
			}
			happen(s, event);
			KUNIT_EXPECT_EQ_MSG(test, (int)s->conn->state, (int)to, "%s: %s",
					    names[state], event_names[event]);
			/* One that is over stays so. */
			if (to == WEFT_CONN_CLOSED) {
				weft_conn_post(s->conn, WEFT_EV_START);
				weft_conn_post(s->conn, WEFT_EV_CHANGED);
				settle();
				KUNIT_EXPECT_EQ(test, (int)s->conn->state, (int)WEFT_CONN_CLOSED);
				KUNIT_EXPECT_PTR_EQ(test, s->conn->llp, NULL);
				KUNIT_EXPECT_PTR_EQ(test, s->conn->qp, NULL);
				KUNIT_EXPECT_PTR_EQ(test, s->conn->cm_id, NULL);
			}
			scene_end(test, s);
			cells++;
		}
	}
	KUNIT_EXPECT_EQ(test, cells, 7 * WEFT_EV_NUM_POSTED + 2 - 2);
}

/* A clock that went off for a state that is gone does nothing. */
static void table_late_clock(struct kunit *test)
{
	for (int state = WEFT_CONN_CONNECTING; state < WEFT_CONN_CLOSED; state++) {
		struct scene *s = scene(test, state);

		weft_conn_post(s->conn, WEFT_EV_TIMEOUT);
		settle();
		KUNIT_EXPECT_EQ_MSG(test, (int)s->conn->state, state, "%s", names[state]);
		scene_end(test, s);
	}
}

/* Is the connection's clock set to go off @seconds after a moment between @since and now? */
static void expect_clock(struct kunit *test, struct weft_conn *conn, unsigned long since,
			 u32 seconds, const char *state)
{
	unsigned long past = jiffies - since;

	KUNIT_EXPECT_TRUE_MSG(test, delayed_work_pending(&conn->timer), "%s", state);
	KUNIT_EXPECT_LE_MSG(test, conn->deadline - since - seconds * HZ, past, "%s", state);
	KUNIT_EXPECT_LE_MSG(test, conn->timer.timer.expires - since - seconds * HZ, past, "%s",
			    state);
}

/* How long each state may take, as weft(7) says it. */
static void table_times(struct kunit *test)
{
	static const u8 seconds[] = {
		[WEFT_CONN_CONNECTING] = 5,
		[WEFT_CONN_REQUESTED] = 10,
		[WEFT_CONN_ACCEPTED] = 5,
		[WEFT_CONN_PENDING] = 60,
		[WEFT_CONN_STREAMING] = 10,
		[WEFT_CONN_CLOSING] = 5,
	};

	for (int state = WEFT_CONN_CONNECTING; state < WEFT_CONN_CLOSED; state++) {
		unsigned long since = jiffies;
		struct scene *s = scene(test, state);

		expect_clock(test, s->conn, since, seconds[state], names[state]);
		scene_end(test, s);
	}
}

enum what {
	FIN,
	RESET,
	NOISE,
};

#define COMES(FROM, WHAT, TO) { WEFT_CONN_##FROM, WHAT, WEFT_CONN_##TO }

/* What comes by the stream: the peer's end, a reset, and bytes that are no frame. */
static void table_streams(struct kunit *test)
{
	static const struct {
		u8 state, what, to;
	} cases[] = {
		/* Once more, with revision 1. */
		COMES(REQUESTED, FIN, REQUESTED), COMES(REQUESTED, RESET, REQUESTED),
		COMES(REQUESTED, NOISE, CLOSED),
		COMES(ACCEPTED, FIN, CLOSED), COMES(ACCEPTED, RESET, CLOSED),
		COMES(ACCEPTED, NOISE, CLOSED),
		COMES(PENDING, FIN, CLOSED), COMES(PENDING, RESET, CLOSED),
		/* It is no frame's turn: what comes is the queue pair's, later. */
		COMES(PENDING, NOISE, PENDING),
		COMES(STREAMING, FIN, CLOSED), COMES(STREAMING, RESET, CLOSED),
		/* A wrong FPDU: the peer is told, and then the stream is closed. */
		COMES(STREAMING, NOISE, CLOSING),
		COMES(CLOSING, FIN, CLOSED), COMES(CLOSING, RESET, CLOSED),
		COMES(CLOSING, NOISE, CLOSING),
	};
	static const u8 noise[64] = { 0, 50, 0xff };

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct scene *s = scene(test, cases[i].state);

		switch (cases[i].what) {
		case FIN:
			weft_llp_shutdown(&s->m->peer->llp);
			break;
		case RESET:
			weft_llp_close(&s->m->peer->llp, true);
			s->m->peer = NULL;
			break;
		case NOISE:
			s->m->peer->llp.class->send(&s->m->peer->llp, noise, sizeof(noise));
			break;
		}
		settle();
		KUNIT_EXPECT_EQ_MSG(test, (int)s->conn->state, (int)cases[i].to, "%s: %u",
				    names[cases[i].state], cases[i].what);
		/* Not one byte that nobody reads, or the close would be a reset. */
		if (cases[i].state == WEFT_CONN_CLOSING && s->conn->llp)
			KUNIT_EXPECT_EQ(test, to_fake(s->conn->llp)->unread, 0U);
		if (cases[i].state == WEFT_CONN_REQUESTED && cases[i].what != NOISE)
			KUNIT_EXPECT_EQ(test, s->conn->hs->policy.revision, 1);
		scene_end(test, s);
	}
}

/* A peer that closes is read up to its end; one that leaves us hanging is given up. */
CASE_WITH(table_reads_out, struct scene *s, scene(test, WEFT_CONN_STREAMING))
{
	const struct weft_ddp_hdr hdr = { .opcode = WEFT_RDMAP_SEND, .last = true, .msn = 1 };
	u8 fpdu[64];
	u32 n = fpdu_put(fpdu, &hdr, "no receive", 10, true);
	unsigned long since = jiffies;

	s->m->peer->llp.class->send(&s->m->peer->llp, fpdu, n);
	weft_llp_shutdown(&s->m->peer->llp);
	settle();
	expect_clock(test, s->conn, since, 15, "after the peer's FIN");
	KUNIT_EXPECT_EQ(test, (int)s->conn->state, (int)WEFT_CONN_STREAMING);
	KUNIT_EXPECT_TRUE(test, s->conn->peer_closed);
	host_expire(s->m->h);
	KUNIT_EXPECT_EQ(test, (int)s->conn->state, (int)WEFT_CONN_CLOSED);
	host_expect(test, s->m->h, IW_CM_EVENT_CLOSE, -ECONNRESET);
	host_expect_silence(test, s->m->h);
	scene_end(test, s);
}

/* Every state has a way out when the device goes. */
static void table_stop_all(struct kunit *test)
{
	for (int state = WEFT_CONN_NEW; state < WEFT_CONN_CLOSED; state++) {
		struct scene *s = scene(test, state);

		weft_conn_stop_all(host_dev(s->m->h));
		KUNIT_EXPECT_EQ_MSG(test, (int)s->conn->state, (int)WEFT_CONN_CLOSED, "%s",
				    names[state]);
		scene_end(test, s);
	}
}

/* Ends a queue pair from a worker. */
struct ender {
	struct work_struct work;	/* does it */
	struct scene *s;	/* the scene */
	int state;	/* of the connection when the worker had done it */
};

static void ender_work(struct work_struct *work)
{
	struct ender *ender = container_of(work, struct ender, work);

	weft_engine_error(host_qp(ender->s->m->h));
	ender->state = ender->s->conn->state;
}

/* The process that made a queue pair ends the connection in its own time, if no lock is taken. */
static void table_ended_here(struct kunit *test)
{
	struct ender ender;
	struct scene *s;

	for (int i = 0; i < 4; i++) {
		const bool here = i < 2;

		s = scene(test, WEFT_CONN_STREAMING);
		host_qp(s->m->h)->ib.res.task = current;
		switch (i) {
		case 0:
			weft_engine_error(host_qp(s->m->h));
			break;
		case 1:
			KUNIT_EXPECT_EQ(test, weft_engine_drain(host_qp(s->m->h)), 0);
			break;
		case 2:
			weft_baton_lock(&host_qp(s->m->h)->tx_lock);
			weft_engine_error(host_qp(s->m->h));
			break;
		case 3:
			ender.s = s;
			INIT_WORK_ONSTACK(&ender.work, ender_work);
			schedule_work(&ender.work);
			flush_work(&ender.work);
			destroy_work_on_stack(&ender.work);
			break;
		}
		KUNIT_EXPECT_EQ_MSG(test, i == 3 ? ender.state : (int)s->conn->state,
				    (int)(here ? WEFT_CONN_CLOSING : WEFT_CONN_STREAMING), "%d", i);
		if (i == 2)
			weft_qp_unlock(host_qp(s->m->h));
		host_qp(s->m->h)->ib.res.task = NULL;
		/* The connection's work and the worker may both want the lock: the worker waits. */
		schedule_timeout_uninterruptible(3);
		settle();
		KUNIT_EXPECT_EQ_MSG(test, (int)s->conn->state, (int)WEFT_CONN_CLOSING, "%d", i);
		host_expect(test, s->m->h, IW_CM_EVENT_CLOSE, 0);
		host_expect_silence(test, s->m->h);
		scene_end(test, s);
	}
}

A_SUITE(table, host, table_cells, table_late_clock, table_times, table_streams, table_reads_out,
	table_stop_all, table_ended_here);
