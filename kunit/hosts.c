// SPDX-License-Identifier: GPL-2.0
/* Hosts whose connections are made over fake streams; see hosts.h. */
#include <linux/inet.h>

#include "hosts.h"

/* What a peer asks and answers: revision 2, CRCs, two reads, an indication by a Write. */
const struct weft_mpa_frame a_request = {
	.revision = 2, .crc = true, .enhanced = true, .p2p = true,
	.rtr = WEFT_RTR_WRITE | WEFT_RTR_READ, .ird = 2, .ord = 2,
};

const struct weft_mpa_frame a_reply = {
	.reply = true, .revision = 2, .crc = true, .enhanced = true, .p2p = true,
	.rtr = WEFT_RTR_WRITE, .ird = 2, .ord = 2,
};

static struct host *of_id(struct iw_cm_id *id)
{
	const struct rdma_cm_id *cm = id->context;

	return cm->context;
}

static int note(struct iw_cm_id *id, struct iw_cm_event *event)
{
	struct host *h = of_id(id);
	struct host_event *e = &h->log[h->events];

	if (h->lossy) {
		h->lossy--;
		return -ENOMEM;
	}
	if (event->event == IW_CM_EVENT_CONNECT_REQUEST && h->refuses)
		return h->refuses;
	if (h->events == HOST_EVENTS)
		return -ENOMEM;
	*e = (struct host_event){
		.event = event->event, .status = event->status, .ird = event->ird,
		.ord = event->ord, .provider_data = event->provider_data,
		.named = event->local_addr.ss_family && event->remote_addr.ss_family,
		.private_len = event->private_data_len,
	};
	if (event->private_data_len)
		memcpy(e->private, event->private_data, event->private_data_len);
	h->events++;
	return 0;
}

static void get(struct iw_cm_id *id)
{
	of_id(id)->refs++;
}

static void put(struct iw_cm_id *id)
{
	of_id(id)->refs--;
}

static void address(struct sockaddr_storage *to, const char *text, u16 port)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)to;

	memset(to, 0, sizeof(*to));
	v4->sin_family = AF_INET;
	v4->sin_port = htons(port);
	v4->sin_addr.s_addr = in_aton(text);
}

void host_id(struct host *h, struct iw_cm_id *id)
{
	memset(id, 0, sizeof(*id));
	id->context = h->cm;
	id->device = &h->b->dev.ib;
	id->event_handler = note;
	id->add_ref = get;
	id->rem_ref = put;
	address(&id->m_local_addr, "10.0.0.1", 0);
	address(&id->m_remote_addr, "10.0.0.2", HOST_PORT);
	id->local_addr = id->m_local_addr;
	id->remote_addr = id->m_remote_addr;
}

/* Makes a host whose queue pair is in INIT. */
struct host *host_new(struct kunit *test)
{
	struct host *h = zeroed(test, sizeof(*h));
	struct weft_device *dev;
	struct weft_qp *qp;

	h->b = bench_make(test, 0);
	h->cm = zeroed(test, sizeof(*h->cm));
	dev = &h->b->dev;
	qp = &h->b->engine.qp;
	INIT_LIST_HEAD(&dev->conns);
	hash_init(dev->conns_by_cm);
	spin_lock_init(&dev->conns_lock);
	weft_settings_init(&dev->settings);
	dev->transports.chosen = &fake_transport;
	dev->netdev = init_net.loopback_dev;
	dev->lane = must(test, weft_lane_new());
	dev->counters = must(test, alloc_percpu(struct weft_counters));
	/* A queue pair of the kernel's, which rdma_cm has made for this identifier. */
	qp->owner = NULL;
	h->cm->context = h;
	h->cm->qp = &qp->ib;
	h->cm->route.addr.dev_addr.net = &init_net;
	KUNIT_ASSERT_FALSE(test, xa_is_err(xa_store(&dev->qps, qp->acc.qpn, qp->entry,
						    GFP_KERNEL)));
	host_id(h, &h->id);
	bench_idle(h->b);
	return h;
}

/* Ends the device's connections, and the device. */
void host_free(struct kunit *test, struct host *h)
{
	weft_conn_stop_all(&h->b->dev);
	settle();
	KUNIT_EXPECT_EQ(test, h->refs, 0);
	KUNIT_EXPECT_PTR_EQ(test, h->b->engine.qp.user, NULL);
	KUNIT_EXPECT_EQ(test, kref_read(&h->b->entry.refs), 1U);
	teardown(test, h->b);
	weft_lane_put(h->b->dev.lane);
	free_percpu(h->b->dev.counters);
}

