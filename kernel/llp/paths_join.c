// SPDX-License-Identifier: GPL-2.0
/*
 * Several TCP connections as one stream, how paths join. The responder awaits joins at a port of
 * the connection's namespace, and tells the initiator where; the initiator connects to
 * one of the addresses for each path that is missing.
 *
 * A join has to say a key that only the peer was told, over the first path; and so has its answer,
 * before anything of the stream is sent to who gave it. What is wrong with either costs that
 * connection and nothing else.
 */
#include <crypto/algapi.h>
#include <linux/random.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>

#include "llp/paths.h"
#include "llp/sock.h"

/* How long a join may take, from TCP's handshake to the key, and from there to its answer. */
#define WEFT_PATHS_JOIN_TIME	(3 * HZ)
/* How soon an address is tried again that a path led to, and another, which is tried ever less. */
#define WEFT_PATHS_AGAIN	(2 * HZ)
#define WEFT_PATHS_MAX_AGAIN	6
/* An address that failed so often may be of no use. */
#define WEFT_PATHS_HOPELESS	2

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
static int paths_charge(struct weft_paths *p, struct weft_llp *llp)
{
	u32 i;

	lockdep_assert_held(&p->lock);
	for (i = 0; i < WEFT_MAX_PATHS; i++) {
		if (p->path[i].llp)
			return weft_llp_charge_like(llp, p->path[i].llp);
	}
	return -ENOTCONN;
}

