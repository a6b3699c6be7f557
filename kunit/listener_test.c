// SPDX-License-Identifier: GPL-2.0
/* Listeners: who may listen where, how many handshakes are under way, and who is told. */
#include <linux/delay.h>
#include <linux/tracepoint.h>

#include "hosts.h"

static void host_end(struct kunit *test, void *h)
{
	host_expect_silence(test, h);
	host_free(test, h);
}

static void streams_end(struct kunit *test, void *unused)
{
	KUNIT_EXPECT_EQ(test, fake_end(), 0U);
}

/* A host of the case, which ends before the streams of all. */
static struct host *host(struct kunit *test)
{
	if (!test->priv)
		at_end(test, streams_end, NULL);
	test->priv = host_new(test);
	at_end(test, host_end, test->priv);
	return test->priv;
}

/* A host that listens at an address, port HOST_PORT. */
static struct host *listening(struct kunit *test, struct iw_cm_id *id, const char *at, int backlog)
{
	struct host *h = host(test);

	host_id(h, id);
	KUNIT_EXPECT_EQ(test, host_listen(h, id, at, backlog), 0);
	return h;
}

/* A peer that connects there, before anybody has looked at it. */
static struct fake *caller(struct kunit *test, const char *addr)
{
	return must(test, host_call(addr));
}

static struct weft_listener *of(struct iw_cm_id *id)
{
	return id->provider_data;
}

/* What iw_cm asks for is what the stream is told, and its reference is given back. */
CASE_WITH(listener_life, struct host *h, host(test))
{
	struct iw_cm_id id;
	struct fake *f;

	host_id(h, &id);
	id.tos = 0x28;
	id.tos_set = true;
	id.afonly = true;
	KUNIT_EXPECT_EQ(test, host_listen(h, &id, "10.0.0.1", 200), 0);
	KUNIT_EXPECT_EQ(test, h->refs, 1);
	f = must(test, fake_oldest());
	KUNIT_EXPECT_TRUE(test, f->listens);
	KUNIT_EXPECT_EQ(test, f->backlog, 200);
	KUNIT_EXPECT_EQ(test, f->tos, 0x28);
	KUNIT_EXPECT_TRUE(test, f->v6only);
	KUNIT_EXPECT_PTR_EQ(test, f->net, &init_net);
	KUNIT_EXPECT_EQ(test, weft_iw_destroy_listen(&id), 0);
	KUNIT_EXPECT_EQ(test, h->refs, 0);
	KUNIT_EXPECT_TRUE(test, f->closed);
	KUNIT_EXPECT_PTR_EQ(test, host_call("10.0.0.1"), NULL);
}

/* What the stream refuses iw_cm is told, and nothing stays behind. */
CASE_WITH(listener_fails, struct host *h, host(test))
{
	struct iw_cm_id id;

	host_id(h, &id);
	fake_faults.open = -EMFILE;
	KUNIT_EXPECT_EQ(test, host_listen(h, &id, "10.0.0.1", 5), -EMFILE);
	fake_faults.open = 0;
	fake_faults.bind = -EADDRINUSE;
	KUNIT_EXPECT_EQ(test, host_listen(h, &id, "10.0.0.1", 5), -EADDRINUSE);
	fake_faults.listen = -EADDRINUSE;
	KUNIT_EXPECT_EQ(test, host_listen(h, &id, "10.0.0.1", 5), -EADDRINUSE);
	/* Whoever makes the device known is not kept from it: such a listener is deaf. */
	host_dev(h)->enabler = task_pid(current);
	KUNIT_EXPECT_EQ(test, host_listen(h, &id, "10.0.0.1", 5), 0);
	KUNIT_EXPECT_PTR_EQ(test, id.provider_data, NULL);
	KUNIT_EXPECT_EQ(test, weft_iw_destroy_listen(&id), 0);
	host_dev(h)->enabler = NULL;
	fake_faults.listen = 0;
	KUNIT_EXPECT_EQ(test, host_listen(h, &id, "10.0.0.1", 5), 0);
	KUNIT_EXPECT_EQ(test, weft_iw_destroy_listen(&id), 0);
	KUNIT_EXPECT_EQ(test, h->refs, 0);
}

