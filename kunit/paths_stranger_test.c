// SPDX-License-Identifier: GPL-2.0
/* Strangers at an address or where joins are awaited: none learns the key or harms the stream. */
#include "routes.h"

#define LEN	8000U	/* of most segments here */

/* Says a frame whose ULPDU has these bytes. */
static void say(struct kunit *test, struct fake *from, const u8 *ulpdu, u32 len)
{
	u8 fpdu[WEFT_PATH_CONTROL_ROOM] = {};
	u32 all;

	memcpy(weft_fpdu_begin(fpdu, len), ulpdu, len);
	all = weft_fpdu_end(fpdu, len, true);
	KUNIT_EXPECT_EQ(test, from->llp.class->send(&from->llp, fpdu, all), (int)all);
	settle();
}

/* --- at an address that the initiator was told --- */

/* A stranger listens. */
static struct fake *lurk(struct kunit *test)
{
	const struct sockaddr_storage any = { .ss_family = AF_INET };
	struct fake *lurker = must(test, fake_new(&init_net, NULL, NULL));

	KUNIT_ASSERT_EQ(test, lurker->llp.class->bind(&lurker->llp, &any, true), 0);
	KUNIT_ASSERT_EQ(test, lurker->llp.class->listen(&lurker->llp, 4), 0);
	return lurker;
}

/* Has the initiator's second path lead to the stranger; returns the stranger's end of it. */
static struct fake *lure(struct routes *r, struct fake *lurker)
{
	struct weft_path_home *home = &r->a.p->home[0];

	weft_baton_lock(&r->a.p->lock);
	KUNIT_ASSERT_EQ(r->a.test, r->a.p->num_homes, 1U);
	((struct sockaddr_in *)&home->addr)->sin_port =
		((struct sockaddr_in *)&lurker->local)->sin_port;
	home->next_try = jiffies;
	weft_baton_unlock(&r->a.p->lock);
	route_look(&r->a);
	return to_fake(must(r->a.test, lurker->llp.class->accept(&lurker->llp, NULL, NULL)));
}

/* A stream of which the first path alone is up. */
static struct routes *routes_with_one(struct kunit *test)
{
	struct routes *r;

	fake_faults.connect = -ENETUNREACH;
	r = routes_make(test, 2, 2);
	settle();
	fake_faults.connect = 0;
	return r;
}

static void expect_goes_on(struct routes *r)
{
	u32 taken = r->b.taken;

	KUNIT_EXPECT_EQ(r->a.test, (int)r->a.llp->class->state(r->a.llp), (int)WEFT_LLP_OPEN);
	KUNIT_EXPECT_NULL(r->a.test, r->a.p->path[1].llp);
	route_send_many(&r->a, 1, LEN);
	settle();
	KUNIT_EXPECT_EQ(r->a.test, r->b.taken, taken + 1);
}

/* Whatever a stranger says instead of an answer costs that connection alone. */
static void stranger_says_anything(struct kunit *test)
{
	static const u8 lengths[] = { 12, 13, 20, 28, 36 };
	u8 ulpdu[WEFT_PATH_HDR_LEN + 24] = {};
	struct fake *lurker, *end;
	struct routes *r;

	for (u32 type = 0; type < 12; type++) {
		for (u32 i = 0; i < ARRAY_SIZE(lengths); i++) {
			r = routes_with_one(test);
			lurker = lurk(test);
			end = lure(r, lurker);
			ulpdu[0] = type;
			ulpdu[7] = 1;
			say(test, end, ulpdu, lengths[i]);
			expect_goes_on(r);
			KUNIT_EXPECT_EQ_MSG(test, (int)end->state, (int)WEFT_LLP_DEAD,
					    "type %u of %u bytes", type, lengths[i]);
			weft_llp_close(&end->llp, true);
			weft_llp_close(&lurker->llp, true);
			end_now(test, r);
		}
	}
}

/* Takes the frame of a control type that has come to a stranger; its ULPDU is at @ulpdu. */
static void hear(struct kunit *test, struct fake *at, u8 type, u8 *ulpdu, u32 len)
{
	u8 fpdu[WEFT_PATH_CONTROL_ROOM];
	u32 all = weft_fpdu_len(len);

	KUNIT_ASSERT_EQ(test, at->llp.class->recv(&at->llp, fpdu, all), (int)all);
	KUNIT_EXPECT_EQ(test, (u32)get_unaligned_be16(fpdu), len);
	memcpy(ulpdu, fpdu + WEFT_MPA_LEN, len);
	KUNIT_EXPECT_EQ(test, ulpdu[0], type);
}

