// SPDX-License-Identifier: GPL-2.0
/*
 * Several TCP connections as one stream, the initiator: homes, which are the responder's
 * addresses, and the paths that lead there.
 */
#include <linux/random.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>

#include "paths/paths.h"

/* After this many failures no path waits for an address that never worked. */
#define WEFT_PATHS_HOPELESS	2

/*
 * Returns true if the initiator may connect to an address from the peer: the peer's own, or one
 * of another host. Otherwise a peer could make it speak to services that only this host
 * reaches, and past packet filters, which let a host's traffic to itself through.
 */
static bool home_is_fit(const struct weft_paths *p, const struct sockaddr_storage *home)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)home;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)home;
	struct net_device *own;
	u8 addr[2][WEFT_PATH_ADDR_LEN];

	weft_path_addr(addr[0], home);
	weft_path_addr(addr[1], &p->remote);
	/* @p->remote is unset if the peer was gone at the beginning. */
	if (p->remote.ss_family && !memcmp(addr[0], addr[1], WEFT_PATH_ADDR_LEN))
		return true;
	if (home->ss_family == AF_INET ?
	    ipv4_is_loopback(v4->sin_addr.s_addr) || ipv4_is_zeronet(v4->sin_addr.s_addr) ||
	    ipv4_is_multicast(v4->sin_addr.s_addr) || ipv4_is_lbcast(v4->sin_addr.s_addr) :
	    ipv6_addr_any(&v6->sin6_addr) || ipv6_addr_loopback(&v6->sin6_addr) ||
	    ipv6_addr_is_multicast(&v6->sin6_addr) ||
	    (ipv6_addr_type(&v6->sin6_addr) & IPV6_ADDR_LINKLOCAL))
		return false;
	own = weft_addr_netdev(p->net, home);
	dev_put(own);
	return !own;
}

/*
 * Stores the addresses of the peer's frame, which is well-formed. Returns false if the peer may
 * not send them, or not again.
 */
bool weft_paths_take_addrs(struct weft_paths *p, const u8 *ulpdu)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&p->remote;
	int device = v6->sin6_family == AF_INET6 ? v6->sin6_scope_id : 0;
	struct weft_path_home *home;
	u32 i;

	lockdep_assert_held(&p->lock.mutex);
	if (!p->terms.initiator || p->addrs_done)
		return false;
	weft_path_decode_addrs(ulpdu, &p->addrs);
	for (i = 0; i < p->addrs.num; i++) {
		home = &p->home[p->num_homes];
		weft_sock_name_v6(&home->addr, (const struct in6_addr *)p->addrs.addr[i],
				  htons(p->addrs.port), device);
		home->next_try = jiffies;
		p->num_homes += home_is_fit(p, &home->addr);
	}
	p->addrs_done = true;
	/* weft_paths_seek() ran before this frame was read. */
	weft_paths_soon(p, 0);
	return true;
}

/*
 * Returns the address for the next path: the one with the fewest paths, or -1 if none can be
 * tried now. Waits for an address with fewer paths as long as there is hope for it.
 */
static int paths_choose_home(const struct weft_paths *p)
{
	u32 i, j, num, least = U32_MAX, hoped = U32_MAX;
	const struct weft_path_home *home;
	int best = -1;

	for (i = 0; i < p->num_homes; i++) {
		home = &p->home[i];
		/* The paths that lead there, or are being connected. */
		for (j = 0, num = 0; j < WEFT_MAX_PATHS; j++)
			num += p->path[j].llp && p->path[j].home == i;
		if (home->good || home->failures < WEFT_PATHS_HOPELESS)
			hoped = min(hoped, num);
		if (num < least && time_after_eq(jiffies, home->next_try)) {
			least = num;
			best = i;
		}
	}
	return least <= hoped ? best : -1;
}

static void path_connect(struct weft_paths *p, struct weft_path *path, u32 number)
{
	const struct sockaddr_storage *addr = &p->home[number].addr;
	struct weft_llp *llp;

	lockdep_assert_held(&p->lock.mutex);
	path->state = WEFT_PATH_CONNECTING;
	path->home = number;
	path->since = jiffies;
	/* This host may have got the address meanwhile. */
	if (!home_is_fit(p, addr)) {
		weft_path_home_failed(p, path);
		return;
	}
	llp = p->below->open(p->net, addr->ss_family, &weft_paths_ops, p);
	if (IS_ERR(llp)) {
		weft_path_home_failed(p, path);
		return;
	}
	weft_path_prepare(p, llp);
	path->broken = weft_paths_charge(p, llp);
	path->llp = llp;
	if (!path->broken && llp->class->connect(llp, addr))
		path->broken = true;
}

