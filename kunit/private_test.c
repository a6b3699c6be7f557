// SPDX-License-Identifier: GPL-2.0
/* Private data in the handshake: to the byte, of the lengths at which somebody stops counting. */
#include <linux/slab.h>

#include "bench.h"
#include "ends.h"
#include "hosts.h"

/* The last two do not fit in a frame of revision 2, of which four bytes are Weft's. */
static const u16 lengths[] = { 0, 1, 2, 196, 252, 255, 256, 257, 507, 508, 509, 512 };

#define LONGEST (WEFT_MPA_MAX_PRIVATE - WEFT_MPA_V2_LEN)

/* A host, and who it connects to, or who connects to its listener. */
struct talk {
	struct host *h;
	struct iw_cm_id listener;
	struct iw_cm_id id;
	struct fake *server;
	struct fake *peer;
	u8 *said;
	u8 *heard;
};

static struct talk *talk_new(struct kunit *test, bool visited)
{
	struct talk *t = zeroed(test, sizeof(*t));

	t->said = zeroed(test, WEFT_MPA_MAX_PRIVATE);
	t->heard = zeroed(test, WEFT_MPA_MAX_PRIVATE);
	KUNIT_ASSERT_TRUE(test, t->said && t->heard);
	for (u32 i = 0; i < WEFT_MPA_MAX_PRIVATE; i++)
		t->said[i] = 7 * i + 1;
	fake_begin();
	t->h = host_new(test);
	if (!visited) {
		t->server = server_new(test);
		return t;
	}
	host_id(t->h, &t->listener);
	KUNIT_ASSERT_EQ(test, host_listen(t->h, &t->listener, "10.0.0.1", 5), 0);
	t->peer = host_call("10.0.0.1");
	KUNIT_ASSERT_NOT_NULL(test, t->peer);
	settle();
	return t;
}

static void talk_end(struct kunit *test, struct talk *t)
{
	host_expect_silence(test, t->h);
	if (t->server)
		weft_llp_close(&t->server->llp, true);
	else
		weft_iw_destroy_listen(&t->listener);
	if (t->peer)
		weft_llp_close(&t->peer->llp, true);
	host_free(test, t->h);
	KUNIT_EXPECT_EQ(test, fake_end(), 0U);
}

/* The application was told of @event and of the first bytes of @len, as many as an event counts. */
static const struct host_event *expect_said(struct kunit *test, struct talk *t, int event, u16 len)
{
	const struct host_event *e = host_next(t->h);

	KUNIT_ASSERT_NOT_NULL(test, e);
	KUNIT_EXPECT_EQ(test, e->event, event);
	KUNIT_EXPECT_EQ(test, (int)e->private_len, min_t(int, len, U8_MAX));
	KUNIT_EXPECT_EQ(test, memcmp(e->private, t->said, e->private_len), 0);
	return e;
}

/* The peer has read all of @len bytes and no other. */
static void expect_heard(struct kunit *test, struct talk *t, bool reply, u16 len)
{
	struct weft_mpa_frame frame;

	KUNIT_ASSERT_TRUE(test, peer_reads(test, t->peer, reply, &frame, t->heard));
	KUNIT_EXPECT_EQ(test, frame.private_len, len);
	KUNIT_EXPECT_EQ(test, memcmp(t->heard, t->said, len), 0);
}

static void private_of_request(struct kunit *test)
{
	for (u32 i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct talk *t = talk_new(test, false);
		int ret = host_connect_with(t->h, t->said, lengths[i]);

		KUNIT_EXPECT_EQ(test, ret, lengths[i] > LONGEST ? -EINVAL : 0);
		if (!ret) {
			t->peer = server_accept(t->server);
			KUNIT_ASSERT_NOT_NULL(test, t->peer);
			expect_heard(test, t, false, lengths[i]);
			/* The same once more, in a Request of revision 1. */
			weft_llp_close(&t->peer->llp, true);
			t->peer = server_accept(t->server);
			KUNIT_ASSERT_NOT_NULL(test, t->peer);
			expect_heard(test, t, false, lengths[i]);
			weft_engine_error(host_qp(t->h));
			settle();
			host_expect(test, t->h, IW_CM_EVENT_CONNECT_REPLY, -ECONNABORTED);
		}
		talk_end(test, t);
	}
}

