// SPDX-License-Identifier: GPL-2.0
/* What iw_cm is told, in which order, of connections that come about or do not. */
#include "base/address.h"
#include "conn/iwcm.h"
#include "hosts.h"
#include "paths/paths.h"

/* Connects, up to where the peer has the Request. */
static struct meeting *called(struct kunit *test)
{
	struct meeting *c = meeting_new(test, false);

	KUNIT_ASSERT_EQ(test, host_connect(c->h, "hello"), 0);
	meeting_accept(test, c);
	meeting_reads(test, c, false);
	return c;
}

/* The peer ends the stream in order, and so does the host. */
static void expect_closed(struct kunit *test, struct meeting *m)
{
	weft_llp_shutdown(&m->peer->llp);
	settle();
	host_expect(test, m->h, IW_CM_EVENT_DISCONNECT, 0);
	host_expect(test, m->h, IW_CM_EVENT_CLOSE, 0);
}

static void expect_private(struct kunit *test, const struct host_event *e, const char *text)
{
	KUNIT_EXPECT_EQ(test, (size_t)e->private_len, strlen(text));
	KUNIT_EXPECT_EQ(test, memcmp(e->private, text, strlen(text)), 0);
}

static u64 counted(struct meeting *c, enum weft_counter which)
{
	return weft_counter_sum(host_dev(c->h)->counters, which);
}

/* A connection that comes about, and is ended by each end. */
static void cm_connect(struct kunit *test)
{
	struct meeting *c;
	const struct host_event *e;

	for (int by_peer = 0; by_peer < 2; by_peer++) {
		c = called(test);
		KUNIT_EXPECT_EQ(test, c->frame.revision, 2);
		KUNIT_EXPECT_EQ(test, c->frame.ird, 2);
		KUNIT_EXPECT_EQ(test, c->frame.ord, 2);
		KUNIT_EXPECT_EQ(test, memcmp(c->private, "hello", 5), 0);
		KUNIT_EXPECT_EQ(test, c->frame.private_len, 5);
		KUNIT_EXPECT_EQ(test, c->h->refs, 1);
		/* Nothing is said before the peer has answered. */
		KUNIT_EXPECT_EQ(test, c->h->events, 0U);
		peer_sends(test, c->peer, &a_reply, "welcome");
		KUNIT_EXPECT_EQ(test, (int)host_state(c->h), (int)WEFT_CONN_STREAMING);
		e = host_expect(test, c->h, IW_CM_EVENT_CONNECT_REPLY, 0);
		expect_private(test, e, "welcome");
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
		end_now(test, c);
	}
}

/* A connection that breaks says so, once. */
CASE_WITH(cm_broken, struct meeting *c, called(test))
{
	peer_sends(test, c->peer, &a_reply, "");
	host_expect(test, c->h, IW_CM_EVENT_CONNECT_REPLY, 0);
	meeting_peer_goes(c);
	host_expect(test, c->h, IW_CM_EVENT_CLOSE, -ECONNRESET);
	KUNIT_EXPECT_EQ(test, counted(c, WEFT_CNT_CONN_BROKEN), 1ULL);
}

/* A stream that dies behind the peer's Reply: iw_cm keeps addresses that iwpmd knows. */
CASE_WITH(cm_reply_then_dead, struct meeting *c, called(test))
{
	struct weft_conn *conn = host_conn(c->h);
	const struct host_event *e;

	weft_baton_lock(&conn->lock);
	peer_sends(test, c->peer, &a_reply, "");
	fake_die(to_fake(conn->llp), -ECONNRESET);
	weft_conn_unlock(conn);
	settle();
	e = host_expect(test, c->h, IW_CM_EVENT_CONNECT_REPLY, 0);
	KUNIT_EXPECT_TRUE(test, e->named);
	host_expect(test, c->h, IW_CM_EVENT_CLOSE, -ECONNRESET);
}

