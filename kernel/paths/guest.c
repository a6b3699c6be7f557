// SPDX-License-Identifier: GPL-2.0
/*
 * Several TCP connections as one stream, the responder: the listener for joins, and guests,
 * which are accepted connections that have not proved yet that they are the initiator's.
 */
#include <linux/random.h>

#include "paths/paths.h"

/* Time in which no newer guest replaces a guest: above two round trips of most networks. */
#define WEFT_PATHS_GUEST_TIME	WEFT_PATHS_TICK

/* Starts to listen at all addresses of the first path's family. */
static int paths_listen(struct weft_paths *p)
{
	struct sockaddr_storage any = { .ss_family = p->local.ss_family };
	struct weft_llp *llp;
	int ret;

	llp = weft_llp_open(p->below, p->net, any.ss_family, &weft_paths_ops, p);
	if (IS_ERR(llp))
		return PTR_ERR(llp);
	/* Accepted sockets inherit the application's cgroup from the listener. */
	ret = weft_paths_charge(p, llp);
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
		p->told = ret != -ENOMEM && ret != -ENOBUFS;
		return;
	}
	p->addrs.paths = p->wanted;
	p->addrs.num = weft_homes(p->net, &p->local, p->addrs.addr[0], WEFT_PATH_MAX_ADDRS);
	weft_path_encode(ulpdu, &hdr);
	/* A frame must not come between the bytes of another. */
	if (!p->path[0].current_frame)
		p->told = weft_paths_control(p, &p->path[0], fpdu,
					     weft_path_encode_addrs(ulpdu, &p->addrs));
}

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
		ret = weft_llp_recv(guest->llp, guest->buf + guest->have, all - guest->have);
		if (ret == -EAGAIN &&
		    time_before(jiffies, guest->since + WEFT_PATHS_JOIN_TIME))
			return 0;
		if (ret <= 0)
			return -ECONNRESET;
		guest->have += ret;
	}
	guest->have = 0;
	if (weft_get_be16(guest->buf) != WEFT_PATH_JOIN_LEN)
		return -EPROTO;
	if (p->terms.crc &&
	    !weft_crc_good(guest->buf + covered,
			   weft_crc_update(WEFT_CRC_SEED, guest->buf, covered)))
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
	    hdr.ssn >= p->wanted || weft_llp_addresses(guest->llp, &local, &remote))
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
	if (!p->told && weft_path_is_up(&p->path[0]))
		paths_tell(p);
	if (!p->told)
		again = WEFT_PATHS_TICK;
	/* Old guests first, because new guests may take their places. */
	for (guest = p->guest; guest < p->guest + WEFT_PATHS_MAX_JOINS; guest++) {
		if (guest->llp)
			guest_serve(p, guest);
		if (guest->llp)
			again = WEFT_PATHS_TICK;
	}
	while (p->listener && weft_llp_incoming(p->listener)) {
		if (!budget--)
			return 1;
		again = WEFT_PATHS_TICK;
		guest = guest_room(p);
		if (!guest)
			break;
		llp = weft_llp_accept(p->listener, &weft_paths_ops, p);
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