/* Of an accepting Reply and of a Reject, in a frame with enhanced setup and in one without. */
static void private_of_reply(struct kunit *test)
{
	struct weft_mpa_frame reply;

	for (u32 i = 0; i < ARRAY_SIZE(lengths); i++) {
		for (u32 kind = 0; kind < 4; kind++) {
			struct talk *t;

			reply = a_reply;
			if (kind & 1)
				reply = (struct weft_mpa_frame){ .reply = true, .revision = 1,
					.crc = true };
			else if (lengths[i] > LONGEST)
				continue;
			reply.reject = kind & 2;
			t = talk_new(test, false);
			host_dev(t->h)->settings.value[WEFT_SET_MPA_REVISION] = reply.revision;
			KUNIT_EXPECT_EQ(test, host_connect(t->h, ""), 0);
			t->peer = server_accept(t->server);
			KUNIT_ASSERT_NOT_NULL(test, t->peer);
			expect_heard(test, t, false, 0);
			peer_sends_with(test, t->peer, &reply, t->said, lengths[i]);
			expect_said(test, t, IW_CM_EVENT_CONNECT_REPLY, lengths[i]);
			if (!reply.reject) {
				weft_engine_error(host_qp(t->h));
				settle();
				host_expect(test, t->h, IW_CM_EVENT_CLOSE, 0);
			}
			talk_end(test, t);
		}
	}
}

/* Of a Request that comes, also one of revision 2 whose flag for enhanced setup is clear. */
static void private_of_visitor(struct kunit *test)
{
	for (u32 i = 0; i < ARRAY_SIZE(lengths); i++) {
		for (u32 kind = 0; kind < 3; kind++) {
			struct talk *t;
			struct weft_mpa_frame request = a_request;
			const struct host_event *e;

			if (kind)
				request = (struct weft_mpa_frame){ .revision = kind, .crc = true };
			else if (lengths[i] > LONGEST)
				continue;
			t = talk_new(test, true);
			peer_sends_with(test, t->peer, &request, t->said, lengths[i]);
			e = expect_said(test, t, IW_CM_EVENT_CONNECT_REQUEST, lengths[i]);
			host_id(t->h, &t->id);
			t->id.provider_data = e->provider_data;
			KUNIT_EXPECT_EQ(test, weft_iw_reject(&t->id, NULL, 0), 0);
			settle();
			talk_end(test, t);
		}
	}
}

/* Of our own answer, to a peer of either revision. iw_cm counts a Reject's with eight bits. */
static void private_of_answer(struct kunit *test)
{
	for (u32 i = 0; i < ARRAY_SIZE(lengths); i++) {
		for (u32 kind = 0; kind < (lengths[i] > U8_MAX ? 2 : 4); kind++) {
			struct talk *t = talk_new(test, true);
			struct weft_mpa_frame request = a_request;
			struct iw_cm_conn_param param = { .private_data = t->said,
				.private_data_len = lengths[i], .ird = 2, .ord = 2, .qpn = 17 };
			const struct host_event *e;
			int ret;

			if (kind & 1)
				request = (struct weft_mpa_frame){ .revision = 1, .crc = true };
			peer_sends(test, t->peer, &request, "");
			e = expect_said(test, t, IW_CM_EVENT_CONNECT_REQUEST, 0);
			host_id(t->h, &t->id);
			t->id.provider_data = e->provider_data;
			ret = kind & 2 ? weft_iw_reject(&t->id, t->said, lengths[i]) :
					 weft_iw_accept(&t->id, &param);
			/* What cannot be said is a refusal. */
			KUNIT_EXPECT_EQ(test, ret, lengths[i] > LONGEST ? -EINVAL : 0);
			expect_heard(test, t, true, ret ? 0 : lengths[i]);
			if (!ret && !(kind & 2)) {
				host_expect(test, t->h, IW_CM_EVENT_ESTABLISHED, 0);
				weft_engine_error(host_qp(t->h));
				settle();
				host_expect(test, t->h, IW_CM_EVENT_CLOSE, 0);
			}
			talk_end(test, t);
		}
	}
}

A_SUITE(private, host, KUNIT_CASE(private_of_request), KUNIT_CASE(private_of_reply),
	KUNIT_CASE(private_of_visitor), KUNIT_CASE(private_of_answer));