/* One listener of a device at an address, in a namespace; devices share what is all's. */
static void listener_places(struct kunit *test)
{
	struct host *a = host(test), *b = host(test);
	struct net *elsewhere = zeroed(test, sizeof(*elsewhere));
	struct iw_cm_id *ids = zeroed(test, 3 * sizeof(*ids));
	struct iw_cm_id *first = ids, *second = ids + 1, *third = ids + 2;
	u32 half_open = 99;

	host_id(a, first);
	host_id(a, second);
	host_id(b, third);
	KUNIT_EXPECT_EQ(test, host_listen(a, first, "10.0.0.1", 5), 0);
	KUNIT_EXPECT_EQ(test, host_listen(a, second, "10.0.0.1", 5), -EADDRINUSE);
	KUNIT_EXPECT_EQ(test, host_listen(b, third, "10.0.0.1", 5), -EADDRINUSE);
	/* Another namespace has its own. */
	b->cm->route.addr.dev_addr.net = elsewhere;
	KUNIT_EXPECT_EQ(test, host_listen(b, third, "10.0.0.1", 5), 0);
	KUNIT_EXPECT_PTR_NE(test, of(third)->port, of(first)->port);
	KUNIT_EXPECT_EQ(test, weft_iw_destroy_listen(third), 0);
	KUNIT_EXPECT_EQ(test, weft_iw_destroy_listen(first), 0);
	b->cm->route.addr.dev_addr.net = &init_net;
	/* On every address, two devices have one socket, and each is in it once. */
	KUNIT_EXPECT_EQ(test, host_listen(a, first, "0.0.0.0", 5), 0);
	KUNIT_EXPECT_EQ(test, host_listen(a, second, "0.0.0.0", 5), -EADDRINUSE);
	KUNIT_EXPECT_EQ(test, host_listen(b, third, "0.0.0.0", 5), 0);
	KUNIT_EXPECT_PTR_EQ(test, of(third)->port, of(first)->port);
	KUNIT_EXPECT_TRUE(test, weft_listener_find(host_dev(b), b->cm, &half_open));
	KUNIT_EXPECT_EQ(test, half_open, 0U);
	KUNIT_EXPECT_FALSE(test, weft_listener_find(host_dev(b), a->cm, &half_open));
	/* Who leaves first leaves it to the other. */
	KUNIT_EXPECT_EQ(test, weft_iw_destroy_listen(first), 0);
	KUNIT_EXPECT_EQ(test, a->refs, 0);
	KUNIT_EXPECT_EQ(test, host_listen(a, first, "0.0.0.0", 5), 0);
	KUNIT_EXPECT_PTR_EQ(test, of(third)->port, of(first)->port);
	KUNIT_EXPECT_EQ(test, weft_iw_destroy_listen(third), 0);
	KUNIT_EXPECT_EQ(test, weft_iw_destroy_listen(first), 0);
}

/* A connection to every address that came to none of ours is dropped. */
static void listener_nobodys(struct kunit *test)
{
	struct iw_cm_id id;
	struct host *h = listening(test, &id, "0.0.0.0", 5);
	struct fake *peer = caller(test, "192.0.2.1");

	settle();
	KUNIT_EXPECT_EQ(test, (int)peer->llp.class->state(&peer->llp), (int)WEFT_LLP_DEAD);
	KUNIT_EXPECT_PTR_EQ(test, host_conn(h), NULL);
	weft_llp_close(&peer->llp, true);
	KUNIT_EXPECT_EQ(test, weft_iw_destroy_listen(&id), 0);
	settle();
}

