// SPDX-License-Identifier: GPL-2.0
/* What iw_cm is told, in which order, of connections that come about or do not. */
#include "base/address.h"
#include "bench.h"
#include "conn/iwcm.h"
#include "ends.h"
#include "hosts.h"
#include "paths/paths.h"
#include "wire/bytes.h"
#include "wire/fpdu.h"

/* An end that opens a connection: its host, who listens, and the peer's end. */
struct call {
	struct host *h;
	struct fake *server;
	struct fake *peer;
	struct weft_mpa_frame request;
	u8 *private;
};

static struct call *call_new(struct kunit *test)
{
	struct call *c = zeroed(test, sizeof(*c));

	c->private = zeroed(test, WEFT_MPA_MAX_PRIVATE);
	fake_begin();
	c->h = host_new(test);
	c->server = server_new(test);
	return c;
}

/* Connects, up to where the peer has the Request. */
static struct call *called(struct kunit *test)
{
	struct call *c = call_new(test);

	KUNIT_ASSERT_EQ(test, host_connect(c->h, "hello"), 0);
	c->peer = server_accept(c->server);
	KUNIT_ASSERT_NOT_NULL(test, c->peer);
	KUNIT_ASSERT_TRUE(test, peer_reads(test, c->peer, false, &c->request, c->private));
	return c;
}

static void call_end(struct kunit *test, struct call *c)
{
	host_expect_silence(test, c->h);
	weft_llp_close(&c->server->llp, true);
	if (c->peer)
		weft_llp_close(&c->peer->llp, true);
	host_free(test, c->h);
	KUNIT_EXPECT_EQ(test, fake_end(), 0U);
}

static u64 counted(struct call *c, enum weft_counter which)
{
	return weft_counter_sum(host_dev(c->h)->counters, which);
}

/* A connection that comes about, and is ended by each end. */
static void cm_connect(struct kunit *test)
{
	struct call *c;
	const struct host_event *e;

	for (int by_peer = 0; by_peer < 2; by_peer++) {
		c = called(test);
		KUNIT_EXPECT_EQ(test, c->request.revision, 2);
		KUNIT_EXPECT_EQ(test, c->request.ird, 2);
		KUNIT_EXPECT_EQ(test, c->request.ord, 2);
		KUNIT_EXPECT_EQ(test, memcmp(c->private, "hello", 5), 0);
		KUNIT_EXPECT_EQ(test, c->request.private_len, 5);
		KUNIT_EXPECT_EQ(test, c->h->refs, 1);
		/* Nothing is said before the peer has answered. */
		KUNIT_EXPECT_EQ(test, c->h->events, 0U);
		peer_sends(test, c->peer, &a_reply, "welcome");
		KUNIT_EXPECT_EQ(test, (int)host_state(c->h), (int)WEFT_CONN_STREAMING);
		e = host_next(c->h);
		KUNIT_ASSERT_NOT_NULL(test, e);
		KUNIT_EXPECT_EQ(test, e->event, (int)IW_CM_EVENT_CONNECT_REPLY);
		KUNIT_EXPECT_EQ(test, e->status, 0);
		KUNIT_EXPECT_EQ(test, e->private_len, 7);
		KUNIT_EXPECT_EQ(test, memcmp(e->private, "welcome", 7), 0);
		KUNIT_EXPECT_EQ(test, weft_qp_state(host_qp(c->h)), IB_QPS_RTS);
		KUNIT_EXPECT_EQ(test, counted(c, WEFT_CNT_CONN_OPENED), 1ULL);

		if (by_peer) {
			weft_llp_shutdown(&c->peer->llp);
			settle();
			host_expect(test, c->h, IW_CM_EVENT_DISCONNECT, 0);
		} else {
			KUNIT_EXPECT_EQ(test, weft_engine_drain(host_qp(c->h)), 0);
			settle();
		}
		host_expect(test, c->h, IW_CM_EVENT_CLOSE, 0);
		KUNIT_EXPECT_EQ(test, c->h->refs, 0);
		KUNIT_EXPECT_EQ(test, weft_qp_state(host_qp(c->h)), IB_QPS_ERR);
		call_end(test, c);
	}
}