/* Notes that a path of an initiator has ended, or never was: when to try its address again. */
static void home_failed(struct weft_paths *p, const struct weft_path *path)
{
	struct weft_path_home *home = &p->home[path->home];

	lockdep_assert_held(&p->lock);
	if (path->state == WEFT_PATH_UP) {
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

	lockdep_assert_held(&p->lock);
	weft_llp_addresses(llp, &local, &path->remote);
	path->llp = llp;
	path->state = WEFT_PATH_UP;
	path->since = jiffies;
	path->broken = false;
	path->stalled = false;
	path->counts.joins++;
	weft_count(p->terms.counters, WEFT_CNT_PATH_JOINS, 1);
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

	lockdep_assert_held(&p->lock);
	if (p->terms.initiator)
		home_failed(p, path);
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
	path->stalled = false;
	path->llp = NULL;
	weft_llp_close(llp, true);
}

/* --- the responder --- */

/* Begins to listen, at all addresses of the family that the first path has. */
static int paths_listen(struct weft_paths *p)
{
	struct sockaddr_storage any = { .ss_family = p->local.ss_family };
	struct weft_llp *llp;
	int ret;

	llp = weft_llp_open(p->below, p->net, any.ss_family, &weft_paths_ops, p);
	if (IS_ERR(llp))
		return PTR_ERR(llp);
	/* In the cgroup of the application, as the sockets that it accepts then are. */
	ret = paths_charge(p, llp);
	if (!ret)
		ret = weft_llp_bind(llp, &any, true);
	if (!ret)
		ret = weft_llp_listen(llp, WEFT_PATHS_MAX_JOINS);
	if (ret) {
		weft_llp_close(llp, true);
		return ret;
	}
	p->listener = llp;
	p->addrs.port = llp->class->path->port(llp);
	return 0;
}

/* Tells the peer where to join, once. Without a port it is not told, and one path has to do. */
static void paths_tell(struct weft_paths *p)
{
	const struct weft_path_hdr hdr = { .type = WEFT_PATH_ADDRESSES };
	u8 fpdu[WEFT_PATH_CONTROL_ROOM];
	u8 *ulpdu = fpdu + WEFT_MPA_LEN;

	lockdep_assert_held(&p->lock);
	if (!p->listener && paths_listen(p)) {
		p->told = true;
		return;
	}
	p->addrs.paths = p->terms.paths;
	p->addrs.num = weft_homes(p->net, &p->local, (struct in6_addr *)p->addrs.addr,
				  WEFT_PATH_MAX_ADDRS);
	weft_path_encode(ulpdu, &hdr);
	/* Nobody has sent anything before, so it is not amid another frame. */
	if (!p->path[0].current_frame)
		p->told = weft_paths_control(p, &p->path[0], fpdu,
					     weft_path_encode_addrs(ulpdu, &p->addrs));
}

static void guest_leave(struct weft_path_guest *guest)
{
	weft_llp_close(guest->llp, true);
	memset(guest, 0, sizeof(*guest));
}

/* Returns the number of the path that a join is for, or -1 if it is to be refused. */
static int guest_number(const struct weft_paths *p, const struct weft_path_guest *guest)
{
	const u8 *ulpdu = guest->buf + WEFT_MPA_LEN;
	u32 covered = weft_fpdu_len(WEFT_PATH_JOIN_LEN) - WEFT_CRC_LEN;
	struct weft_path_hdr hdr;
	u64 key;

	if (weft_get_be16(guest->buf) != WEFT_PATH_JOIN_LEN ||
	    !weft_path_decode(ulpdu, WEFT_PATH_JOIN_LEN, &hdr) || hdr.type != WEFT_PATH_JOIN)
		return -1;
	if (p->terms.crc &&
	    !weft_crc_good(guest->buf + covered,
			   weft_crc_update(WEFT_CRC_SEED, guest->buf, covered)))
		return -1;
	key = weft_path_key(ulpdu);
	if (crypto_memneq(&key, &p->addrs.key, sizeof(key)) || hdr.ssn >= p->terms.paths)
		return -1;
	return hdr.ssn;
}

/* Makes a path of a connection that has said the key, in place of the one with its number. */
static void guest_joins(struct weft_paths *p, struct weft_path_guest *guest, u32 number)
{
	const struct weft_path_hdr hdr = { .type = WEFT_PATH_JOINED, .ssn = number };
	struct weft_path *path = &p->path[number];
	struct weft_llp *llp = guest->llp;
	u8 fpdu[WEFT_PATH_JOIN_ROOM];

	lockdep_assert_held(&p->lock);
	if (paths_charge(p, llp)) {
		guest_leave(guest);
		return;
	}
	memset(guest, 0, sizeof(*guest));
	weft_path_prepare(p, llp);
	if (path->llp)
		weft_path_drop(p, path);
	weft_path_up(p, number, llp);
	weft_path_encode(fpdu + WEFT_MPA_LEN, &hdr);
	weft_path_put_key(fpdu + WEFT_MPA_LEN, p->addrs.answer);
	if (!weft_paths_control(p, path, fpdu, WEFT_PATH_JOIN_LEN))
		path->broken = true;
}

/* Reads what a guest has said, no byte behind its join. */
static void guest_read(struct weft_paths *p, struct weft_path_guest *guest)
{
	u32 all = weft_fpdu_len(WEFT_PATH_JOIN_LEN);
	int ret = -EAGAIN, number;

	lockdep_assert_held(&p->lock);
	while (guest->have < all) {
		ret = weft_llp_recv(guest->llp, guest->buf + guest->have,
				    all - guest->have);
		if (ret <= 0)
			break;
		guest->have += ret;
	}
	if (guest->have < all && ret == -EAGAIN &&
	    time_before(jiffies, guest->since + WEFT_PATHS_JOIN_TIME))
		return;
	number = guest->have == all ? guest_number(p, guest) : -1;
	if (number >= 0) {
		guest_joins(p, guest, number);
		return;
	}
	weft_count(p->terms.counters, WEFT_CNT_PATH_REFUSED, 1);
	guest_leave(guest);
}

/* Returns room for a guest, at the cost of the one that has been here for longest. */
static struct weft_path_guest *guest_room(struct weft_paths *p)
{
	struct weft_path_guest *guest, *oldest = &p->guest[0];

	for (guest = p->guest; guest < p->guest + WEFT_PATHS_MAX_JOINS; guest++) {
		if (!guest->llp)
			return guest;
		if (time_before(guest->since, oldest->since))
			oldest = guest;
	}
	weft_count(p->terms.counters, WEFT_CNT_PATH_REFUSED, 1);
	guest_leave(oldest);
	return oldest;
}

/* Lets in who has connected, a few at a time. Returns when to look again, 0: not needed. */
static unsigned long paths_await(struct weft_paths *p)
{
	u32 budget = WEFT_PATHS_MAX_JOINS;
	struct weft_path_guest *guest;
	unsigned long again = 0;
	struct weft_llp *llp;

	lockdep_assert_held(&p->lock);
	if (!p->told && weft_path_is_up(&p->path[0]))
		paths_tell(p);
	if (!p->told)
		again = WEFT_PATHS_TICK;
	while (p->listener && weft_llp_incoming(p->listener)) {
		if (!budget--)
			return 1;
		llp = weft_llp_accept(p->listener, &weft_paths_ops, p);
		if (IS_ERR(llp))
			return WEFT_PATHS_TICK;
		guest = guest_room(p);
		guest->llp = llp;
		guest->since = jiffies;
	}
	for (guest = p->guest; guest < p->guest + WEFT_PATHS_MAX_JOINS; guest++) {
		if (guest->llp)
			guest_read(p, guest);
		if (guest->llp)
			again = WEFT_PATHS_TICK;
	}
	return again;
}

/* --- the initiator --- */

/*
 * Returns true if the initiator may connect to an address that the peer has told: one of a host
 * that is not this one, or the one that it is connected to. A peer could else have it
 * speak to what only this host can reach.
 */
static bool home_is_fit(const struct weft_paths *p, const struct in6_addr *addr)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&p->remote;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&p->remote;
	__be32 v4_addr = addr->s6_addr32[3];

	if (ipv6_addr_v4mapped(addr))
		return (p->remote.ss_family == AF_INET && v4->sin_addr.s_addr == v4_addr) ||
		       !(ipv4_is_loopback(v4_addr) || ipv4_is_zeronet(v4_addr) ||
			 ipv4_is_multicast(v4_addr) || ipv4_is_lbcast(v4_addr));
	return (p->remote.ss_family == AF_INET6 && ipv6_addr_equal(&v6->sin6_addr, addr)) ||
	       !(ipv6_addr_any(addr) || ipv6_addr_loopback(addr) || ipv6_addr_is_multicast(addr) ||
		 (ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL));
}