/* What iw_cm was told next is this. */
const struct host_event *host_expect(struct kunit *test, struct host *h, int event, int status)
{
	const struct host_event *e = &h->log[h->seen];

	KUNIT_ASSERT_LT_MSG(test, h->seen, h->events, "event %d is missing", event);
	h->seen++;
	KUNIT_EXPECT_EQ(test, e->event, event);
	KUNIT_EXPECT_EQ(test, e->status, status);
	return e;
}

void host_expect_silence(struct kunit *test, struct host *h)
{
	KUNIT_EXPECT_EQ(test, h->seen, h->events);
	h->seen = h->events;
}

/* The device's newest connection, without a reference; NULL: it has none. */
struct weft_conn *host_conn(struct host *h)
{
	struct weft_device *dev = &h->b->dev;
	struct weft_conn *conn = NULL;

	spin_lock(&dev->conns_lock);
	if (!list_empty(&dev->conns))
		conn = list_last_entry(&dev->conns, struct weft_conn, entry);
	spin_unlock(&dev->conns_lock);
	return conn;
}

/* Its state; CLOSED if there is none. */
enum weft_conn_state host_state(struct host *h)
{
	struct weft_conn *conn;

	settle();
	conn = host_conn(h);
	return conn ? conn->state : WEFT_CONN_CLOSED;
}

struct weft_device *host_dev(struct host *h)
{
	return &h->b->dev;
}

struct weft_qp *host_qp(struct host *h)
{
	return &h->b->engine.qp;
}

/* Has the newest connection's time be up. */
void host_expire(struct host *h)
{
	struct weft_conn *conn = host_conn(h);

	weft_baton_lock(&conn->lock);
	if (conn->limited)
		conn->deadline = jiffies - 1;
	weft_conn_post(conn, WEFT_EV_TIMEOUT);
	weft_conn_unlock(conn);
	settle();
}

/* --- connecting --- */

/* Has the host's application connect, to the server at HOST_PORT. As weft_iw_connect(). */
int host_connect_with(struct host *h, const void *private, u16 len)
{
	struct iw_cm_conn_param param = {
		.private_data = private, .private_data_len = len, .ird = 2, .ord = 2,
		.qpn = h->b->engine.qp.acc.qpn,
	};

	return weft_iw_connect(&h->id, &param);
}

/* The same, with a text. */
int host_connect(struct host *h, const char *private)
{
	return host_connect_with(h, private, strlen(private));
}

/* Somebody who listens at HOST_PORT: the test. */
static struct fake *server_new(struct kunit *test)
{
	struct fake *server = must(test, fake_open(NULL, NULL));
	struct sockaddr_storage addr;

	address(&addr, "10.0.0.2", HOST_PORT);
	server->llp.class->bind(&server->llp, &addr, false);
	KUNIT_ASSERT_EQ(test, server->llp.class->listen(&server->llp, 100), 0);
	return server;
}

/* The test's end of the next connection, for it to close; NULL: there is none. */
struct fake *server_accept(struct fake *server)
{
	struct weft_llp *llp;

	settle();
	llp = server->llp.class->accept(&server->llp, NULL, NULL);
	return IS_ERR(llp) ? NULL : to_fake(llp);
}

/* Has the host listen at an address, port HOST_PORT. As weft_iw_create_listen(). */
int host_listen(struct host *h, struct iw_cm_id *id, const char *addr, int backlog)
{
	address(&id->m_local_addr, addr, HOST_PORT);
	return weft_iw_create_listen(id, backlog);
}

/* Connects to who listens there; the test's end, for it to close. NULL: nobody does. */
struct fake *host_call(const char *addr)
{
	struct sockaddr_storage from, to;

	address(&from, "10.0.0.9", 4242);
	address(&to, addr, HOST_PORT);
	return fake_call(&init_net, &from, &to);
}