/* A connection that breaks says so, once. */
static void cm_broken(struct kunit *test)
{
	struct call *c = called(test);

	peer_sends(test, c->peer, &a_reply, "");
	host_expect(test, c->h, IW_CM_EVENT_CONNECT_REPLY, 0);
	weft_llp_close(&c->peer->llp, true);
	c->peer = NULL;
	settle();
	host_expect(test, c->h, IW_CM_EVENT_CLOSE, -ECONNRESET);
	KUNIT_EXPECT_EQ(test, counted(c, WEFT_CNT_CONN_BROKEN), 1ULL);
	call_end(test, c);
}

/* A stream that dies behind the peer's Reply: iw_cm keeps addresses that iwpmd knows. */
static void cm_reply_then_dead(struct kunit *test)
{
	struct call *c = called(test);
	struct weft_conn *conn = host_conn(c->h);
	const struct host_event *e;

	weft_baton_lock(&conn->lock);
	peer_sends(test, c->peer, &a_reply, "");
	fake_die(to_fake(conn->llp), -ECONNRESET);
	weft_conn_unlock(conn);
	settle();
	e = host_next(c->h);
	KUNIT_ASSERT_NOT_NULL(test, e);
	KUNIT_EXPECT_EQ(test, e->event, (int)IW_CM_EVENT_CONNECT_REPLY);
	KUNIT_EXPECT_EQ(test, e->status, 0);
	KUNIT_EXPECT_TRUE(test, e->named);
	host_expect(test, c->h, IW_CM_EVENT_CLOSE, -ECONNRESET);
	call_end(test, c);
}

/* An operator sees a connection while its lane, or a process that ends it, has the mutex. */
static void cm_shown_while_served(struct kunit *test)
{
	struct weft_conn_info *info = zeroed(test, sizeof(*info));
	struct call *c = called(test);
	struct weft_conn *conn;

	peer_sends(test, c->peer, &a_reply, "");
	host_expect(test, c->h, IW_CM_EVENT_CONNECT_REPLY, 0);
	conn = host_conn(c->h);
	weft_conn_get(conn);
	weft_baton_lock(&conn->lock);
	weft_conn_info(conn, info);
	weft_baton_unlock(&conn->lock);
	KUNIT_EXPECT_STREQ(test, info->state, "streaming");
	KUNIT_EXPECT_EQ(test, (int)info->local.ss_family, AF_INET);
	KUNIT_EXPECT_EQ(test, weft_addr_port(&info->remote), HOST_PORT);
	/* Without a stream there is none to look at. */
	weft_llp_close(&c->peer->llp, true);
	c->peer = NULL;
	settle();
	host_expect(test, c->h, IW_CM_EVENT_CLOSE, -ECONNRESET);
	weft_conn_info(conn, info);
	KUNIT_EXPECT_STREQ(test, info->state, "closed");
	KUNIT_EXPECT_EQ(test, (int)info->local.ss_family, 0);
	weft_conn_put(conn);
	call_end(test, c);
}

/* The connection that show() looks at, and what it is shown. */
static struct {
	struct weft_conn *conn;
	struct weft_conn_info info;
} shown;

static void show(struct weft_llp *llp)
{
	weft_conn_info(shown.conn, &shown.info);
}

/*
 * The stream of several paths may end its first one as soon as that is its own: nobody is shown the
 * first from there on.
 */