/**
 * weft_paths_told() - the peer has told where to join
 * @p: the stream
 * @ulpdu: its frame, which is well-formed
 *
 * Context: process, @p->lock held.
 * Return: false if it was not to tell.
 */
bool weft_paths_told(struct weft_paths *p, const u8 *ulpdu)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&p->remote;
	int device = v6->sin6_family == AF_INET6 ? v6->sin6_scope_id : 0;
	const struct in6_addr *addr;
	struct weft_path_home *home;
	u32 i;

	lockdep_assert_held(&p->lock);
	if (!p->terms.initiator || p->told)
		return false;
	weft_path_decode_addrs(ulpdu, &p->addrs);
	for (i = 0; i < p->addrs.num; i++) {
		addr = (const struct in6_addr *)p->addrs.addr[i];
		if (!home_is_fit(p, addr))
			continue;
		home = &p->home[p->num_homes++];
		weft_sock_name_v6(&home->addr, addr, htons(p->addrs.port), device);
		home->next_try = jiffies;
	}
	p->told = true;
	/* What connects there has looked before. */
	weft_paths_soon(p, 0);
	return true;
}

/* Returns how many paths lead to an address, or try to. */
static u32 home_paths(const struct weft_paths *p, u32 home)
{
	u32 i, num = 0;

	for (i = 0; i < WEFT_MAX_PATHS; i++)
		num += p->path[i].llp && p->path[i].home == home;
	return num;
}

/*
 * Returns the address that the next path leads to: one with the fewest. While one with fewer may
 * yet be reached, that is waited for. Returns -1 if none can be tried now.
 */
static int paths_choose_home(const struct weft_paths *p)
{
	u32 i, num, least = U32_MAX, hoped = U32_MAX;
	const struct weft_path_home *home;
	int best = -1;

	for (i = 0; i < p->num_homes; i++) {
		home = &p->home[i];
		num = home_paths(p, i);
		if (home->good || home->failures < WEFT_PATHS_HOPELESS)
			hoped = min(hoped, num);
		if (num < least && time_after_eq(jiffies, home->next_try)) {
			least = num;
			best = i;
		}
	}
	return least <= hoped ? best : -1;
}

/* Begins to connect a path. */
static void path_connect(struct weft_paths *p, struct weft_path *path, u32 number)
{
	const struct sockaddr_storage *addr = &p->home[number].addr;
	struct weft_llp *llp;

	lockdep_assert_held(&p->lock);
	path->state = WEFT_PATH_CONNECTING;
	path->home = number;
	path->since = jiffies;
	llp = weft_llp_open(p->below, p->net, addr->ss_family, &weft_paths_ops, p);
	if (IS_ERR(llp)) {
		home_failed(p, path);
		return;
	}
	weft_path_prepare(p, llp);
	path->broken = paths_charge(p, llp);
	path->llp = llp;
	if (!path->broken && weft_llp_connect(llp, addr))
		path->broken = true;
}

/* Asks to join over a connection that has been made, or gives up what takes too long. */
static void path_ask(struct weft_paths *p, struct weft_path *path)
{
	const struct weft_path_hdr hdr = { .type = WEFT_PATH_JOIN, .ssn = path - p->path };
	u8 fpdu[WEFT_PATH_JOIN_ROOM];

	lockdep_assert_held(&p->lock);
	if (path->state == WEFT_PATH_CONNECTING &&
	    weft_llp_state(path->llp) == WEFT_LLP_OPEN) {
		weft_path_encode(fpdu + WEFT_MPA_LEN, &hdr);
		weft_path_put_key(fpdu + WEFT_MPA_LEN, p->addrs.key);
		path->state = WEFT_PATH_ASKED;
		path->since = jiffies;
		if (!weft_paths_control(p, path, fpdu, WEFT_PATH_JOIN_LEN))
			path->broken = true;
	}
	if (weft_llp_state(path->llp) == WEFT_LLP_DEAD ||
	    time_after(jiffies, path->since + WEFT_PATHS_JOIN_TIME))
		path->broken = true;
}

/* Has paths made that are missing. Returns when to look again, 0: not needed. */
static unsigned long paths_seek(struct weft_paths *p)
{
	unsigned long again = 0;
	struct weft_path *path;
	int home;
	u32 i;

	lockdep_assert_held(&p->lock);
	for (i = 0; p->told && i < min_t(u32, p->terms.paths, p->addrs.paths); i++) {
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

/**
 * weft_paths_gather() - have paths join
 * @p: the stream
 *
 * Context: process, @p->lock held.
 * Return: how soon to call it again without an event; 0: not needed.
 */
unsigned long weft_paths_gather(struct weft_paths *p)
{
	return p->terms.initiator ? paths_seek(p) : paths_await(p);
}