/* Reads the frame that the host sent, and up to 512 bytes of private data. False: there is none. */
bool peer_reads(struct kunit *test, struct fake *peer, bool reply, struct weft_mpa_frame *frame,
		u8 *private)
{
	u8 *buf = zeroed(test, WEFT_MPA_MAX_FRAME);
	u32 len, at;
	int n;

	settle();
	n = peer->llp.class->recv(&peer->llp, buf, WEFT_MPA_HDR_LEN);
	if (n != WEFT_MPA_HDR_LEN)
		return false;
	len = weft_mpa_total_len(buf);
	if (len > WEFT_MPA_HDR_LEN)
		n += peer->llp.class->recv(&peer->llp, buf + WEFT_MPA_HDR_LEN,
					   len - WEFT_MPA_HDR_LEN);
	KUNIT_EXPECT_EQ(test, (u32)n, len);
	at = weft_mpa_decode(buf, len, reply, frame);
	KUNIT_EXPECT_NE(test, at, 0U);
	memset(private, 0, WEFT_MPA_MAX_PRIVATE);
	memcpy(private, buf + at, frame->private_len);
	kunit_kfree(test, buf);
	return at;
}

/* Sends the host a frame. */
void peer_sends_with(struct kunit *test, struct fake *peer, const struct weft_mpa_frame *frame,
		     const void *private, u16 private_len)
{
	u8 *buf = zeroed(test, WEFT_MPA_MAX_FRAME);
	struct weft_mpa_frame with = *frame;
	u32 len;

	with.private_len = private_len;
	len = weft_mpa_encode(buf, &with, private);
	KUNIT_ASSERT_NE(test, len, 0U);
	KUNIT_EXPECT_EQ(test, peer->llp.class->send(&peer->llp, buf, len), (int)len);
	kunit_kfree(test, buf);
	settle();
}

/* The same, with a text for private data. */
void peer_sends(struct kunit *test, struct fake *peer, const struct weft_mpa_frame *frame,
		const char *private)
{
	peer_sends_with(test, peer, frame, private, strlen(private));
}

/* --- meetings --- */

END_OF(meeting_end, struct meeting *m)
{
	host_expect_silence(test, m->h);
	if (m->server)
		weft_llp_close(&m->server->llp, true);
	else
		KUNIT_EXPECT_EQ(test, weft_iw_destroy_listen(&m->listener), 0);
	if (m->peer)
		weft_llp_close(&m->peer->llp, true);
	host_free(test, m->h);
	KUNIT_EXPECT_EQ(test, fake_end(), 0U);
}

/* Makes a host, and a server for it or a peer that has connected to its listener. */
struct meeting *meeting_new(struct kunit *test, bool visited)
{
	struct meeting *m = zeroed(test, sizeof(*m));

	m->private = zeroed(test, WEFT_MPA_MAX_PRIVATE);
	fake_begin();
	m->h = host_new(test);
	if (visited) {
		host_id(m->h, &m->listener);
		KUNIT_ASSERT_EQ(test, host_listen(m->h, &m->listener, "10.0.0.1", 5), 0);
		m->peer = must(test, host_call("10.0.0.1"));
		settle();
	} else {
		m->server = server_new(test);
	}
	at_end(test, meeting_end, m);
	return m;
}

/* The server has the host's next connection. */
void meeting_accept(struct kunit *test, struct meeting *m)
{
	m->peer = must(test, server_accept(m->server));
}

/* The peer reads a Request of the host's, or a Reply. */
void meeting_reads(struct kunit *test, struct meeting *m, bool reply)
{
	KUNIT_ASSERT_TRUE(test, peer_reads(test, m->peer, reply, &m->frame, m->private));
}

/* The peer breaks the connection off. */
void meeting_peer_goes(struct meeting *m)
{
	weft_llp_close(&m->peer->llp, true);
	m->peer = NULL;
	settle();
}

/* Prepares the identifier that answers the Request of a CONNECT_REQUEST. */
void meeting_announced(struct meeting *m, const struct host_event *e)
{
	host_id(m->h, &m->id);
	m->id.provider_data = e->provider_data;
}

/* --- suites --- */

/* The module's own, as in bench.h. */
static struct workqueue_struct *conn_wq;

int host_suite_init(struct kunit_suite *suite)
{
	fake_begin();
	conn_wq = weft_conn_wq;
	return bench_suite_init(suite) ?: weft_lane_init(weft_conn_serve);
}

void host_suite_exit(struct kunit_suite *suite)
{
	destroy_workqueue(weft_conn_wq);
	weft_conn_wq = conn_wq;
	bench_suite_exit(suite);
}