/* An operator sees a connection while its lane, or a process that ends it, has the mutex. */
CASE_WITH(cm_shown_while_served, struct meeting *c, called(test))
{
	struct weft_conn_info *info = zeroed(test, sizeof(*info));
	struct weft_conn *conn;

	peer_sends(test, c->peer, &a_reply, "");
	host_expect(test, c->h, IW_CM_EVENT_CONNECT_REPLY, 0);
	conn = host_conn(c->h);
	kref_get(&conn->refs);
	weft_baton_lock(&conn->lock);
	weft_conn_info(conn, info);
	weft_baton_unlock(&conn->lock);
	KUNIT_EXPECT_STREQ(test, info->state, "streaming");
	KUNIT_EXPECT_EQ(test, (int)info->local.ss_family, AF_INET);
	KUNIT_EXPECT_EQ(test, weft_addr_port(&info->remote), HOST_PORT);
	/* Without a stream there is none to look at. */
	meeting_peer_goes(c);
	host_expect(test, c->h, IW_CM_EVENT_CLOSE, -ECONNRESET);
	weft_conn_info(conn, info);
	KUNIT_EXPECT_STREQ(test, info->state, "closed");
	KUNIT_EXPECT_EQ(test, (int)info->local.ss_family, 0);
	weft_conn_put(conn);
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

/* Nobody is shown the first path once several paths have it, which may end it at once. */
CASE_WITH(cm_shown_while_spread, struct meeting *c, called(test))
{
	struct weft_mpa_agreed agreed = { .paths = true, .crc = true };
	static const struct weft_transport spreading = {
		.name = "spreading", .class = &fake_class, .spread = weft_paths_begin,
	};

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
}

/* Connects that return an error are told nothing else. */
CASE_WITH(cm_connect_fails_at_once, struct meeting *c, meeting_new(test, false))
{
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
}

/* A port that is taken in TCP's space is given up for any other. */
CASE_WITH(cm_connect_port_taken, struct meeting *c, meeting_new(test, false))
{
	struct sockaddr_in *from = (struct sockaddr_in *)&c->h->id.m_local_addr;

	from->sin_port = htons(1234);
	fake_faults.bind = -EADDRINUSE;
	KUNIT_EXPECT_EQ(test, host_connect(c->h, ""), 0);
	meeting_accept(test, c);
	KUNIT_EXPECT_EQ(test, ((struct sockaddr_in *)&c->peer->remote)->sin_port, 0);
	meeting_peer_goes(c);
	c->peer = server_accept(c->server);
	if (c->peer)
		meeting_peer_goes(c);
	host_expect(test, c->h, IW_CM_EVENT_CONNECT_REPLY, -ECONNRESET);
}

/* Errors of the network, and what they are called above. */
static void cm_connect_fails(struct kunit *test)
{
	static const struct {
		int error, told;
		u8 counter;
	} cases[] = {
		{ -ECONNREFUSED, -ECONNREFUSED, WEFT_CNT_CONN_REFUSED_BY_PEER },
		{ -ETIMEDOUT, -ETIMEDOUT, WEFT_CNT_CONN_TIMED_OUT },
		{ -EHOSTUNREACH, -ETIMEDOUT, WEFT_CNT_CONN_TIMED_OUT },
		{ -ENETUNREACH, -ETIMEDOUT, WEFT_CNT_CONN_TIMED_OUT },
		{ -ECONNRESET, -ECONNRESET, WEFT_CNT_CONN_FAILED },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct meeting *c = meeting_new(test, false);

		/* Nobody listens there. */
		((struct sockaddr_in *)&c->h->id.m_remote_addr)->sin_port = htons(1);
		fake_faults.refused = cases[i].error;
		KUNIT_EXPECT_EQ(test, host_connect(c->h, ""), 0);
		settle();
		host_expect(test, c->h, IW_CM_EVENT_CONNECT_REPLY, cases[i].told);
		KUNIT_EXPECT_EQ(test, counted(c, cases[i].counter), 1ULL);
		KUNIT_EXPECT_EQ(test, weft_qp_state(host_qp(c->h)), IB_QPS_ERR);
		end_now(test, c);
	}
}

CASE_WITH(cm_refused, struct meeting *c, called(test))
{
	struct weft_mpa_frame reject = a_reply;
	const struct host_event *e;

	reject.reject = true;
	peer_sends(test, c->peer, &reject, "no");
	e = host_expect(test, c->h, IW_CM_EVENT_CONNECT_REPLY, -ECONNREFUSED);
	expect_private(test, e, "no");
	KUNIT_EXPECT_EQ(test, counted(c, WEFT_CNT_CONN_REFUSED_BY_PEER), 1ULL);
}

/* A peer that hangs up on revision 2 is asked again with revision 1, and then no more. */
CASE_WITH(cm_revision_1, struct meeting *c, called(test))
{
	struct weft_mpa_frame reply = { .reply = true, .revision = 1, .crc = true };

	KUNIT_EXPECT_EQ(test, c->frame.revision, 2);
	weft_llp_close(&c->peer->llp, true);
	meeting_accept(test, c);
	meeting_reads(test, c, false);
	KUNIT_EXPECT_EQ(test, c->frame.revision, 1);
	KUNIT_EXPECT_EQ(test, memcmp(c->private, "hello", 5), 0);
	peer_sends(test, c->peer, &reply, "");
	host_expect(test, c->h, IW_CM_EVENT_CONNECT_REPLY, 0);
	expect_closed(test, c);
	end_now(test, c);
	c = called(test);
	weft_llp_close(&c->peer->llp, true);
	meeting_accept(test, c);
	weft_llp_close(&c->peer->llp, true);
	settle();
	c->peer = NULL;
	KUNIT_EXPECT_PTR_EQ(test, server_accept(c->server), NULL);
	host_expect(test, c->h, IW_CM_EVENT_CONNECT_REPLY, -ECONNRESET);
	end_now(test, c);
	/* A second try that nobody pays for is none. */
	c = called(test);
	fake_faults.charge = -ENOMEM;
	meeting_peer_goes(c);
	host_expect(test, c->h, IW_CM_EVENT_CONNECT_REPLY, -ENOMEM);
}

/* A Reject that knows nothing of enhanced setup, whatever its revision, asks for revision 1. */
static void cm_refused_as_of_old(struct kunit *test)
{
	struct weft_mpa_frame reject = { .reply = true, .crc = true, .reject = true };

	for (reject.revision = 1; reject.revision <= 2; reject.revision++) {
		struct meeting *c = called(test);

		peer_sends(test, c->peer, &reject, "not for us");
		weft_llp_close(&c->peer->llp, true);
		meeting_accept(test, c);
		meeting_reads(test, c, false);
		KUNIT_EXPECT_EQ(test, c->frame.revision, 1);
		KUNIT_EXPECT_EQ(test, c->h->events, 0U);
		/* A second one is the application's. */
		peer_sends(test, c->peer, &(struct weft_mpa_frame){ .reply = true, .revision = 1,
			   .reject = true }, "no");
		host_expect(test, c->h, IW_CM_EVENT_CONNECT_REPLY, -ECONNREFUSED);
		KUNIT_EXPECT_EQ(test, memcmp(c->h->log[0].private, "no", 3), 0);
		end_now(test, c);
	}
}

/* A Reply on terms that were not asked for: the peer, who is in operation, is told. */
CASE_WITH(cm_disagreed, struct meeting *c, called(test))
{
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
	end_now(test, c);
	/* A peer that wants markers gets them there, too. */
	c = called(test);
	reply.markers = true;
	peer_sends(test, c->peer, &reply, "");
	host_expect(test, c->h, IW_CM_EVENT_CONNECT_REPLY, -EPROTO);
	n = c->peer->llp.class->recv(&c->peer->llp, c->private, WEFT_MPA_MAX_PRIVATE);
	KUNIT_ASSERT_GT(test, n, 20);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(c->private), 0U);
	KUNIT_EXPECT_EQ(test, c->private[WEFT_MARKER_LEN + 3] & 0xf, WEFT_RDMAP_TERMINATE);
	KUNIT_EXPECT_EQ(test, (u32)n, weft_fpdu_len_marked(get_unaligned_be16(c->private +
									 WEFT_MARKER_LEN), 0));
	KUNIT_EXPECT_TRUE(test, weft_crc_good(c->private + n - WEFT_CRC_LEN,
					      crc32c(WEFT_CRC_SEED, c->private,
						     n - WEFT_CRC_LEN)));
	weft_llp_shutdown(&c->peer->llp);
}

