// SPDX-License-Identifier: GPL-2.0
/*
 * Several TCP connections as one stream, the responder: the listener for joins, and guests,
 * which are accepted connections that have not proved yet that they are the initiator's.
 */
#include <linux/inetdevice.h>
#include <linux/random.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <rdma/ib_verbs.h>

#include "paths/paths.h"
#include "uapi/weft-abi.h"

#define WEFT_DRIVER	((enum rdma_driver_id)WEFT_DRIVER_ID)

/* Time in which no newer guest replaces a guest: above two round trips of most networks. */
#define WEFT_PATHS_GUEST_TIME	WEFT_PATHS_TICK

/* --- the addresses of this host at which more paths can begin --- */

/*
 * Returns true if @dev carries a Weft device that this namespace sees: only there has the
 * operator allowed RDMA, which is not encrypted.
 */
static bool carries_weft(struct net_device *dev)
{
	struct ib_device *ib = ib_device_get_by_netdev(dev, WEFT_DRIVER);
	bool seen;

	if (!ib)
		return false;
	seen = rdma_dev_access_netns(ib, dev_net(dev));
	ib_device_put(ib);
	return seen;
}

/* Writes @dev's IPv4 address for paths. Returns false if @dev has none, or has @first. */
static bool home_v4(struct net_device *dev, __be32 first, struct in6_addr *to)
{
	const struct in_device *in_dev = __in_dev_get_rcu(dev);
	const struct in_ifaddr *ifa;
	bool found = false;

	if (!in_dev)
		return false;
	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		if (ifa->ifa_local == first)
			return false;
		if (found || ifa->ifa_scope != RT_SCOPE_UNIVERSE)
			continue;
		ipv6_addr_set_v4mapped(ifa->ifa_local, to);
		found = true;
	}
	return found;
}

/* As home_v4(), for IPv6. */
static bool home_v6(struct net_device *dev, const struct in6_addr *first, struct in6_addr *to)
{
	const u32 unfit = IFA_F_TENTATIVE | IFA_F_DEPRECATED | IFA_F_TEMPORARY;
	struct inet6_dev *in6_dev = __in6_dev_get(dev);
	const struct inet6_ifaddr *ifp;
	bool found = false;

	if (!in6_dev)
		return false;
	list_for_each_entry_rcu(ifp, &in6_dev->addr_list, if_list) {
		if (ipv6_addr_equal(&ifp->addr, first))
			return false;
		if (found || (ifp->flags & unfit) ||
		    ipv6_addr_type(&ifp->addr) & (IPV6_ADDR_LINKLOCAL | IPV6_ADDR_LOOPBACK))
			continue;
		*to = ifp->addr;
		found = true;
	}
	return found;
}

/*
 * Lists a host's addresses for paths: @first, which the first path has, and one of its family
 * for each other device that is up and carries a Weft device. Writes at most @most, which is
 * not 0, in the format of a frame. Returns how many. Process context.
 */
static u32 paths_homes(struct net *net, const struct sockaddr_storage *first, u8 *addr, u32 most)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)first;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)first;
	bool is_v4 = first->ss_family == AF_INET;
	struct net_device *dev;
	struct in6_addr home;
	u32 num = 1;

	weft_path_addr(addr, first);
	rcu_read_lock();
	for_each_netdev_rcu(net, dev) {
		if (num == most)
			break;
		if (!(dev->flags & IFF_UP) || (dev->flags & IFF_LOOPBACK) || !carries_weft(dev))
			continue;
		if (is_v4 ? home_v4(dev, v4->sin_addr.s_addr, &home) :
			    IS_ENABLED(CONFIG_IPV6) && home_v6(dev, &v6->sin6_addr, &home))
			memcpy(addr + num++ * WEFT_PATH_ADDR_LEN, &home, sizeof(home));
	}
	rcu_read_unlock();
	return num;
}

/* --- the listener --- */

/* Starts to listen at all addresses of the first path's family. */
static int paths_listen(struct weft_paths *p)
{
	struct sockaddr_storage any = { .ss_family = p->local.ss_family };
	struct weft_llp *llp;
	int ret;

	llp = p->below->open(p->net, any.ss_family, &weft_paths_ops, p);
	if (IS_ERR(llp))
		return PTR_ERR(llp);
	/* Accepted sockets inherit the application's cgroup from the listener. */
	ret = weft_paths_charge(p, llp);
	if (!ret)
		ret = llp->class->bind(llp, &any, true);
	if (!ret)
		ret = llp->class->listen(llp, WEFT_PATHS_MAX_JOINS);
	if (ret) {
		weft_llp_close(llp, true);
		return ret;
	}
	p->listener = llp;
	p->addrs.port = llp->class->path->port(llp);
	return 0;
}