/* Peers that say nothing lose their places to those who come after them, oldest first. */
static void listener_half_open(struct kunit *test)
{
	const u32 more = 6;
	struct fake **peers = zeroed(test, (WEFT_MIN_HALF_OPEN + more) * sizeof(*peers));
	struct iw_cm_id id;
	u32 i, half_open;
	struct host *h = listening(test, &id, "10.0.0.1", 1);

	for (i = 0; i < WEFT_MIN_HALF_OPEN + more; i++) {
		peers[i] = caller(test, "10.0.0.1");
		settle();
	}
	KUNIT_EXPECT_TRUE(test, weft_listener_find(host_dev(h), h->cm, &half_open));
	KUNIT_EXPECT_EQ(test, half_open, (u32)WEFT_MIN_HALF_OPEN);
	for (i = 0; i < WEFT_MIN_HALF_OPEN + more; i++)
		KUNIT_EXPECT_EQ_MSG(test, (int)peers[i]->llp.class->state(&peers[i]->llp),
				    (int)(i < more ? WEFT_LLP_DEAD : WEFT_LLP_OPEN), "peer %u", i);
	/* A Request takes its peer out of the count. */
	peer_sends(test, peers[more], &a_request, "");
	host_expect(test, h, IW_CM_EVENT_CONNECT_REQUEST, 0);
	weft_listener_find(host_dev(h), h->cm, &half_open);
	KUNIT_EXPECT_EQ(test, half_open, (u32)WEFT_MIN_HALF_OPEN - 1);
	/* With the listener go those who have not asked yet; who has is still answered. */
	KUNIT_EXPECT_EQ(test, weft_iw_destroy_listen(&id), 0);
	settle();
	for (i = more; i < WEFT_MIN_HALF_OPEN + more; i++) {
		KUNIT_EXPECT_EQ_MSG(test, (int)peers[i]->llp.class->state(&peers[i]->llp),
				    (int)(i > more ? WEFT_LLP_DEAD : WEFT_LLP_OPEN), "peer %u", i);
	}
	for (i = 0; i < WEFT_MIN_HALF_OPEN + more; i++)
		weft_llp_close(&peers[i]->llp, true);
	settle();
}

/* A Request that iw_cm has no place for is refused. */
CASE_WITH(listener_full, struct meeting *m, meeting_new(test, true))
{
	m->h->refuses = -ENOMEM;
	peer_sends(test, m->peer, &a_request, "");
	meeting_reads(test, m, true);
	KUNIT_EXPECT_TRUE(test, m->frame.reject);
	KUNIT_EXPECT_TRUE(test, m->peer->ended);
}

/* Accepting goes on by itself after it has failed for want of memory. */
static void listener_tries_again(struct kunit *test)
{
	struct iw_cm_id id;
	struct fake *peer;
	struct host *h = listening(test, &id, "10.0.0.1", 5);

	fake_faults.accept = -ENOMEM;
	peer = caller(test, "10.0.0.1");
	settle();
	KUNIT_EXPECT_PTR_EQ(test, host_conn(h), NULL);
	for (int i = 0; i < 100 && !host_conn(h); i++)
		msleep(20);
	KUNIT_EXPECT_PTR_NE(test, host_conn(h), NULL);
	weft_llp_close(&peer->llp, true);
	settle();
	KUNIT_EXPECT_EQ(test, weft_iw_destroy_listen(&id), 0);
}

/* A device that goes takes its listeners out of use; iw_cm frees them later. */
CASE_WITH(listener_device_goes, struct meeting *m, meeting_new(test, true))
{
	weft_conn_stop_all(host_dev(m->h));
	settle();
	KUNIT_EXPECT_EQ(test, (int)m->peer->state, (int)WEFT_LLP_DEAD);
	KUNIT_EXPECT_PTR_EQ(test, host_call("10.0.0.1"), NULL);
	KUNIT_EXPECT_EQ(test, m->h->refs, 0);
}

/* An end of a listener, in a thread of its own. */
struct ending {
	struct work_struct work;
	struct fake_hold hold;
	struct iw_cm_id *id;
};

static void ending_work(struct work_struct *work)
{
	weft_iw_destroy_listen(container_of(work, struct ending, work)->id);
}

/* Has a call of the class, @which of fake_faults, be held up. */
static void ending_hold(struct ending *ending, struct fake_hold **which)
{
	init_completion(&ending->hold.reached);
	init_completion(&ending->hold.released);
	*which = &ending->hold;
}

static bool ending_held(struct ending *ending)
{
	return wait_for_completion_timeout(&ending->hold.reached, 10 * HZ);
}

static void ending_begin(struct ending *ending, struct iw_cm_id *id)
{
	ending->id = id;
	INIT_WORK_ONSTACK(&ending->work, ending_work);
	queue_work(system_unbound_wq, &ending->work);
}

/* Holds a peer's accept up, and has the listener's end begin, until nobody is told any more. */
static struct fake *end_amid_accept(struct kunit *test, struct ending *ending, struct iw_cm_id *id)
{
	struct weft_listener *listener = of(id);
	struct fake *peer;