static void cm_shown_while_spread(struct kunit *test)
{
	struct weft_mpa_agreed agreed = { .paths = true, .crc = true };
	static const struct weft_transport spreading = {
		.name = "spreading", .class = &fake_class, .spread = weft_paths_begin,
	};
	struct call *c = called(test);

	KUNIT_ASSERT_EQ(test, weft_transport_register(&spreading), 0);
	KUNIT_ASSERT_EQ(test, weft_transport_choose(&host_dev(c->h)->transports, "spreading"), 0);
	shown.conn = host_conn(c->h);
	weft_baton_lock(&shown.conn->lock);
	fake_adopted = show;
	KUNIT_EXPECT_EQ(test, weft_conn_spread(shown.conn, &agreed), 0);
	fake_adopted = NULL;
	KUNIT_EXPECT_EQ(test, (int)shown.info.local.ss_family, 0);
	weft_conn_info(shown.conn, &shown.info);
	KUNIT_EXPECT_EQ(test, (int)shown.info.local.ss_family, AF_INET);
	weft_conn_unlock(shown.conn);
	host_dev(c->h)->transports = (struct weft_transports){ .chosen = &fake_transport };
	weft_transport_unregister(&spreading);
	call_end(test, c);
}

/* Connects that return an error are told nothing else. */
static void cm_connect_fails_at_once(struct kunit *test)
{
	struct call *c = call_new(test);
	struct iw_cm_conn_param param = { .ird = 2, .ord = 2, .qpn = 17 };

	fake_faults.open = -EMFILE;
	KUNIT_EXPECT_EQ(test, host_connect(c->h, ""), -EMFILE);
	fake_faults.open = 0;
	fake_faults.bind = -EACCES;
	KUNIT_EXPECT_EQ(test, host_connect(c->h, ""), -EACCES);
	param.qpn = 99;
	KUNIT_EXPECT_EQ(test, weft_iw_connect(&c->h->id, &param), -EINVAL);
	param.qpn = 17;
	param.ird = 100000;
	KUNIT_EXPECT_EQ(test, weft_iw_connect(&c->h->id, &param), -EINVAL);
	/* Somebody else's queue pair. */
	c->h->cm->qp = NULL;
	KUNIT_EXPECT_EQ(test, host_connect(c->h, ""), -EPERM);
	c->h->cm->qp = &host_qp(c->h)->ib;
	host_qp(c->h)->state = IB_QPS_RTS;
	KUNIT_EXPECT_EQ(test, host_connect(c->h, ""), -EINVAL);
	host_qp(c->h)->state = IB_QPS_INIT;
	settle();
	KUNIT_EXPECT_EQ(test, c->h->refs, 0);
	call_end(test, c);
}

/* A port that is taken in TCP's space is given up for any other. */
static void cm_connect_port_taken(struct kunit *test)
{
	struct call *c = call_new(test);
	struct sockaddr_in *from = (struct sockaddr_in *)&c->h->id.m_local_addr;

	from->sin_port = htons(1234);
	fake_faults.bind = -EADDRINUSE;
	KUNIT_EXPECT_EQ(test, host_connect(c->h, ""), 0);
	c->peer = server_accept(c->server);
	KUNIT_ASSERT_NOT_NULL(test, c->peer);
	KUNIT_EXPECT_EQ(test, ((struct sockaddr_in *)&c->peer->remote)->sin_port, 0);
	weft_llp_close(&c->peer->llp, true);
	c->peer = NULL;
	settle();
	c->peer = server_accept(c->server);
	if (c->peer)
		weft_llp_close(&c->peer->llp, true);
	c->peer = NULL;
	settle();
	host_expect(test, c->h, IW_CM_EVENT_CONNECT_REPLY, -ECONNRESET);
	call_end(test, c);
}

/* Errors of the network, and what they are called above. */
static void cm_connect_fails(struct kunit *test)
{
	static const struct {
		int error;
		int told;
		u8 counter;
	} cases[] = {
		{ -ECONNREFUSED, -ECONNREFUSED, WEFT_CNT_CONN_REFUSED_BY_PEER },
		{ -ETIMEDOUT, -ETIMEDOUT, WEFT_CNT_CONN_TIMED_OUT },
		{ -EHOSTUNREACH, -ETIMEDOUT, WEFT_CNT_CONN_TIMED_OUT },
		{ -ENETUNREACH, -ETIMEDOUT, WEFT_CNT_CONN_TIMED_OUT },
		{ -ECONNRESET, -ECONNRESET, WEFT_CNT_CONN_FAILED },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct call *c = call_new(test);

		/* Nobody listens there. */
		((struct sockaddr_in *)&c->h->id.m_remote_addr)->sin_port = htons(1);
		fake_faults.refused = cases[i].error;
		KUNIT_EXPECT_EQ(test, host_connect(c->h, ""), 0);
		settle();
		host_expect(test, c->h, IW_CM_EVENT_CONNECT_REPLY, cases[i].told);
		KUNIT_EXPECT_EQ(test, counted(c, cases[i].counter), 1ULL);
		KUNIT_EXPECT_EQ(test, weft_qp_state(host_qp(c->h)), IB_QPS_ERR);
		call_end(test, c);
	}
}