/* A queue pair that is gone before the answer, and an application's that fails amidst it. */
CASE_WITH(cm_qp_gone, struct meeting *c, called(test))
{
	weft_engine_error(host_qp(c->h));
	settle();
	host_expect(test, c->h, IW_CM_EVENT_CONNECT_REPLY, -ECONNABORTED);
	KUNIT_EXPECT_EQ(test, (int)host_state(c->h), (int)WEFT_CONN_CLOSED);
}

/* iw_cm cannot copy private data for want of memory: it is told without. */
CASE_WITH(cm_no_memory, struct meeting *c, called(test))
{
	const struct host_event *e;

	c->h->lossy = 1;
	peer_sends(test, c->peer, &a_reply, "welcome");
	e = host_expect(test, c->h, IW_CM_EVENT_CONNECT_REPLY, 0);
	KUNIT_EXPECT_EQ(test, e->private_len, 0);
	weft_engine_drain(host_qp(c->h));
	settle();
	host_expect(test, c->h, IW_CM_EVENT_CLOSE, 0);
}

/* --- the end that a connection comes to --- */

/* The Request was announced; prepares the identifier that answers it. */
static void expect_request(struct kunit *test, struct meeting *v)
{
	const struct host_event *e = host_expect(test, v->h, IW_CM_EVENT_CONNECT_REQUEST, 0);

	KUNIT_EXPECT_EQ(test, e->ird, 2);
	KUNIT_EXPECT_EQ(test, e->ord, 2);
	KUNIT_EXPECT_EQ(test, memcmp(e->private, "hello", 5), 0);
	KUNIT_EXPECT_PTR_NE(test, e->provider_data, NULL);
	meeting_announced(v, e);
}