/*
 * Sends the peer the address to join at, once. Without memory the work retries; without a port
 * the stream stays with one path.
 */
static void paths_tell(struct weft_paths *p)
{
	const struct weft_path_hdr hdr = { .type = WEFT_PATH_ADDRESSES };
	u8 fpdu[WEFT_PATH_CONTROL_ROOM];
	u8 *ulpdu = fpdu + WEFT_MPA_LEN;
	int ret = 0;

	lockdep_assert_held(&p->lock.mutex);
	if (!p->listener)
		ret = paths_listen(p);
	if (ret) {
		p->addrs_done = ret != -ENOMEM && ret != -ENOBUFS;
		return;
	}
	p->addrs.paths = p->wanted;
	p->addrs.num = paths_homes(p->net, &p->local, p->addrs.addr[0], WEFT_PATH_MAX_ADDRS);
	weft_path_encode(ulpdu, &hdr);
	/* A frame must not come between the bytes of another. */
	if (!p->path[0].current_frame)
		p->addrs_done = weft_paths_control(p, &p->path[0], fpdu,
						   weft_path_encode_addrs(ulpdu, &p->addrs));
}

/* --- guests --- */

/* Closes a guest that has not joined. */
static void guest_refuse(struct weft_paths *p, struct weft_path_guest *guest)
{
	weft_count(p->terms.counters, WEFT_CNT_PATH_REFUSED, 1);
	weft_llp_close(guest->llp, true);
	memset(guest, 0, sizeof(*guest));
}

/*
 * Receives a guest's join or answer, which have one length, and no byte behind it. Returns 1 if
 * it is complete, 0 if not yet, or a negative errno value.
 */
static int guest_hear(struct weft_paths *p, struct weft_path_guest *guest)
{
	u32 all = weft_fpdu_len(WEFT_PATH_JOIN_LEN), covered = all - WEFT_CRC_LEN;
	int ret;

	lockdep_assert_held(&p->lock.mutex);
	while (guest->have < all) {
		ret = guest->llp->class->recv(guest->llp, guest->buf + guest->have,
					      all - guest->have);
		if (ret == -EAGAIN && time_before(jiffies, guest->since + WEFT_PATHS_JOIN_TIME))
			return 0;
		if (ret <= 0)
			return -ECONNRESET;
		guest->have += ret;
	}
	guest->have = 0;
	if (get_unaligned_be16(guest->buf) != WEFT_PATH_JOIN_LEN)
		return -EPROTO;
	if (p->terms.crc &&
	    !weft_crc_good(guest->buf + covered,
			   crc32c(WEFT_CRC_SEED, guest->buf, covered)))
		return -EPROTO;
	return 1;
}

/*
 * Handles a join: the guest gets a challenge with this end's proof, and has to answer by
 * another proof. Returns false if the frame is no join, or no challenge can be sent.
 */
static bool guest_asks(struct weft_paths *p, struct weft_path_guest *guest)
{
	struct weft_path_claim claim = { .responder = true };
	const u8 *ulpdu = guest->buf + WEFT_MPA_LEN;
	u8 fpdu[WEFT_PATH_CHALLENGE_ROOM];
	u8 *challenge = fpdu + WEFT_MPA_LEN;
	struct sockaddr_storage local, remote;
	struct weft_path_hdr hdr;

	lockdep_assert_held(&p->lock.mutex);
	if (!weft_path_decode(ulpdu, WEFT_PATH_JOIN_LEN, &hdr) || hdr.type != WEFT_PATH_JOIN ||
	    hdr.ssn >= p->wanted || guest->llp->class->addresses(guest->llp, &local, &remote))
		return false;
	claim.number = hdr.ssn;
	/* The initiator's proof is for the address that it chose, so a stranger cannot relay it. */
	weft_path_addr(claim.addr, &local);
	claim.joined = weft_path_number(ulpdu, 0);
	get_random_bytes(&claim.challenged, sizeof(claim.challenged));
	hdr = (struct weft_path_hdr){ .type = WEFT_PATH_CHALLENGE, .ssn = claim.number };
	weft_path_encode(challenge, &hdr);
	weft_path_put_number(challenge, 0, claim.challenged);
	weft_path_put_number(challenge, 1, weft_path_proof(p, &claim));
	claim.responder = false;
	guest->proof = weft_path_proof(p, &claim);
	guest->number = claim.number;
	guest->asked = true;
	return !weft_paths_say(p, guest->llp, fpdu, WEFT_PATH_CHALLENGE_LEN);
}