/* A peer that refuses says why. */
static void cm_refused(struct kunit *test)
{
	struct call *c = called(test);
	struct weft_mpa_frame reject = a_reply;
	const struct host_event *e;

	reject.reject = true;
	peer_sends(test, c->peer, &reject, "no");
	e = host_next(c->h);
	KUNIT_ASSERT_NOT_NULL(test, e);
	KUNIT_EXPECT_EQ(test, e->event, (int)IW_CM_EVENT_CONNECT_REPLY);
	KUNIT_EXPECT_EQ(test, e->status, -ECONNREFUSED);
	KUNIT_EXPECT_EQ(test, e->private_len, 2);
	KUNIT_EXPECT_EQ(test, memcmp(e->private, "no", 2), 0);
	KUNIT_EXPECT_EQ(test, counted(c, WEFT_CNT_CONN_REFUSED_BY_PEER), 1ULL);
	call_end(test, c);
}

/* A peer that hangs up on revision 2 is asked again with revision 1, and then no more. */
static void cm_revision_1(struct kunit *test)
{
	struct call *c = called(test);
	struct weft_mpa_frame reply = { .reply = true, .revision = 1, .crc = true };

	KUNIT_EXPECT_EQ(test, c->request.revision, 2);
	weft_llp_close(&c->peer->llp, true);
	c->peer = server_accept(c->server);
	KUNIT_ASSERT_NOT_NULL(test, c->peer);
	KUNIT_ASSERT_TRUE(test, peer_reads(test, c->peer, false, &c->request, c->private));
	KUNIT_EXPECT_EQ(test, c->request.revision, 1);
	KUNIT_EXPECT_EQ(test, memcmp(c->private, "hello", 5), 0);
	peer_sends(test, c->peer, &reply, "");
	host_expect(test, c->h, IW_CM_EVENT_CONNECT_REPLY, 0);
	weft_llp_shutdown(&c->peer->llp);
	settle();
	host_expect(test, c->h, IW_CM_EVENT_DISCONNECT, 0);
	host_expect(test, c->h, IW_CM_EVENT_CLOSE, 0);
	call_end(test, c);

	c = called(test);
	weft_llp_close(&c->peer->llp, true);
	c->peer = server_accept(c->server);
	KUNIT_ASSERT_NOT_NULL(test, c->peer);
	weft_llp_close(&c->peer->llp, true);
	settle();
	c->peer = NULL;
	KUNIT_EXPECT_PTR_EQ(test, server_accept(c->server), NULL);
	host_expect(test, c->h, IW_CM_EVENT_CONNECT_REPLY, -ECONNRESET);
	call_end(test, c);

	/* A second try that nobody pays for is none. */
	c = called(test);
	fake_faults.charge = -ENOMEM;
	weft_llp_close(&c->peer->llp, true);
	c->peer = NULL;
	settle();
	host_expect(test, c->h, IW_CM_EVENT_CONNECT_REPLY, -ENOMEM);
	call_end(test, c);
}