/* A responder ends the second path, after a frame or none. Returns jiffies until the next try. */
static long end_at_once(struct kunit *test, bool speaks)
{
	const struct weft_path_hdr challenge = { .type = WEFT_PATH_CHALLENGE, .ssn = 1 };
	const struct weft_path_hdr ack = { .type = WEFT_PATH_ACK };
	struct weft_path_claim claim = { .responder = true, .number = 1, .challenged = 5 };
	struct routes *r = routes_with_one(test);
	struct fake *lurker = lurk(test), *end = lure(r, lurker);
	u8 ulpdu[WEFT_PATH_CHALLENGE_LEN];
	long ret;

	hear(test, end, WEFT_PATH_JOIN, ulpdu, WEFT_PATH_JOIN_LEN);
	weft_path_addr(claim.addr, &end->local);
	claim.joined = weft_path_number(ulpdu, 0);
	weft_path_encode(ulpdu, &challenge);
	weft_path_put_number(ulpdu, 0, claim.challenged);
	weft_path_put_number(ulpdu, 1, weft_path_proof(r->a.p, &claim));
	say(test, end, ulpdu, WEFT_PATH_CHALLENGE_LEN);
	KUNIT_EXPECT_TRUE(test, weft_path_is_up(&r->a.p->path[1]));
	weft_path_encode(ulpdu, &ack);
	if (speaks)
		say(test, end, ulpdu, WEFT_PATH_HDR_LEN);
	weft_llp_close(&end->llp, true);
	settle();
	KUNIT_EXPECT_NULL(test, r->a.p->path[1].llp);
	ret = r->a.p->home[0].next_try - jiffies;
	weft_llp_close(&lurker->llp, true);
	end_now(test, r);
	return ret;
}

/* An address whose responder refuses the answer is tried ever less, as any that cannot be had. */
static void stranger_refuses(struct kunit *test)
{
	/* The path failed once before, in routes_with_one(). */
	KUNIT_EXPECT_GT(test, end_at_once(test, false), 3L * HZ);
	KUNIT_EXPECT_LE(test, end_at_once(test, true), 2L * HZ);
}

/* --- where the responder awaits joins --- */

/* Connects to the responder, under an address of its. */
static struct fake *call(struct routes *r, u32 host)
{
	struct sockaddr_storage to = to_fake(r->b.p->listener)->local;
	struct sockaddr_in *v4 = (struct sockaddr_in *)&to;

	v4->sin_addr.s_addr = htonl(0x0a090000 + host);
	return must(r->a.test, fake_call(&init_net, &r->a.p->local, &to));
}

static void expect_refused(struct routes *r, struct fake *stranger, u64 refused)
{
	KUNIT_EXPECT_EQ(r->a.test, (int)stranger->state, (int)WEFT_LLP_DEAD);
	KUNIT_EXPECT_EQ(r->a.test, route_count(&r->b, WEFT_CNT_PATH_REFUSED), refused);
	weft_llp_close(&stranger->llp, true);
}

/* Says a join, and writes the claim of the challenge that it gets. */
static void ask(struct routes *r, struct fake *from, u32 number, struct weft_path_claim *claim)
{
	const struct weft_path_hdr hdr = { .type = WEFT_PATH_JOIN, .ssn = number };
	u8 ulpdu[WEFT_PATH_CHALLENGE_LEN];

	*claim = (struct weft_path_claim){ .responder = true, .number = number, .joined = 77 };
	weft_path_addr(claim->addr, &from->remote);
	weft_path_encode(ulpdu, &hdr);
	weft_path_put_number(ulpdu, 0, claim->joined);
	say(r->a.test, from, ulpdu, WEFT_PATH_JOIN_LEN);
	hear(r->a.test, from, WEFT_PATH_CHALLENGE, ulpdu, WEFT_PATH_CHALLENGE_LEN);
	claim->challenged = weft_path_number(ulpdu, 0);
	KUNIT_EXPECT_EQ(r->a.test, weft_path_number(ulpdu, 1), weft_path_proof(r->a.p, claim));
	claim->responder = false;
}

static void answer(struct routes *r, struct fake *from, u32 number, u64 proof)
{
	const struct weft_path_hdr hdr = { .type = WEFT_PATH_ANSWER, .ssn = number };
	u8 ulpdu[WEFT_PATH_JOIN_LEN];

	weft_path_encode(ulpdu, &hdr);
	weft_path_put_number(ulpdu, 0, proof);
	say(r->a.test, from, ulpdu, WEFT_PATH_JOIN_LEN);
}