/* A peer connects, up to where its Request was announced. */
static struct meeting *visited(struct kunit *test)
{
	struct meeting *v = meeting_new(test, true);

	KUNIT_EXPECT_EQ(test, v->h->refs, 1);
	peer_sends(test, v->peer, &a_request, "hello");
	expect_request(test, v);
	return v;
}

static int accept(struct meeting *v, u32 qpn)
{
	struct iw_cm_conn_param param = { .private_data = "welcome", .private_data_len = 7,
		.ird = 2, .ord = 2, .qpn = qpn };

	return weft_iw_accept(&v->id, &param);
}

CASE_WITH(cm_accept, struct meeting *v, visited(test))
{
	KUNIT_EXPECT_EQ(test, accept(v, 17), 0);
	host_expect(test, v->h, IW_CM_EVENT_ESTABLISHED, 0);
	meeting_reads(test, v, true);
	KUNIT_EXPECT_FALSE(test, v->frame.reject);
	KUNIT_EXPECT_TRUE(test, v->frame.p2p);
	KUNIT_EXPECT_EQ(test, memcmp(v->private, "welcome", 7), 0);
	KUNIT_EXPECT_EQ(test, v->h->refs, 2);
	/* An answer is given once. */
	KUNIT_EXPECT_EQ(test, accept(v, 17), -ECONNRESET);
	expect_closed(test, v);
	KUNIT_EXPECT_EQ(test, v->h->refs, 1);
}

/* The initiator that agreed to show that it is in operation does not. */
CASE_WITH(cm_accept_no_ready, struct meeting *v, visited(test))
{
	KUNIT_EXPECT_EQ(test, accept(v, 17), 0);
	host_expect(test, v->h, IW_CM_EVENT_ESTABLISHED, 0);
	settle();
	host_expire(v->h);
	host_expect(test, v->h, IW_CM_EVENT_CLOSE, -ECONNRESET);
}

/* An accept that fails is final, and the peer learns of it. */
static void cm_accept_fails(struct kunit *test)
{
	static const struct {
		u32 qpn;
		int charge, ret;
	} cases[] = {
		{ 99, 0, -EINVAL }, { 17, -ENOMEM, -ENOMEM },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct meeting *v = visited(test);

		fake_faults.charge = cases[i].charge;
		KUNIT_EXPECT_EQ(test, accept(v, cases[i].qpn), cases[i].ret);
		meeting_reads(test, v, true);
		KUNIT_EXPECT_TRUE(test, v->frame.reject);
		KUNIT_EXPECT_EQ(test, (int)host_state(v->h), (int)WEFT_CONN_CLOSED);
		KUNIT_EXPECT_EQ(test, v->h->refs, 1);
		end_now(test, v);
	}
}

CASE_WITH(cm_reject, struct meeting *v, visited(test))
{
	KUNIT_EXPECT_EQ(test, weft_iw_reject(&v->id, "no", 2), 0);
	meeting_reads(test, v, true);
	KUNIT_EXPECT_TRUE(test, v->frame.reject);
	KUNIT_EXPECT_EQ(test, v->frame.private_len, 2);
	KUNIT_EXPECT_EQ(test, memcmp(v->private, "no", 2), 0);
	KUNIT_EXPECT_TRUE(test, v->peer->ended);
	KUNIT_EXPECT_EQ(test, weft_iw_reject(&v->id, NULL, 0), -ECONNRESET);
}

