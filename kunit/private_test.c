// SPDX-License-Identifier: GPL-2.0
/* Private data in the handshake: to the byte, of the lengths at which somebody stops counting. */
#include "hosts.h"

/* The last two do not fit in a frame of revision 2, of which four bytes are Weft's. */
static const u16 lengths[] = { 0, 1, 2, 196, 252, 255, 256, 257, 507, 508, 509, 512 };

#define LONGEST (WEFT_MPA_MAX_PRIVATE - WEFT_MPA_V2_LEN)

/* What is said, whole or in part. */
static u8 said[WEFT_MPA_MAX_PRIVATE];

static struct meeting *talk_new(struct kunit *test, bool visited)
{
	for (u32 i = 0; i < ARRAY_SIZE(said); i++)
		said[i] = 7 * i + 1;
	return meeting_new(test, visited);
}

/* The application was told of @event and of the first bytes of @len, as many as an event counts. */
static const struct host_event *expect_said(struct kunit *test, struct meeting *t, int event,
					    int status, u16 len)
{
	const struct host_event *e = host_expect(test, t->h, event, status);

	KUNIT_EXPECT_EQ(test, (int)e->private_len, min_t(int, len, U8_MAX));
	KUNIT_EXPECT_EQ(test, memcmp(e->private, said, e->private_len), 0);
	return e;
}

/* The peer has read all of @len bytes and no other. */
static void expect_heard(struct kunit *test, struct meeting *t, bool reply, u16 len)
{
	meeting_reads(test, t, reply);
	KUNIT_EXPECT_EQ(test, t->frame.private_len, len);
	KUNIT_EXPECT_EQ(test, memcmp(t->private, said, len), 0);
}

static void private_of_request(struct kunit *test)
{
	for (u32 i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct meeting *t = talk_new(test, false);
		int ret = host_connect_with(t->h, said, lengths[i]);

		KUNIT_EXPECT_EQ(test, ret, lengths[i] > LONGEST ? -EINVAL : 0);
		if (!ret) {
			meeting_accept(test, t);
			expect_heard(test, t, false, lengths[i]);
			/* The same once more, in a Request of revision 1. */
			weft_llp_close(&t->peer->llp, true);
			meeting_accept(test, t);
			expect_heard(test, t, false, lengths[i]);
			weft_engine_error(host_qp(t->h));
			settle();
			host_expect(test, t->h, IW_CM_EVENT_CONNECT_REPLY, -ECONNABORTED);
		}
		end_now(test, t);
	}
}

/* Of an accepting Reply and of a Reject, in a frame with enhanced setup and in one without. */
static void private_of_reply(struct kunit *test)
{
	struct weft_mpa_frame reply;

	for (u32 i = 0; i < ARRAY_SIZE(lengths); i++) {
		for (u32 kind = 0; kind < 4; kind++) {
			struct meeting *t;

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
			meeting_accept(test, t);
			expect_heard(test, t, false, 0);
			peer_sends_with(test, t->peer, &reply, said, lengths[i]);
			expect_said(test, t, IW_CM_EVENT_CONNECT_REPLY,
				    reply.reject ? -ECONNREFUSED : 0, lengths[i]);
			if (!reply.reject) {
				weft_engine_error(host_qp(t->h));
				settle();
				host_expect(test, t->h, IW_CM_EVENT_CLOSE, 0);
			}
			end_now(test, t);
		}
	}
}

/* Of a Request that comes, also one of revision 2 whose flag for enhanced setup is clear. */
static void private_of_visitor(struct kunit *test)
{
	for (u32 i = 0; i < ARRAY_SIZE(lengths); i++) {
		for (u32 kind = 0; kind < 3; kind++) {
			struct meeting *t;
			struct weft_mpa_frame request = a_request;

			if (kind)
				request = (struct weft_mpa_frame){ .revision = kind, .crc = true };
			else if (lengths[i] > LONGEST)
				continue;
			t = talk_new(test, true);
			peer_sends_with(test, t->peer, &request, said, lengths[i]);
			meeting_announced(t, expect_said(test, t, IW_CM_EVENT_CONNECT_REQUEST, 0,
							 lengths[i]));
			KUNIT_EXPECT_EQ(test, weft_iw_reject(&t->id, NULL, 0), 0);
			settle();
			end_now(test, t);
		}
	}
}

/* Of our own answer, to a peer of either revision. iw_cm counts a Reject's with eight bits. */
static void private_of_answer(struct kunit *test)
{
	for (u32 i = 0; i < ARRAY_SIZE(lengths); i++) {
		for (u32 kind = 0; kind < (lengths[i] > U8_MAX ? 2 : 4); kind++) {
			struct meeting *t = talk_new(test, true);
			struct weft_mpa_frame request = a_request;
			struct iw_cm_conn_param param = { .private_data = said,
				.private_data_len = lengths[i], .ird = 2, .ord = 2, .qpn = 17 };
			int ret;

			if (kind & 1)
				request = (struct weft_mpa_frame){ .revision = 1, .crc = true };
			peer_sends(test, t->peer, &request, "");
			meeting_announced(t, expect_said(test, t, IW_CM_EVENT_CONNECT_REQUEST, 0,
							 0));
			ret = kind & 2 ? weft_iw_reject(&t->id, said, lengths[i]) :
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
			end_now(test, t);
		}
	}
}

A_SUITE(private, host, private_of_request, private_of_reply, private_of_visitor, private_of_answer);