/* A wrong proof costs its sender that connection; with the right one it takes a path's place. */
CASE_WITH(stranger_guesses, struct routes *r, routes_gather(test, 2))
{
	struct weft_path_claim claim, other;
	struct fake *stranger;
	u32 i, wrong = 6;

	for (i = 0; i < wrong; i++) {
		stranger = call(r, 2);
		ask(r, stranger, 1, &claim);
		other = claim;
		other.responder = i == 1;
		other.number += i == 2;
		other.addr[15] += i == 3;
		other.joined += i == 4;
		other.challenged += i == 5;
		answer(r, stranger, 1, weft_path_proof(r->a.p, &other) ^ !i);
		expect_refused(r, stranger, i + 1);
	}
	stranger = call(r, 2);
	ask(r, stranger, 1, &claim);
	answer(r, stranger, 0, weft_path_proof(r->a.p, &claim));
	expect_refused(r, stranger, wrong + 1);
	/* Without a join there is nothing to answer. */
	stranger = call(r, 2);
	answer(r, stranger, 1, 0);
	expect_refused(r, stranger, wrong + 2);
	KUNIT_EXPECT_EQ(test, route_count(&r->b, WEFT_CNT_PATH_JOINS), 1ULL);
	stranger = call(r, 2);
	ask(r, stranger, 1, &claim);
	answer(r, stranger, 1, weft_path_proof(r->a.p, &claim));
	KUNIT_EXPECT_EQ(test, (int)stranger->state, (int)WEFT_LLP_OPEN);
	KUNIT_EXPECT_EQ(test, route_count(&r->b, WEFT_CNT_PATH_JOINS), 2ULL);
	KUNIT_EXPECT_EQ(test, route_count(&r->b, WEFT_CNT_PATH_LEAVES), 1ULL);
	weft_llp_close(&stranger->llp, true);
}

/* Takes what a stranger has heard, and says it to the responder. Nothing of it is the key. */
CASE_WITH(stranger_listens, struct routes *r, routes_with_one(test))
{
	struct fake *lurker = lurk(test), *end = lure(r, lurker), *stranger;
	u8 heard[256], ulpdu[WEFT_PATH_CHALLENGE_LEN];
	int len = end->llp.class->recv(&end->llp, heard, sizeof(heard)), i;

	KUNIT_ASSERT_EQ(test, len, (int)weft_fpdu_len(WEFT_PATH_JOIN_LEN));
	for (i = 0; i + 8 <= len; i++)
		KUNIT_EXPECT_TRUE(test, memcmp(heard + i, r->b.p->addrs.key, 8) &&
				  memcmp(heard + i, r->b.p->addrs.key + 8, 8));
	stranger = call(r, 2);
	KUNIT_EXPECT_EQ(test, stranger->llp.class->send(&stranger->llp, heard, len), len);
	settle();
	/* Its own join gives a challenge, whose proof is no answer. */
	hear(test, stranger, WEFT_PATH_CHALLENGE, ulpdu, WEFT_PATH_CHALLENGE_LEN);
	answer(r, stranger, 1, weft_path_number(ulpdu, 1));
	expect_refused(r, stranger, 1);
	KUNIT_EXPECT_EQ(test, route_count(&r->b, WEFT_CNT_PATH_JOINS), 0ULL);
	weft_llp_close(&end->llp, true);
	weft_llp_close(&lurker->llp, true);
}

/* A stranger passes a join on to the responder at @host. Returns true if he is amid a path then. */
static bool relay(struct kunit *test, u32 host)
{
	struct routes *r = routes_with_one(test);
	struct fake *lurker = lurk(test), *end = lure(r, lurker), *stranger = call(r, host);
	u8 ulpdu[WEFT_PATH_CHALLENGE_LEN];
	bool ret;

	hear(test, end, WEFT_PATH_JOIN, ulpdu, WEFT_PATH_JOIN_LEN);
	say(test, stranger, ulpdu, WEFT_PATH_JOIN_LEN);
	hear(test, stranger, WEFT_PATH_CHALLENGE, ulpdu, WEFT_PATH_CHALLENGE_LEN);
	say(test, end, ulpdu, WEFT_PATH_CHALLENGE_LEN);
	ret = r->a.p->path[1].llp;
	weft_llp_close(&stranger->llp, true);
	weft_llp_close(&end->llp, true);
	weft_llp_close(&lurker->llp, true);
	end_now(test, r);
	return ret;
}

/* He gets no proof if that is another address; under the same one he is a router between them. */
static void stranger_relays(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, relay(test, 3));
	KUNIT_EXPECT_TRUE(test, relay(test, 2));
}