/* A Reject that TCP had no memory for at first still goes out. */
CASE_WITH(cm_reject_without_memory, struct meeting *v, visited(test))
{
	fake_faults.send = -EAGAIN;
	KUNIT_EXPECT_EQ(test, weft_iw_reject(&v->id, NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, fake_faults.send, 0);
	meeting_reads(test, v, true);
	KUNIT_EXPECT_TRUE(test, v->frame.reject);
}

/* A peer that wants markers gets them: the first before the first FPDU. */
CASE_WITH(cm_markers, struct meeting *c, called(test))
{
	struct weft_mpa_frame request = a_request, reply = a_reply;
	struct meeting *v;
	int n;

	reply.markers = true;
	peer_sends(test, c->peer, &reply, "");
	host_expect(test, c->h, IW_CM_EVENT_CONNECT_REPLY, 0);
	n = c->peer->llp.class->recv(&c->peer->llp, c->private, WEFT_MPA_MAX_PRIVATE);
	/* The ready-to-receive frame is an empty Write. */
	KUNIT_EXPECT_EQ(test, n, 24);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(c->private), 0U);
	KUNIT_EXPECT_EQ(test, get_unaligned_be16(c->private + WEFT_MARKER_LEN), 14);
	expect_closed(test, c);
	end_now(test, c);
	v = meeting_new(test, true);
	request.markers = true;
	peer_sends(test, v->peer, &request, "hello");
	expect_request(test, v);
	KUNIT_EXPECT_EQ(test, accept(v, 17), 0);
	host_expect(test, v->h, IW_CM_EVENT_ESTABLISHED, 0);
	KUNIT_EXPECT_TRUE(test, host_qp(v->h)->agreed.marks_out);
	meeting_reads(test, v, true);
	KUNIT_EXPECT_FALSE(test, v->frame.reject || v->frame.markers);
	expect_closed(test, v);
}

/* A peer that goes before it is answered is not there to be answered. */
CASE_WITH(cm_peer_gone, struct meeting *v, visited(test))
{
	weft_llp_shutdown(&v->peer->llp);
	settle();
	KUNIT_EXPECT_EQ(test, accept(v, 17), -ECONNRESET);
	KUNIT_EXPECT_EQ(test, weft_qp_state(host_qp(v->h)), IB_QPS_INIT);
}

/* Requests that are refused whatever the application says are not announced. */
CASE_WITH(cm_not_announced, struct meeting *v, meeting_new(test, true))
{
	struct weft_mpa_frame request = a_request;

	host_dev(v->h)->settings.value[WEFT_SET_CRC] = WEFT_CRC_REQUIRED;
	request.crc = false;
	peer_sends(test, v->peer, &request, "hello");
	meeting_reads(test, v, true);
	KUNIT_EXPECT_TRUE(test, v->frame.reject);
	KUNIT_EXPECT_EQ(test, weft_counter_sum(host_dev(v->h)->counters,
					       WEFT_CNT_CONN_WITHOUT_CRC), 1ULL);
}

/* A Request that comes byte by byte is one Request. */
CASE_WITH(cm_slow_request, struct meeting *v, meeting_new(test, true))
{
	to_fake(host_conn(v->h)->llp)->script.cut = 1;
	peer_sends(test, v->peer, &a_request, "hello");
	expect_request(test, v);
	KUNIT_EXPECT_EQ(test, weft_iw_reject(&v->id, NULL, 0), 0);
	settle();
}

A_SUITE(cm, host, cm_connect, cm_broken, cm_reply_then_dead, cm_shown_while_served,
	cm_shown_while_spread, cm_connect_fails_at_once, cm_connect_port_taken, cm_connect_fails,
	cm_refused, cm_revision_1, cm_refused_as_of_old, cm_disagreed, cm_markers, cm_qp_gone,
	cm_no_memory, cm_accept, cm_accept_no_ready, cm_accept_fails, cm_reject,
	cm_reject_without_memory, cm_peer_gone, cm_not_announced, cm_slow_request);