/* A Reject that knows nothing of enhanced setup, whatever its revision, asks for revision 1. */
static void cm_refused_as_of_old(struct kunit *test)
{
	struct weft_mpa_frame reject = { .reply = true, .crc = true, .reject = true };

	for (reject.revision = 1; reject.revision <= 2; reject.revision++) {
		struct call *c = called(test);

		peer_sends(test, c->peer, &reject, "not for us");
		weft_llp_close(&c->peer->llp, true);
		c->peer = server_accept(c->server);
		KUNIT_ASSERT_NOT_NULL(test, c->peer);
		KUNIT_ASSERT_TRUE(test, peer_reads(test, c->peer, false, &c->request, c->private));
		KUNIT_EXPECT_EQ(test, c->request.revision, 1);
		KUNIT_EXPECT_EQ(test, c->h->events, 0U);
		/* A second one is the application's. */
		peer_sends(test, c->peer, &(struct weft_mpa_frame){ .reply = true, .revision = 1,
			   .reject = true }, "no");
		host_expect(test, c->h, IW_CM_EVENT_CONNECT_REPLY, -ECONNREFUSED);
		KUNIT_EXPECT_EQ(test, memcmp(c->h->log[0].private, "no", 3), 0);
		call_end(test, c);
	}
}

/* A Reply on terms that were not asked for: the peer, who is in operation, is told. */
static void cm_disagreed(struct kunit *test)
{
	struct call *c = called(test);
	struct weft_mpa_frame reply = a_reply;
	u8 *buf = c->private;
	int n;

	reply.ord = 9;	/* more than our IRD */
	peer_sends(test, c->peer, &reply, "");
	host_expect(test, c->h, IW_CM_EVENT_CONNECT_REPLY, -EPROTO);
	KUNIT_EXPECT_EQ(test, (int)host_state(c->h), (int)WEFT_CONN_CLOSING);
	n = c->peer->llp.class->recv(&c->peer->llp, buf, WEFT_MPA_MAX_PRIVATE);
	KUNIT_ASSERT_GT(test, n, 20);
	KUNIT_EXPECT_EQ(test, buf[3] & 0xf, WEFT_RDMAP_TERMINATE);
	/* And our end of the stream behind it. */
	KUNIT_EXPECT_TRUE(test, c->peer->ended);
	weft_llp_shutdown(&c->peer->llp);
	KUNIT_EXPECT_EQ(test, (int)host_state(c->h), (int)WEFT_CONN_CLOSED);
	call_end(test, c);

	/* A peer that wants markers gets them there, too. */
	c = called(test);
	reply.markers = true;
	peer_sends(test, c->peer, &reply, "");
	host_expect(test, c->h, IW_CM_EVENT_CONNECT_REPLY, -EPROTO);
	n = c->peer->llp.class->recv(&c->peer->llp, c->private, WEFT_MPA_MAX_PRIVATE);
	KUNIT_ASSERT_GT(test, n, 20);
	KUNIT_EXPECT_EQ(test, weft_get_be32(c->private), 0U);
	KUNIT_EXPECT_EQ(test, c->private[WEFT_MARKER_LEN + 3] & 0xf, WEFT_RDMAP_TERMINATE);
	KUNIT_EXPECT_EQ(test, (u32)n, weft_fpdu_len_marked(weft_get_be16(c->private +
									 WEFT_MARKER_LEN), 0));
	KUNIT_EXPECT_TRUE(test, weft_crc_good(c->private + n - WEFT_CRC_LEN,
					      weft_crc_update(WEFT_CRC_SEED, c->private,
							      n - WEFT_CRC_LEN)));
	weft_llp_shutdown(&c->peer->llp);
	call_end(test, c);
}

/* A queue pair that is gone before the answer, and an application's that fails amidst it. */
static void cm_qp_gone(struct kunit *test)
{
	struct call *c = called(test);

	weft_engine_error(host_qp(c->h));
	settle();
	host_expect(test, c->h, IW_CM_EVENT_CONNECT_REPLY, -ECONNABORTED);
	KUNIT_EXPECT_EQ(test, (int)host_state(c->h), (int)WEFT_CONN_CLOSED);
	call_end(test, c);
}