	ending_hold(ending, &fake_faults.hold_accept);
	peer = caller(test, "10.0.0.1");
	KUNIT_ASSERT_TRUE(test, ending_held(ending));
	ending_begin(ending, id);
	for (int i = 0; i < 1000 && READ_ONCE(listener->id); i++)
		msleep(20);
	KUNIT_EXPECT_PTR_EQ(test, listener->id, NULL);
	return peer;
}

/* Has the accept go on, and the end as well. */
static void ending_finish(struct ending *ending)
{
	fake_faults.hold_accept = NULL;
	fake_faults.hold_close = NULL;
	complete(&ending->hold.released);
	flush_work(&ending->work);
	destroy_work_on_stack(&ending->work);
}

/* A connection that is accepted while the last listener ends belongs to nobody. */
CASE_WITH(listener_ends_amid_accept, struct host *h, host(test))
{
	static const char *const places[] = { "10.0.0.1", "0.0.0.0" };
	struct ending ending;
	struct iw_cm_id id;
	struct fake *peer;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		host_id(h, &id);
		KUNIT_EXPECT_EQ(test, host_listen(h, &id, places[i], 5), 0);
		peer = end_amid_accept(test, &ending, &id);
		ending_finish(&ending);
		settle();
		KUNIT_EXPECT_EQ(test, (int)peer->llp.class->state(&peer->llp), (int)WEFT_LLP_DEAD);
		KUNIT_EXPECT_PTR_EQ(test, host_conn(h), NULL);
		KUNIT_EXPECT_EQ(test, h->refs, 0);
		weft_llp_close(&peer->llp, true);
	}
}

/* A peer that calls while the port's stream is about to be closed is not accepted from it. */
CASE_WITH(listener_calls_amid_end, struct host *h, host(test))
{
	struct ending ending;
	struct iw_cm_id id;
	struct fake *peer;

	host_id(h, &id);
	KUNIT_EXPECT_EQ(test, host_listen(h, &id, "10.0.0.1", 5), 0);
	ending_hold(&ending, &fake_faults.hold_close);
	ending_begin(&ending, &id);
	KUNIT_EXPECT_TRUE(test, ending_held(&ending));
	peer = caller(test, "10.0.0.1");
	settle();
	KUNIT_EXPECT_FALSE(test, list_empty(&peer->peer->queued));
	ending_finish(&ending);
	weft_llp_close(&peer->llp, true);
	settle();
}

/* References on a connection when work is first queued behind its accept. */
struct refs_watch {
	struct tracepoint *queued;
	struct fake *theirs;
	u32 refs;
};

static void refs_queued(void *data, int cpu, void *pool, struct work_struct *work)
{
	struct refs_watch *watch = data;
	struct weft_conn *conn = READ_ONCE(watch->theirs->llp.owner);

	if (conn && !watch->refs)
		watch->refs = kref_read(&conn->refs);
}

static void refs_find(struct tracepoint *tp, void *data)
{
	struct refs_watch *watch = data;

	if (!strcmp(tp->name, "workqueue_queue_work"))
		watch->queued = tp;
}

/* An accept that still posts events has a reference besides the connection's and its lane's. */
CASE_WITH(listener_keeps_amid_accept, struct host *h, host(test))
{
	struct refs_watch watch = {};
	struct ending ending;
	struct iw_cm_id id;
	struct fake *peer;

	for_each_kernel_tracepoint(refs_find, &watch);
	KUNIT_ASSERT_NOT_NULL(test, watch.queued);
	host_id(h, &id);
	KUNIT_EXPECT_EQ(test, host_listen(h, &id, "10.0.0.1", 5), 0);
	peer = end_amid_accept(test, &ending, &id);
	watch.theirs = peer->peer;
	KUNIT_ASSERT_EQ(test, tracepoint_probe_register(watch.queued, refs_queued, &watch), 0);
	ending_finish(&ending);
	tracepoint_probe_unregister(watch.queued, refs_queued, &watch);
	tracepoint_synchronize_unregister();
	KUNIT_EXPECT_EQ(test, watch.refs, 3U);
	settle();
	weft_llp_close(&peer->llp, true);
}