/* Strangers who keep connecting do not crowd out a guest before his answer is here. */
CASE_WITH(stranger_crowds, struct routes *r, routes_gather(test, 2))
{
	struct fake *crowd[WEFT_PATHS_MAX_JOINS + 2];
	struct weft_path_claim claim;
	u32 i;

	for (i = 0; i < WEFT_PATHS_MAX_JOINS; i++)
		crowd[i] = call(r, 2);
	settle();
	ask(r, crowd[0], 1, &claim);
	weft_baton_lock(&r->b.p->lock);
	for (i = 0; i < WEFT_PATHS_MAX_JOINS; i++)
		/* However slow this machine is. */
		r->b.p->guest[i].since = jiffies + HZ;
	weft_baton_unlock(&r->b.p->lock);
	for (; i < ARRAY_SIZE(crowd); i++)
		crowd[i] = call(r, 2);
	settle();
	for (i = 0; i < ARRAY_SIZE(crowd); i++)
		KUNIT_EXPECT_EQ(test, (int)crowd[i]->state, (int)WEFT_LLP_OPEN);
	answer(r, crowd[0], 1, weft_path_proof(r->a.p, &claim));
	KUNIT_EXPECT_EQ(test, route_count(&r->b, WEFT_CNT_PATH_JOINS), 2ULL);
	/* Those who have had their time give way. */
	weft_baton_lock(&r->b.p->lock);
	for (i = 0; i < WEFT_PATHS_MAX_JOINS; i++)
		r->b.p->guest[i].since = jiffies - HZ;
	fake_faults.accept = -ENOMEM;
	weft_paths_host(r->b.p);
	/* For nobody, nobody does. */
	KUNIT_EXPECT_EQ(test, route_count(&r->b, WEFT_CNT_PATH_REFUSED), 0ULL);
	weft_paths_host(r->b.p);
	weft_baton_unlock(&r->b.p->lock);
	KUNIT_EXPECT_EQ(test, route_count(&r->b, WEFT_CNT_PATH_REFUSED), 1ULL);
	for (i = 0; i < ARRAY_SIZE(crowd); i++)
		weft_llp_close(&crowd[i]->llp, true);
}

/* The proofs are SipHash-2-4, by numbers that tests/wire/path.py computes. */
static void stranger_proofs(struct kunit *test)
{
	struct weft_paths *p = zeroed(test, sizeof(*p));
	struct weft_path_claim claim = {
		.responder = true, .number = 3, .addr = { [10] = 0xff, 0xff, 10, 9, 0, 2 },
		.joined = 0x1111111111111111, .challenged = 0x2222222222222222,
	};

	for (u32 i = 0; i < WEFT_PATH_KEY_LEN; i++)
		p->addrs.key[i] = i;
	KUNIT_EXPECT_EQ(test, weft_path_proof(p, &claim), 0x75d8a32477a64902ULL);
	claim.responder = false;
	KUNIT_EXPECT_EQ(test, weft_path_proof(p, &claim), 0x81c2d4969f51436eULL);
}

/* No address of this host or of many hosts becomes a home, unless it is the peer's. */
CASE_WITH(stranger_homes, struct routes *r, routes_with_one(test))
{
#define V4(...)	{ [10] = 0xff, 0xff, __VA_ARGS__ }
	static const struct weft_path_addrs unfit = {
		.num = 8,
		.addr = { V4(127, 0, 0, 1), V4(0), V4(224, 0, 0, 1),
			  V4(255, 255, 255, 255), {}, { [15] = 1 }, { 0xff, 2, [15] = 1 },
			  { 0xfe, 0x80, [15] = 1 } },
	}, fit = { .num = 2, .addr = { V4(10, 9, 0, 99), { 0x20, 1, 0xd, 0xb8, [15] = 9 } } };
	static const struct {
		const struct weft_path_addrs *told;
		__be32 peer;
		u32 homes;
	} rounds[] = {
		{ &unfit, htonl(0x0a090001), 0 }, { &fit, htonl(0x0a090001), 2 },
		{ &unfit, htonl(INADDR_LOOPBACK), 1 },
	};
	struct weft_paths *p = r->a.p;
	const struct sockaddr_storage remote = p->remote;
	u8 frame[WEFT_PATH_MAX_CONTROL];

	weft_baton_lock(&p->lock);
	for (u32 i = 0; i < ARRAY_SIZE(rounds); i++) {
		p->addrs_done = false;
		p->num_homes = 0;
		weft_sock_name_v4(&p->remote, rounds[i].peer, 0);
		weft_path_encode_addrs(frame, rounds[i].told);
		KUNIT_EXPECT_TRUE(test, weft_paths_take_addrs(p, frame));
		KUNIT_EXPECT_EQ(test, p->num_homes, rounds[i].homes);
	}
	p->num_homes = 0;
	p->remote = remote;
	weft_baton_unlock(&p->lock);
}

A_SUITE(paths_stranger, fake, stranger_says_anything, stranger_refuses, stranger_listens,
	stranger_relays, stranger_guesses, stranger_crowds, stranger_proofs,
	stranger_homes);