/* iw_cm cannot copy private data for want of memory: it is told without. */
static void cm_no_memory(struct kunit *test)
{
	struct call *c = called(test);
	const struct host_event *e;

	c->h->lossy = 1;
	peer_sends(test, c->peer, &a_reply, "welcome");
	e = host_next(c->h);
	KUNIT_ASSERT_NOT_NULL(test, e);
	KUNIT_EXPECT_EQ(test, e->event, (int)IW_CM_EVENT_CONNECT_REPLY);
	KUNIT_EXPECT_EQ(test, e->private_len, 0);
	weft_engine_drain(host_qp(c->h));
	settle();
	host_expect(test, c->h, IW_CM_EVENT_CLOSE, 0);
	call_end(test, c);
}

/* --- the end that a connection comes to --- */

struct visit {
	struct host *h;
	struct iw_cm_id listener;
	struct iw_cm_id id;
	struct fake *peer;
	u8 *private;
};

static struct visit *visit_new(struct kunit *test)
{
	struct visit *v = zeroed(test, sizeof(*v));

	v->private = zeroed(test, WEFT_MPA_MAX_PRIVATE);
	fake_begin();
	v->h = host_new(test);
	host_id(v->h, &v->listener);
	KUNIT_ASSERT_EQ(test, host_listen(v->h, &v->listener, "10.0.0.1", 5), 0);
	KUNIT_EXPECT_EQ(test, v->h->refs, 1);
	v->peer = host_call("10.0.0.1");
	KUNIT_ASSERT_NOT_NULL(test, v->peer);
	settle();
	return v;
}

static void visit_end(struct kunit *test, struct visit *v)
{
	host_expect_silence(test, v->h);
	weft_iw_destroy_listen(&v->listener);
	if (v->peer)
		weft_llp_close(&v->peer->llp, true);
	host_free(test, v->h);
	KUNIT_EXPECT_EQ(test, fake_end(), 0U);
}

/* The Request was announced; prepares the identifier that answers it. */
static void expect_request(struct kunit *test, struct visit *v)
{
	const struct host_event *e = host_next(v->h);

	KUNIT_ASSERT_NOT_NULL(test, e);
	KUNIT_EXPECT_EQ(test, e->event, (int)IW_CM_EVENT_CONNECT_REQUEST);
	KUNIT_EXPECT_EQ(test, e->ird, 2);
	KUNIT_EXPECT_EQ(test, e->ord, 2);
	KUNIT_EXPECT_EQ(test, memcmp(e->private, "hello", 5), 0);
	KUNIT_EXPECT_PTR_NE(test, e->provider_data, NULL);
	host_id(v->h, &v->id);
	v->id.provider_data = e->provider_data;
}

static int accept(struct visit *v, u32 qpn)
{
	struct iw_cm_conn_param param = { .private_data = "welcome", .private_data_len = 7,
		.ird = 2, .ord = 2, .qpn = qpn };

	return weft_iw_accept(&v->id, &param);
}

static void cm_accept(struct kunit *test)
{
	struct visit *v = visit_new(test);
	struct weft_mpa_frame reply;

	peer_sends(test, v->peer, &a_request, "hello");
	expect_request(test, v);
	KUNIT_EXPECT_EQ(test, accept(v, 17), 0);
	host_expect(test, v->h, IW_CM_EVENT_ESTABLISHED, 0);
	KUNIT_ASSERT_TRUE(test, peer_reads(test, v->peer, true, &reply, v->private));
	KUNIT_EXPECT_FALSE(test, reply.reject);
	KUNIT_EXPECT_TRUE(test, reply.p2p);
	KUNIT_EXPECT_EQ(test, memcmp(v->private, "welcome", 7), 0);
	KUNIT_EXPECT_EQ(test, v->h->refs, 2);
	/* An answer is given once. */
	KUNIT_EXPECT_EQ(test, accept(v, 17), -ECONNRESET);
	weft_llp_shutdown(&v->peer->llp);
	settle();
	host_expect(test, v->h, IW_CM_EVENT_DISCONNECT, 0);
	host_expect(test, v->h, IW_CM_EVENT_CLOSE, 0);
	KUNIT_EXPECT_EQ(test, v->h->refs, 1);
	visit_end(test, v);
}