/* A device that begins to listen, in a thread of its own, while the device is made known. */
struct beginning {
	struct work_struct work;
	struct completion over;
	struct host *h;
	struct iw_cm_id *id;
	int ret;
};

static void beginning_work(struct work_struct *work)
{
	struct beginning *beginning = container_of(work, struct beginning, work);

	host_dev(beginning->h)->enabler = task_pid(current);
	beginning->ret = host_listen(beginning->h, beginning->id, "0.0.0.0", 5);
	host_dev(beginning->h)->enabler = NULL;
	complete(&beginning->over);
}

/* A device that comes while the last listener of another ends is not deaf. */
static void listener_begins_amid_end(struct kunit *test)
{
	struct host *a = host(test), *b = host(test);
	struct iw_cm_id *ids = zeroed(test, 2 * sizeof(*ids));
	struct beginning beginning = { .h = b, .id = ids + 1 };
	struct ending ending;
	struct fake *peer;

	host_id(a, &ids[0]);
	host_id(b, &ids[1]);
	KUNIT_EXPECT_EQ(test, host_listen(a, &ids[0], "0.0.0.0", 5), 0);
	peer = end_amid_accept(test, &ending, &ids[0]);
	init_completion(&beginning.over);
	INIT_WORK_ONSTACK(&beginning.work, beginning_work);
	queue_work(system_unbound_wq, &beginning.work);
	/* It waits for the end, which waits for the accept. */
	KUNIT_EXPECT_EQ(test, wait_for_completion_timeout(&beginning.over, HZ / 5), 0UL);
	ending_finish(&ending);
	flush_work(&beginning.work);
	destroy_work_on_stack(&beginning.work);
	KUNIT_EXPECT_EQ(test, beginning.ret, 0);
	KUNIT_EXPECT_PTR_NE(test, ids[1].provider_data, NULL);
	settle();
	weft_llp_close(&peer->llp, true);
	peer = host_call("10.0.0.1");
	KUNIT_EXPECT_PTR_NE(test, peer, NULL);
	if (peer)
		weft_llp_close(&peer->llp, true);
	settle();
	KUNIT_EXPECT_EQ(test, weft_iw_destroy_listen(&ids[1]), 0);
	settle();
}

/* So many that each bucket of the tables has several: all are found, and none for another. */
static void listener_many(struct kunit *test)
{
	const u32 count = 1200;
	struct host *a = host(test), *b = host(test);
	struct iw_cm_id *ids = must(test, kvcalloc(count, sizeof(*ids), GFP_KERNEL));
	struct iw_cm_id again;
	u32 i, half_open;
	char addr[16];

	for (i = 0; i < count; i++) {
		struct host *h = i % 2 ? b : a;

		host_id(h, &ids[i]);
		snprintf(addr, sizeof(addr), "10.1.%u.%u", i / 250, i % 250 + 1);
		KUNIT_ASSERT_EQ_MSG(test, host_listen(h, &ids[i], addr, 5), 0, "%s", addr);
	}
	for (i = 0; i < count; i++) {
		host_id(a, &again);
		snprintf(addr, sizeof(addr), "10.1.%u.%u", i / 250, i % 250 + 1);
		KUNIT_EXPECT_EQ_MSG(test, host_listen(a, &again, addr, 5), -EADDRINUSE, "%s", addr);
	}
	weft_conn_stop_all(host_dev(a));
	KUNIT_EXPECT_EQ(test, a->refs, 0);
	KUNIT_EXPECT_EQ(test, b->refs, (int)count / 2);
	KUNIT_EXPECT_FALSE(test, weft_listener_find(host_dev(a), a->cm, &half_open));
	KUNIT_EXPECT_TRUE(test, weft_listener_find(host_dev(b), b->cm, &half_open));
	for (i = 0; i < count; i++)
		KUNIT_EXPECT_EQ(test, weft_iw_destroy_listen(&ids[i]), 0);
	KUNIT_EXPECT_FALSE(test, weft_listener_find(host_dev(b), b->cm, &half_open));
	kvfree(ids);
}

A_SUITE(listener, host, listener_life, listener_fails, listener_places, listener_nobodys,
	listener_half_open, listener_full, listener_tries_again, listener_device_goes,
	listener_ends_amid_accept, listener_keeps_amid_accept, listener_calls_amid_end,
	listener_begins_amid_end, listener_many);
