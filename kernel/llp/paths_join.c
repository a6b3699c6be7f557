// SPDX-License-Identifier: GPL-2.0
/*
 * Several TCP connections as one stream, how paths join and leave. The responder awaits joins at a
 * port of the connection's namespace, and tells the initiator where (paths_guest.c); the
 * initiator connects to one of the addresses for each path that is missing (paths_home.c).
 *
 * Each end proves to the other that it has the key, which only the first path has carried, before
 * the other sends anything of the stream: the responder first, because the initiator may have
 * reached a stranger. What is wrong with either proof costs that connection and nothing else.
 */
#include <crypto/algapi.h>
#include <linux/siphash.h>
#include <net/ipv6.h>

#include "llp/paths.h"

/* How soon an address is tried again that a path led to, and another, which is tried ever less. */
#define WEFT_PATHS_AGAIN	(2 * HZ)
#define WEFT_PATHS_MAX_AGAIN	6

/* A path whose TCP has more unsent bytes than this gets no further frame. */
#define WEFT_PATHS_LOWAT	(128U << 10)

/* --- connections --- */

static void paths_news(struct weft_llp *llp)
{
	weft_paths_soon(llp->owner, 0);
}

const struct weft_llp_ops weft_paths_ops = {
	.readable = paths_news,
	.writable = paths_news,
	.changed = paths_news,
};

/* Puts a new socket into the cgroup of the others, which pays for its memory. */
int weft_paths_charge(struct weft_paths *p, struct weft_llp *llp)
{
	u32 i;

	lockdep_assert_held(&p->lock.mutex);
	for (i = 0; i < WEFT_MAX_PATHS; i++) {
		if (p->path[i].llp)
			return weft_llp_charge_like(llp, p->path[i].llp);
	}
	return -ENOTCONN;
}

/* Notes that a path of an initiator has ended, or never was: when to try its address again. */
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

/**
 * weft_path_prepare() - give a new connection what those of paths have
 * @p: the stream
 * @llp: the connection
 *
 * Context: process; takes the socket lock.
 */
void weft_path_prepare(const struct weft_paths *p, struct weft_llp *llp)
{
	weft_llp_set_timeouts(llp, p->terms.keepalive, p->terms.user_timeout);
	llp->class->path->set_lowat(llp, WEFT_PATHS_LOWAT);
}

/**
 * weft_path_up() - a connection has become a path
 * @p: the stream
 * @number: of the path
 * @llp: the connection, whose events come to @p; owned by the path from here on
 *
 * Context: process, @p->lock held.
 */
void weft_path_up(struct weft_paths *p, u32 number, struct weft_llp *llp)
{
	struct weft_path *path = &p->path[number];
	struct sockaddr_storage local;

	lockdep_assert_held(&p->lock.mutex);
	weft_llp_addresses(llp, &local, &path->remote);
	path->llp = llp;
	path->state = WEFT_PATH_UP;
	path->since = jiffies;
	path->broken = false;
	path->stalled = false;
	path->counts.joins++;
	weft_paths_soon(p, 0);
}

/**
 * weft_path_drop() - end a path; what it had is sent again on others
 * @p: the stream
 * @path: a path with a connection, maybe not up yet
 *
 * Context: process, @p->lock held.
 */
void weft_path_drop(struct weft_paths *p, struct weft_path *path)
{
	struct weft_llp *llp = path->llp;

	lockdep_assert_held(&p->lock.mutex);
	if (p->terms.initiator)
		weft_path_home_failed(p, path);
	if (path->state == WEFT_PATH_UP && !p->dying && !weft_paths_all_came(p)) {
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

/* --- frames without a number --- */

/**
 * weft_paths_say() - send a frame that has no number, on a connection that is no path yet, too
 * @p: the stream
 * @llp: the connection, which is made
 * @fpdu: the frame; its ULPDU is there
 * @ulpdu_len: length of the ULPDU
 *
 * Context: process, @p->lock held.
 * Return: 0; -EAGAIN if there is no room; another negative errno value if the connection is of no
 * more use.
 */
int weft_paths_say(const struct weft_paths *p, struct weft_llp *llp, u8 *fpdu, u32 ulpdu_len)
{
	u32 len;
	int ret;

	lockdep_assert_held(&p->lock.mutex);
	weft_fpdu_begin(fpdu, ulpdu_len);
	len = weft_fpdu_end(fpdu, ulpdu_len, p->terms.crc);
	ret = weft_llp_send(llp, fpdu, len);
	if (ret == (int)len)
		return 0;
	/* A part of a frame can't be taken back. */
	return ret < 0 ? ret : -EIO;
}

/**
 * weft_paths_control() - send a frame that has no number on a path
 * @p: the stream
 * @path: the path, whose connection is made
 * @fpdu: the frame; its ULPDU is there
 * @ulpdu_len: length of the ULPDU
 *
 * Context: process, @p->lock held.
 * Return: true if it was sent; false if there is no room, or the path is broken.
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

/* --- proofs --- */

/**
 * weft_path_addr() - an address as a claim and a frame of addresses have it
 * @to: result, WEFT_PATH_ADDR_LEN bytes
 * @from: the address of a socket
 *
 * Context: any.
 */
void weft_path_addr(u8 *to, const struct sockaddr_storage *from)
{
	struct in6_addr addr;

	if (from->ss_family == AF_INET)
		ipv6_addr_set_v4mapped(((const struct sockaddr_in *)from)->sin_addr.s_addr, &addr);
	else
		addr = ((const struct sockaddr_in6 *)from)->sin6_addr;
	memcpy(to, &addr, WEFT_PATH_ADDR_LEN);
}

/**
 * weft_path_proof() - the proof that a holder of the key gives
 * @p: the stream, which has the key
 * @claim: for what
 *
 * A guess costs a connection and is right once in 2^64. See docs/wire.md for why that is enough.
 *
 * Context: any.
 * Return: the proof.
 */
u64 weft_path_proof(const struct weft_paths *p, const struct weft_path_claim *claim)
{
	const siphash_key_t key = { {
		weft_get_be64(p->addrs.key), weft_get_be64(p->addrs.key + sizeof(u64)),
	} };
	u8 bytes[WEFT_PATH_CLAIM_LEN] __aligned(SIPHASH_ALIGNMENT);

	weft_path_encode_claim(bytes, claim);
	return siphash(bytes, sizeof(bytes), &key);
}

/* Returns true if a proof is the right one, without a hint in time at how much of it is. */
bool weft_path_proves(u64 proof, u64 right)
{
	return !crypto_memneq(&proof, &right, sizeof(proof));
}