/* The initiator that agreed to show that it is in operation does not. */
static void cm_accept_no_ready(struct kunit *test)
{
	struct visit *v = visit_new(test);

	peer_sends(test, v->peer, &a_request, "hello");
	expect_request(test, v);
	KUNIT_EXPECT_EQ(test, accept(v, 17), 0);
	host_expect(test, v->h, IW_CM_EVENT_ESTABLISHED, 0);
	settle();
	host_expire(v->h);
	host_expect(test, v->h, IW_CM_EVENT_CLOSE, -ECONNRESET);
	visit_end(test, v);
}

/* An accept that fails is final, and the peer learns of it. */
static void cm_accept_fails(struct kunit *test)
{
	static const struct {
		u32 qpn;
		int charge;
		int ret;
	} cases[] = {
		{ 99, 0, -EINVAL },
		{ 17, -ENOMEM, -ENOMEM },
	};
	struct weft_mpa_frame reply;

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct visit *v = visit_new(test);

		peer_sends(test, v->peer, &a_request, "hello");
		expect_request(test, v);
		fake_faults.charge = cases[i].charge;
		KUNIT_EXPECT_EQ(test, accept(v, cases[i].qpn), cases[i].ret);
		KUNIT_ASSERT_TRUE(test, peer_reads(test, v->peer, true, &reply, v->private));
		KUNIT_EXPECT_TRUE(test, reply.reject);
		KUNIT_EXPECT_EQ(test, (int)host_state(v->h), (int)WEFT_CONN_CLOSED);
		KUNIT_EXPECT_EQ(test, v->h->refs, 1);
		visit_end(test, v);
	}
}

static void cm_reject(struct kunit *test)
{
	struct visit *v = visit_new(test);
	struct weft_mpa_frame reply;

	peer_sends(test, v->peer, &a_request, "hello");
	expect_request(test, v);
	KUNIT_EXPECT_EQ(test, weft_iw_reject(&v->id, "no", 2), 0);
	KUNIT_ASSERT_TRUE(test, peer_reads(test, v->peer, true, &reply, v->private));
	KUNIT_EXPECT_TRUE(test, reply.reject);
	KUNIT_EXPECT_EQ(test, reply.private_len, 2);
	KUNIT_EXPECT_EQ(test, memcmp(v->private, "no", 2), 0);
	KUNIT_EXPECT_TRUE(test, v->peer->ended);
	KUNIT_EXPECT_EQ(test, weft_iw_reject(&v->id, NULL, 0), -ECONNRESET);
	visit_end(test, v);
}