/* Sends the join on a new connection; breaks the path after a failure or a timeout. */
static void path_ask(struct weft_paths *p, struct weft_path *path)
{
	const struct weft_path_hdr hdr = { .type = WEFT_PATH_JOIN, .ssn = path - p->path };
	u8 fpdu[WEFT_PATH_JOIN_ROOM];

	lockdep_assert_held(&p->lock.mutex);
	if (path->state == WEFT_PATH_CONNECTING &&
	    path->llp->class->state(path->llp) == WEFT_LLP_OPEN) {
		get_random_bytes(&path->nonce, sizeof(path->nonce));
		weft_path_encode(fpdu + WEFT_MPA_LEN, &hdr);
		weft_path_put_number(fpdu + WEFT_MPA_LEN, 0, path->nonce);
		path->state = WEFT_PATH_ASKED;
		path->since = jiffies;
		if (!weft_paths_control(p, path, fpdu, WEFT_PATH_JOIN_LEN))
			path->broken = true;
	}
	if (path->llp->class->state(path->llp) == WEFT_LLP_DEAD ||
	    time_after(jiffies, path->since + WEFT_PATHS_JOIN_TIME))
		path->broken = true;
}

/*
 * Handles the first frame on a path that has sent a join. Returns true if its sender has proved
 * that it is the peer.
 */
bool weft_path_challenged(struct weft_paths *p, struct weft_path *path,
			  const struct weft_path_hdr *hdr, const u8 *ulpdu)
{
	struct weft_path_claim claim = { .responder = true, .number = path - p->path };

	lockdep_assert_held(&p->lock.mutex);
	if (path->state != WEFT_PATH_ASKED || hdr->type != WEFT_PATH_CHALLENGE ||
	    hdr->ssn != claim.number)
		return false;
	weft_path_addr(claim.addr, &p->home[path->home].addr);
	claim.joined = path->nonce;
	claim.challenged = weft_path_number(ulpdu, 0);
	if (!weft_path_proves(weft_path_number(ulpdu, 1), weft_path_proof(p, &claim)))
		return false;
	claim.responder = false;
	path->answer = weft_path_proof(p, &claim);
	path->state = WEFT_PATH_CHALLENGED;
	return true;
}

/* Answers the challenge; segments may follow at once. Takes the lock of the path's connection. */
void weft_path_answer(struct weft_paths *p, struct weft_path *path)
{
	const struct weft_path_hdr hdr = { .type = WEFT_PATH_ANSWER, .ssn = path - p->path };
	u8 fpdu[WEFT_PATH_JOIN_ROOM];

	lockdep_assert_held(&p->lock.mutex);
	weft_path_encode(fpdu + WEFT_MPA_LEN, &hdr);
	weft_path_put_number(fpdu + WEFT_MPA_LEN, 0, path->answer);
	if (!weft_paths_control(p, path, fpdu, WEFT_PATH_JOIN_LEN)) {
		path->broken = true;
		return;
	}
	weft_path_up(p, hdr.ssn, path->llp);
	weft_count(p->terms.counters, WEFT_CNT_PATH_JOINS, 1);
}

/*
 * Runs the initiator's part: connects missing paths. Returns after which delay to call it
 * again; 0: no need.
 */
unsigned long weft_paths_seek(struct weft_paths *p)
{
	unsigned long again = 0;
	struct weft_path *path;
	int home;
	u32 i;

	lockdep_assert_held(&p->lock.mutex);
	for (i = 0; p->addrs_done && i < min_t(u32, p->wanted, p->addrs.paths); i++) {
		path = &p->path[i];
		home = path->llp ? -1 : paths_choose_home(p);
		if (home >= 0)
			path_connect(p, path, home);
		if (path->llp && path->state != WEFT_PATH_UP) {
			path_ask(p, path);
			again = WEFT_PATHS_TICK;
		} else if (!path->llp && !again) {
			again = HZ;
		}
		if (path->llp && path->broken) {
			weft_path_drop(p, path);
			again = again ?: HZ;
		}
	}
	return again;
}