/* Returns true if the guest's answer has the right proof. */
static bool guest_proves(const struct weft_path_guest *guest)
{
	const u8 *ulpdu = guest->buf + WEFT_MPA_LEN;
	struct weft_path_hdr hdr;

	return weft_path_decode(ulpdu, WEFT_PATH_JOIN_LEN, &hdr) &&
	       hdr.type == WEFT_PATH_ANSWER && hdr.ssn == guest->number &&
	       weft_path_proves(weft_path_number(ulpdu, 0), guest->proof);
}

/* Makes a guest a path, in place of the path with its number. */
static void guest_joins(struct weft_paths *p, struct weft_path_guest *guest)
{
	struct weft_path *path = &p->path[guest->number];
	struct weft_llp *llp = guest->llp;

	lockdep_assert_held(&p->lock.mutex);
	if (weft_paths_charge(p, llp)) {
		guest_refuse(p, guest);
		return;
	}
	memset(guest, 0, sizeof(*guest));
	weft_path_prepare(p, llp);
	if (path->llp)
		weft_path_drop(p, path);
	weft_path_up(p, path - p->path, llp);
	weft_count(p->terms.counters, WEFT_CNT_PATH_JOINS, 1);
	/* Tells the initiator that its answer was right, even if no data flows. */
	weft_path_ack(p, path);
}

/* Handles one frame of a guest; a further frame makes an event. */
static void guest_serve(struct weft_paths *p, struct weft_path_guest *guest)
{
	int ret = guest_hear(p, guest);

	lockdep_assert_held(&p->lock.mutex);
	if (!ret)
		return;
	if (ret > 0 && guest->asked && guest_proves(guest))
		guest_joins(p, guest);
	else if (ret < 0 || guest->asked || !guest_asks(p, guest))
		guest_refuse(p, guest);
}

/*
 * Returns a free entry, or the oldest guest if its time is over, or NULL. The time keeps
 * a stranger that connects again and again from replacing a guest whose answer is on its way.
 */
static struct weft_path_guest *guest_room(struct weft_paths *p)
{
	struct weft_path_guest *guest, *oldest = &p->guest[0];

	lockdep_assert_held(&p->lock.mutex);
	for (guest = p->guest; guest < p->guest + WEFT_PATHS_MAX_JOINS; guest++) {
		if (!guest->llp)
			return guest;
		if (time_before(guest->since, oldest->since))
			oldest = guest;
	}
	if (time_before(jiffies, oldest->since + WEFT_PATHS_GUEST_TIME))
		return NULL;
	return oldest;
}

/*
 * Runs the responder's part: sends the addresses, and handles old and new guests. Returns after
 * which delay to call it again; 1: at once; 0: no need.
 */
unsigned long weft_paths_host(struct weft_paths *p)
{
	u32 budget = WEFT_PATHS_MAX_JOINS;
	struct weft_path_guest *guest;
	unsigned long again = 0;
	struct weft_llp *llp;

	lockdep_assert_held(&p->lock.mutex);
	if (!p->addrs_done && weft_path_is_up(&p->path[0]))
		paths_tell(p);
	if (!p->addrs_done)
		again = WEFT_PATHS_TICK;
	/* Old guests first, because new guests may take their places. */
	for (guest = p->guest; guest < p->guest + WEFT_PATHS_MAX_JOINS; guest++) {
		if (guest->llp)
			guest_serve(p, guest);
		if (guest->llp)
			again = WEFT_PATHS_TICK;
	}
	while (p->listener && p->listener->class->incoming(p->listener)) {
		if (!budget--)
			return 1;
		again = WEFT_PATHS_TICK;
		guest = guest_room(p);
		if (!guest)
			break;
		llp = p->listener->class->accept(p->listener, &weft_paths_ops, p);
		if (IS_ERR(llp))
			break;
		if (guest->llp)
			guest_refuse(p, guest);
		guest->llp = llp;
		guest->since = jiffies;
		/* Bytes from before the acceptance make no event. */
		guest_serve(p, guest);
	}
	return again;
}