/* A Reject that TCP had no memory for at first still goes out. */
static void cm_reject_without_memory(struct kunit *test)
{
	struct visit *v = visit_new(test);
	struct weft_mpa_frame reply;

	peer_sends(test, v->peer, &a_request, "hello");
	expect_request(test, v);
	fake_faults.send = -EAGAIN;
	KUNIT_EXPECT_EQ(test, weft_iw_reject(&v->id, NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, fake_faults.send, 0);
	KUNIT_EXPECT_TRUE(test, peer_reads(test, v->peer, true, &reply, v->private));
	KUNIT_EXPECT_TRUE(test, reply.reject);
	visit_end(test, v);
}

/* A peer that wants markers gets them: the first before the first FPDU. */
static void cm_markers(struct kunit *test)
{
	struct weft_mpa_frame request = a_request, reply = a_reply;
	struct call *c = called(test);
	struct visit *v;
	int n;

	reply.markers = true;
	peer_sends(test, c->peer, &reply, "");
	host_expect(test, c->h, IW_CM_EVENT_CONNECT_REPLY, 0);
	n = c->peer->llp.class->recv(&c->peer->llp, c->private, WEFT_MPA_MAX_PRIVATE);
	/* The ready-to-receive frame is an empty Write. */
	KUNIT_EXPECT_EQ(test, n, 24);
	KUNIT_EXPECT_EQ(test, weft_get_be32(c->private), 0U);
	KUNIT_EXPECT_EQ(test, weft_get_be16(c->private + WEFT_MARKER_LEN), 14);
	weft_llp_shutdown(&c->peer->llp);
	settle();
	host_expect(test, c->h, IW_CM_EVENT_DISCONNECT, 0);
	host_expect(test, c->h, IW_CM_EVENT_CLOSE, 0);
	call_end(test, c);

	v = visit_new(test);
	request.markers = true;
	peer_sends(test, v->peer, &request, "hello");
	expect_request(test, v);
	KUNIT_EXPECT_EQ(test, accept(v, 17), 0);
	host_expect(test, v->h, IW_CM_EVENT_ESTABLISHED, 0);
	KUNIT_EXPECT_TRUE(test, host_qp(v->h)->agreed.marks_out);
	KUNIT_ASSERT_TRUE(test, peer_reads(test, v->peer, true, &reply, v->private));
	KUNIT_EXPECT_FALSE(test, reply.reject || reply.markers);
	weft_llp_shutdown(&v->peer->llp);
	settle();
	host_expect(test, v->h, IW_CM_EVENT_DISCONNECT, 0);
	host_expect(test, v->h, IW_CM_EVENT_CLOSE, 0);
	visit_end(test, v);
}

/* A peer that goes before it is answered is not there to be answered. */
static void cm_peer_gone(struct kunit *test)
{
	struct visit *v = visit_new(test);

	peer_sends(test, v->peer, &a_request, "hello");
	expect_request(test, v);
	weft_llp_shutdown(&v->peer->llp);
	settle();
	KUNIT_EXPECT_EQ(test, accept(v, 17), -ECONNRESET);
	KUNIT_EXPECT_EQ(test, weft_qp_state(host_qp(v->h)), IB_QPS_INIT);
	visit_end(test, v);
}

/* Requests that are refused whatever the application says are not announced. */
static void cm_not_announced(struct kunit *test)
{
	struct weft_mpa_frame request = a_request, reply;
	struct visit *v = visit_new(test);

	host_dev(v->h)->settings.value[WEFT_SET_CRC] = WEFT_CRC_REQUIRED;
	request.crc = false;
	peer_sends(test, v->peer, &request, "hello");
	KUNIT_ASSERT_TRUE(test, peer_reads(test, v->peer, true, &reply, v->private));
	KUNIT_EXPECT_TRUE(test, reply.reject);
	KUNIT_EXPECT_EQ(test, weft_counter_sum(host_dev(v->h)->counters,
					       WEFT_CNT_CONN_WITHOUT_CRC), 1ULL);
	visit_end(test, v);
}

/* A Request that comes byte by byte is one Request. */
static void cm_slow_request(struct kunit *test)
{
	struct visit *v = visit_new(test);

	to_fake(host_conn(v->h)->llp)->script.cut = 1;
	peer_sends(test, v->peer, &a_request, "hello");
	expect_request(test, v);
	KUNIT_EXPECT_EQ(test, weft_iw_reject(&v->id, NULL, 0), 0);
	settle();
	visit_end(test, v);
}

A_SUITE(cm, host, KUNIT_CASE(cm_connect), KUNIT_CASE(cm_broken), KUNIT_CASE(cm_reply_then_dead),
	KUNIT_CASE(cm_shown_while_served),
	KUNIT_CASE(cm_shown_while_spread), KUNIT_CASE(cm_connect_fails_at_once),
	KUNIT_CASE(cm_connect_port_taken), KUNIT_CASE(cm_connect_fails), KUNIT_CASE(cm_refused),
	KUNIT_CASE(cm_revision_1), KUNIT_CASE(cm_refused_as_of_old), KUNIT_CASE(cm_disagreed),
	KUNIT_CASE(cm_markers), KUNIT_CASE(cm_qp_gone), KUNIT_CASE(cm_no_memory),
	KUNIT_CASE(cm_accept), KUNIT_CASE(cm_accept_no_ready), KUNIT_CASE(cm_accept_fails),
	KUNIT_CASE(cm_reject), KUNIT_CASE(cm_reject_without_memory), KUNIT_CASE(cm_peer_gone),
	KUNIT_CASE(cm_not_announced), KUNIT_CASE(cm_slow_request));
