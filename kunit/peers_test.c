// SPDX-License-Identifier: GPL-2.0
/* How long FPDUs to a peer may be, by its address. */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/inet.h>

#include "base/settings.h"
#include "tx_bench.h"

#define NONE		12345U
#define PEER_TEXT	64	/* the longest entry here */

static void add(struct kunit *test, struct weft_peers *peers, const char *text)
{
	struct weft_peer_list list;
	char copy[PEER_TEXT];

	list = peers->list;
	strscpy(copy, text, sizeof(copy));
	KUNIT_ASSERT_EQ_MSG(test, weft_peer_parse(copy, &list.entry[list.num++]), 0, "%s", text);
	peers->list = list;
}

/* What is said of an address; NONE: nothing. */
static u32 said_of(struct weft_peers *peers, const char *text)
{
	struct sockaddr_storage addr = {};
	u32 longest = NONE;

	if (in4_pton(text, -1, (u8 *)&((struct sockaddr_in *)&addr)->sin_addr, -1, NULL))
		addr.ss_family = AF_INET;
	else if (in6_pton(text, -1, ((struct sockaddr_in6 *)&addr)->sin6_addr.s6_addr, -1, NULL))
		addr.ss_family = AF_INET6;
	return weft_peers_longest(peers, &addr, &longest) ? longest : NONE;
}

static void peers_by_prefix(struct kunit *test)
{
	static const struct {
		const char *addr;
		u32 longest;
	} cases[] = {
		{ "10.1.2.3", 16384 }, { "10.1.2.2", WEFT_FPDU_ONE_SEGMENT },
		{ "10.1.3.255", WEFT_FPDU_ONE_SEGMENT }, { "10.1.4.0", NONE },
		{ "10.1.1.255", NONE }, { "11.1.2.3", NONE },
		{ "2001:db8::1", WEFT_FPDU_ANY_LENGTH },
		{ "2001:db8:0:7fff::", WEFT_FPDU_ANY_LENGTH }, { "2001:db8:0:8000::", NONE },
		{ "fd00::9", 512 }, { "fd00::8", 65536 },
		/* The same bytes in the other family. */
		{ "a01:203::", NONE }, { "32.1.13.184", NONE }, { "::ffff:10.1.2.3", NONE },
	};
	struct weft_peers peers;

	spin_lock_init(&peers.lock);
	peers.list.num = 0;
	KUNIT_EXPECT_EQ(test, said_of(&peers, "10.1.2.3"), NONE);
	add(test, &peers, "10.1.2.3=16384");
	add(test, &peers, "10.1.2.0/23=segment");
	add(test, &peers, "2001:db8::/49=large");
	add(test, &peers, "fd00::9=0512");	/* decimal, as every number here */
	add(test, &peers, "fd00::/16=65536");
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++)
		KUNIT_EXPECT_EQ_MSG(test, said_of(&peers, cases[i].addr), cases[i].longest, "%s",
				    cases[i].addr);
	/* A prefix of no bits is a family. */
	add(test, &peers, "0.0.0.0/0=1000");
	KUNIT_EXPECT_EQ(test, said_of(&peers, "192.0.2.1"), 1000U);
	KUNIT_EXPECT_EQ(test, said_of(&peers, "2001::"), NONE);
}

static void peers_misspelt(struct kunit *test)
{
	static const char *const cases[] = {
		"", "=", "10.0.0.1", "10.0.0.1=", "=16384", "10.0.0=16384", "10.0.0.256=16384",
		"10.0.0.1/33=16384", "10.0.0.1/=16384", "10.0.0.1/-1=16384", "10.0.0.1/8/8=16384",
		"10.0.0.1=511", "10.0.0.1=65537", "10.0.0.1=0x400", "10.0.0.1=-1", "10.0.0.1=long",
		"10.0.0.1=16384=1", "fd00::/129=16384", "fd00:::1=16384", "host=16384",
		"10.0.0.1x=16384", "fd00::1%eth0=16384",
	};
	char copy[PEER_TEXT];
	struct weft_fpdu_peer peer;

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		strscpy(copy, cases[i], sizeof(copy));
		KUNIT_EXPECT_EQ_MSG(test, weft_peer_parse(copy, &peer), -EINVAL, "%s", cases[i]);
	}
}

/* Sends 40,000 bytes to 10.0.0.2 while the list says this of it. Returns the longest FPDU. */
static u32 longest_sent(struct kunit *test, const char *entry, bool weft)
{
	struct tx_bench *t = bench_new(test);
	struct sockaddr_in *to = (struct sockaddr_in *)&t->e->fake->remote;
	u32 at, len, longest = 0;

	t->agreed.extended = weft;
	t->e->b->dev.settings.value[WEFT_SET_FPDU] = WEFT_FPDU_LARGE;
	to->sin_family = AF_INET;
	to->sin_addr.s_addr = in_aton("10.0.0.2");
	if (entry)
		add(test, &t->e->b->dev.settings.peers, entry);
	start(test, t, true);
	end_post(t->e, end_wr(t->e, WEFT_OP_SEND, 0, 40000));
	KUNIT_EXPECT_EQ(test, end_ring(t->e), 0);
	drain(test, t);
	for (at = 0; at < t->tape->len; at += len) {
		len = weft_fpdu_len(get_unaligned_be16(t->tape->bytes + at));
		longest = max(longest, len);
	}
	expect_message(test, t, send_hdr(1, 0, false), t->e->memory, 40000);
	expect_end(test, t);
	end_now(test, t);
	return longest;
}

/* An FPDU is as many whole segments long as the list allows, to Weft and to others. */
static void peers_are_sent(struct kunit *test)
{
	static const struct {
		const char *entry;
		u32 of_weft, of_others;
	} cases[] = {
		{ NULL, 40024, 1448 }, { "10.0.0.3=16384", 40024, 1448 },
		{ "10.0.0.0/24=segment", 1448, 1448 }, { "10.0.0.2=512", 1448, 1448 },
		{ "10.0.0.2=2895", 1448, 1448 }, { "10.0.0.2=2896", 2896, 2896 },
		{ "10.0.0.2=16384", 11 * 1448, 11 * 1448 }, { "10.0.0.2=large", 40024, 40024 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *name = cases[i].entry ?: "no entry";

		KUNIT_EXPECT_EQ_MSG(test, longest_sent(test, cases[i].entry, true),
				    cases[i].of_weft, "%s", name);
		KUNIT_EXPECT_EQ_MSG(test, longest_sent(test, cases[i].entry, false),
				    cases[i].of_others, "%s", name);
	}
}

A_SUITE(peers, bench, peers_by_prefix, peers_misspelt, peers_are_sent);
