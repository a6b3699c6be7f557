// SPDX-License-Identifier: GPL-2.0
/*
 * Several TCP connections as one stream: how paths join and leave. The responder accepts joins
 * at a port of its own (guest.c); the initiator connects missing paths to it (home.c).
 *
 * Before data flows each end proves that it has the key, which only the first path has carried.
 * The responder is first, because the initiator may have reached a stranger. A wrong proof ends
 * that connection and nothing else.
 */
#include <crypto/algapi.h>
#include <linux/siphash.h>
#include <net/ipv6.h>

#include "paths/paths.h"

/*
 * Retry delay for an address that has worked, and the limit, as a power of two in seconds, for
 * one that has not.
 */
#define WEFT_PATHS_AGAIN	(2 * HZ)
#define WEFT_PATHS_MAX_AGAIN	6

/* A path with more unsent bytes in TCP than this gets no further frame. */
#define WEFT_PATHS_LOWAT	(128U << 10)

static void paths_news(struct weft_llp *llp)
{
	weft_paths_soon(llp->owner, 0);
}

const struct weft_llp_ops weft_paths_ops = {
	.readable = paths_news,
	.writable = paths_news,
	.changed = paths_news,
};

/* Charges a new socket to the cgroup of the other paths. */
int weft_paths_charge(struct weft_paths *p, struct weft_llp *llp)
{
	u32 i;

	lockdep_assert_held(&p->lock.mutex);
	for (i = 0; i < WEFT_MAX_PATHS; i++) {
		if (p->path[i].llp)
			return llp->class->charge_like(llp, p->path[i].llp);
	}
	return -ENOTCONN;
}

/* Sets the retry delay of the address of an initiator's path that ended or never came up. */
void weft_path_home_failed(struct weft_paths *p, const struct weft_path *path)
{
	struct weft_path_home *home = &p->home[path->home];

	lockdep_assert_held(&p->lock.mutex);
	if (path->heard) {
		home->good = true;
		home->failures = 0;
	} else {
		home->failures++;
	}
	home->next_try = jiffies + (home->good ? WEFT_PATHS_AGAIN :
				    HZ << min_t(u32, home->failures, WEFT_PATHS_MAX_AGAIN));
}

/* Sets the options of a path's connection. Takes its lock. */
void weft_path_prepare(const struct weft_paths *p, struct weft_llp *llp)
{
	llp->class->set_timeouts(llp, p->terms.keepalive, p->terms.user_timeout);
	llp->class->path->set_lowat(llp, WEFT_PATHS_LOWAT);
}

/* Makes @llp, whose events go to @p, the path @number, which owns it from here on. */
void weft_path_up(struct weft_paths *p, u32 number, struct weft_llp *llp)
{
	struct weft_path *path = &p->path[number];
	struct sockaddr_storage local;

	lockdep_assert_held(&p->lock.mutex);
	llp->class->addresses(llp, &local, &path->remote);
	path->llp = llp;
	path->state = WEFT_PATH_UP;
	path->since = jiffies;
	path->broken = false;
	path->stalled = false;
	path->counts.joins++;
	weft_paths_soon(p, 0);
}

/* Closes a path's connection; other paths retransmit its frames. */
void weft_path_drop(struct weft_paths *p, struct weft_path *path)
{
	struct weft_llp *llp = path->llp;

	lockdep_assert_held(&p->lock.mutex);
	if (p->terms.initiator)
		weft_path_home_failed(p, path);
	if (path->state == WEFT_PATH_UP && p->state != WEFT_LLP_DEAD && !weft_paths_all_came(p)) {
		path->counts.leaves++;
		weft_count(p->terms.counters, WEFT_CNT_PATH_LEAVES, 1);
		weft_paths_replay(p, path);
	}
	weft_path_let_go(path);
	kfree(path->coming);
	path->coming = NULL;
	path->have = 0;
	path->broken = false;
	path->heard = false;
	path->stalled = false;
	path->llp = NULL;
	weft_llp_close(llp, true);
}

/*
 * Sends a frame without a number, on any connection; its ULPDU is in @fpdu. Returns 0; -EAGAIN
 * without room; or another negative errno value if the connection is of no more use.
 */
int weft_paths_say(const struct weft_paths *p, struct weft_llp *llp, u8 *fpdu, u32 ulpdu_len)
{
	u32 len;
	int ret;

	lockdep_assert_held(&p->lock.mutex);
	weft_fpdu_begin(fpdu, ulpdu_len);
	len = weft_fpdu_end(fpdu, ulpdu_len, p->terms.crc);
	ret = llp->class->send(llp, fpdu, len);
	if (ret == (int)len)
		return 0;
	/* A frame cannot be recalled in part. */
	return ret < 0 ? ret : -EIO;
}

/*
 * Sends a frame without a number on a path. Returns false if it has no room, or is broken, for
 * which this sets @path->broken.
 */
bool weft_paths_control(struct weft_paths *p, struct weft_path *path, u8 *fpdu, u32 ulpdu_len)
{
	int ret = weft_paths_say(p, path->llp, fpdu, ulpdu_len);

	lockdep_assert_held(&p->lock.mutex);
	if (!ret) {
		path->counts.tx_bytes += weft_fpdu_len(ulpdu_len);
		weft_paths_soon(p, WEFT_PATHS_TICK);
		return true;
	}
	if (ret != -EAGAIN) {
		path->broken = true;
		weft_paths_soon(p, 0);
	}
	return false;
}

/* Writes the WEFT_PATH_ADDR_LEN bytes that a claim and a frame have for an address. */
void weft_path_addr(u8 *to, const struct sockaddr_storage *from)
{
	struct in6_addr addr;

	if (from->ss_family == AF_INET)
		ipv6_addr_set_v4mapped(((const struct sockaddr_in *)from)->sin_addr.s_addr, &addr);
	else
		addr = ((const struct sockaddr_in6 *)from)->sin6_addr;
	memcpy(to, &addr, WEFT_PATH_ADDR_LEN);
}

/*
 * Returns the proof of a claim under the key. A guess costs a connection and is right once in
 * 2^64; docs/wire.md says why that is enough.
 */
u64 weft_path_proof(const struct weft_paths *p, const struct weft_path_claim *claim)
{
	const siphash_key_t key = { {
		get_unaligned_be64(p->addrs.key), get_unaligned_be64(p->addrs.key + sizeof(u64)),
	} };
	u8 bytes[WEFT_PATH_CLAIM_LEN] __aligned(SIPHASH_ALIGNMENT);

	weft_path_encode_claim(bytes, claim);
	return siphash(bytes, sizeof(bytes), &key);
}

/* Compares proofs in constant time, so that the time tells nothing about the right one. */
bool weft_path_proves(u64 proof, u64 right)
{
	return !crypto_memneq(&proof, &right, sizeof(proof));
}
