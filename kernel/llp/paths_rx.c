// SPDX-License-Identifier: GPL-2.0
/*
 * Several TCP connections as one stream, how frames come: those of each path are taken off
 * its connection, and become segments with numbers. llp.h describes the functions of
 * struct weft_llp_flow.
 *
 * A segment is told of when all of its frame is here and the CRC is good, so that nothing
 * damaged is placed.
 *
 * A path whose bytes are damaged ends alone, as if it had been reset. A whole frame that breaks the
 * rules ends the stream: its sender does not do what both have agreed.
 */
#include <linux/sched/mm.h>
#include <net/sock.h>

#include "base/compat.h"
#include "llp/paths.h"
#include "wire/fpdu.h"

/* Frames received on one path before other work gets a turn. */
#define WEFT_PATHS_BUDGET	256

/* What the actor of a path's packet buffers has to know. */
struct paths_reader {
	struct weft_paths *p;
	struct weft_path *path;
	u32 budget;
};

/* The length of the frame that is coming on a path, whose head is here. */
static u32 frame_len(const struct weft_path *path)
{
	return weft_fpdu_len(weft_get_be16(path->head));
}

/* Returns true if a whole frame is here that was not taken, since there was no memory. */
static bool frame_waits(const struct weft_path *path)
{
	return path->coming && path->have == frame_len(path);
}

/* Returns true if a frame's CRC is good, or none is in use. */
static bool frame_good(const struct weft_paths *p, const struct weft_path *path)
{
	u32 covered = frame_len(path) - WEFT_PATH_HEAD - WEFT_CRC_LEN, crc;
	const u8 *rest = path->coming->data;

	if (!p->terms.crc)
		return true;
	crc = weft_crc_update(WEFT_CRC_SEED, path->head, WEFT_PATH_HEAD);
	return weft_crc_good(rest + covered, weft_crc_update(crc, rest, covered));
}

/*
 * Takes a segment. Returns 0 if it is kept, -EEXIST if it has come before, -ENOMEM, or -EPROTO if
 * its sender may not have sent it yet, or if it is behind the end.
 */
static int segment_came(struct weft_paths *p, u32 ssn, struct weft_arrival *segment)
{
	int ret;

	if (weft_path_before(ssn, p->arrivals.turn))
		return -EEXIST;
	if (ssn - p->arrivals.turn >= WEFT_PATH_WINDOW ||
	    (p->ends && !weft_path_before(ssn, p->end)))
		return -EPROTO;
	if (xa_load(&p->arrivals.by_number, ssn))
		return -EEXIST;
	/* What was placed takes next to none, so this much is more than the peer may send. */
	if (p->arrivals.held + segment->len > WEFT_PATH_WINDOW_BYTES)
		return -EPROTO;
	segment->number = ssn;
	ret = weft_arrivals_add(&p->arrivals, segment, GFP_KERNEL | __GFP_NOWARN);
	if (ret)
		return ret == -ENOMEM ? ret : -EPROTO;
	if (weft_path_before(p->beyond, ssn + 1))
		p->beyond = ssn + 1;
	p->news = true;
	return 0;
}

/* Takes the peer's end. Returns 0, -EEXIST if it has come before, or -EPROTO if it cannot be. */
static int end_came(struct weft_paths *p, u32 ssn)
{
	if (p->ends)
		return ssn == p->end ? -EEXIST : -EPROTO;
	if (weft_path_before(ssn, p->beyond) || ssn - p->arrivals.turn > WEFT_PATH_WINDOW)
		return -EPROTO;
	p->ends = true;
	p->end = ssn;
	p->news = true;
	return 0;
}

/*
 * Takes a whole frame of a path whose CRC is good. Returns 0 if what was coming is kept, -EEXIST
 * if it is done with, -ENOMEM, or -EPROTO if its sender has broken the rules.
 */
static int frame_came(struct weft_paths *p, struct weft_path *path)
{
	u32 len = weft_get_be16(path->head);
	u8 ulpdu[WEFT_PATH_MAX_CONTROL];
	struct weft_path_hdr hdr;
	bool good;
	int ret;

	/* A segment may be longer, and is not looked at. */
	memcpy(ulpdu, path->head + WEFT_MPA_LEN, WEFT_PATH_HDR_LEN);
	memcpy(ulpdu + WEFT_PATH_HDR_LEN, path->coming->data,
	       min_t(u32, len, sizeof(ulpdu)) - WEFT_PATH_HDR_LEN);
	good = weft_path_decode(ulpdu, len, &hdr);
	/* A stranger may listen at an address of the peer's, and break this path, but no rule. */
	if (path->state != WEFT_PATH_UP) {
		path->broken = !good || !weft_path_challenged(p, path, &hdr, ulpdu);
		return -EEXIST;
	}
	if (!good)
		return -EPROTO;
	path->heard = true;
	weft_paths_acked(p, hdr.ack);
	switch (hdr.type) {
	case WEFT_PATH_SEGMENT:
		path->coming->len = len - WEFT_PATH_HDR_LEN;
		return segment_came(p, hdr.ssn, path->coming);
	case WEFT_PATH_END:
		ret = end_came(p, hdr.ssn);
		return ret ?: -EEXIST;
	case WEFT_PATH_ACK:
		return -EEXIST;
	case WEFT_PATH_ADDRESSES:
		return weft_paths_told(p, ulpdu) ? -EEXIST : -EPROTO;
	default:
		return -EPROTO;
	}
}

/*
 * Takes the frame that a path has received. Returns false if there was no memory: then it is
 * tried again.
 */
static bool path_took_frame(struct weft_paths *p, struct weft_path *path)
{
	int ret = -EEXIST;

	if (!frame_good(p, path)) {
		weft_count(p->terms.counters, WEFT_CNT_RX_CRC_ERRORS, 1);
		path->broken = true;
	} else {
		ret = frame_came(p, path);
	}
	if (ret == -ENOMEM) {
		p->short_of_memory = true;
		return false;
	}
	if (ret == -EPROTO)
		p->fault = true;
	if (ret)
		kfree(path->coming);
	path->coming = NULL;
	path->have = 0;
	return true;
}

/*
 * Makes room for the rest of the frame whose head is here. Returns false if there is no memory, or
 * if no frame has this length, so that the path is broken.
 */
static bool path_begin_frame(struct weft_paths *p, struct weft_path *path)
{
	if (weft_get_be16(path->head) < WEFT_PATH_HDR_LEN || frame_len(path) > WEFT_PATH_MAX_FPDU) {
		path->broken = true;
		return false;
	}
	path->coming = weft_arrival_new(frame_len(path) - WEFT_PATH_HEAD);
	p->short_of_memory |= !path->coming;
	return path->coming;
}

/* Takes bytes of a packet buffer of a path. */
static u32 path_actor(void *ctx, struct sk_buff *from, u32 offset, u32 len)
{
	struct paths_reader *reader = ctx;
	struct weft_path *path = reader->path;
	struct weft_paths *p = reader->p;
	u32 at = 0, n;
	u8 *to;

	while (at < len && !path->broken && !p->fault && reader->budget) {
		if (path->have < WEFT_PATH_HEAD) {
			n = min_t(u32, len - at, WEFT_PATH_HEAD - path->have);
			to = path->head + path->have;
		} else if (path->coming || path_begin_frame(p, path)) {
			n = min(len - at, frame_len(path) - path->have);
			to = path->coming->data + path->have - WEFT_PATH_HEAD;
		} else {
			break;
		}
		/* A packet may have no bytes in memory that the kernel can read. */
		if (skb_copy_bits(from, offset + at, to, n)) {
			path->broken = true;
			break;
		}
		path->have += n;
		at += n;
		/* A length that no frame has may be less than what is here. */
		if (!path->coming || path->have < frame_len(path))
			continue;
		reader->budget--;
		if (!path_took_frame(p, path))
			break;
	}
	path->counts.rx_bytes += at;
	return at;
}

/**
 * weft_paths_receive() - take what has come on a path
 * @p: the stream
 * @path: a path whose connection is made
 *
 * What is wrong is left in @path->broken or @p->fault.
 *
 * Context: process, @p->lock held.
 * Return: true if there is more.
 */
bool weft_paths_receive(struct weft_paths *p, struct weft_path *path)
{
	struct paths_reader reader = { .p = p, .path = path, .budget = WEFT_PATHS_BUDGET };
	struct mem_cgroup *before;
	unsigned int flags;
	bool over;

	lockdep_assert_held(&p->lock.mutex);
	weft_llp_lock(path->llp);
	flags = memalloc_noio_save();
	before = set_active_memcg(p->memcg);
	if (!frame_waits(path) || path_took_frame(p, path))
		weft_llp_read(path->llp, path_actor, &reader);
	set_active_memcg(before);
	memalloc_noio_restore(flags);
	over = weft_llp_at_end(path->llp) && !frame_waits(path);
	weft_llp_unlock(path->llp);
	if (over)
		path->broken = true;
	else if (path->state == WEFT_PATH_CHALLENGED && !path->broken)
		weft_path_answer(p, path);
	return !reader.budget;
}

/**
 * weft_path_ack() - send an acknowledgment on a path
 * @p: the stream
 * @path: the path, which is up
 *
 * Without room it is not sent: a later one tells as much.
 *
 * Context: process, @p->lock held.
 */
void weft_path_ack(struct weft_paths *p, struct weft_path *path)
{
	const struct weft_path_hdr hdr = {
		.type = WEFT_PATH_ACK,
		.ack = weft_paths_taken(p),
	};
	u8 fpdu[WEFT_FPDU_ROOM(WEFT_PATH_HDR_LEN)];

	lockdep_assert_held(&p->lock.mutex);
	weft_path_encode(fpdu + WEFT_MPA_LEN, &hdr);
	if (!weft_paths_control(p, path, fpdu, WEFT_PATH_HDR_LEN))
		return;
	p->told_ack = hdr.ack;
	p->owes_ack = false;
}

/**
 * weft_paths_ack() - send an acknowledgment if one is due
 * @p: the stream
 *
 * The peer is told by data that goes back, if there is some before long. All that it needs that for
 * is to let go of memory, and to send more if it has sent as much as it may.
 *
 * Context: process, @p->lock held.
 */
void weft_paths_ack(struct weft_paths *p)
{
	u32 taken = weft_paths_taken(p) - p->told_ack;
	struct weft_path *path;

	lockdep_assert_held(&p->lock.mutex);
	if (taken && !p->owes_ack)
		p->ack_due = jiffies + WEFT_PATHS_TICK;
	p->owes_ack = taken;
	if (!taken || (taken < WEFT_PATHS_ACK_FRAMES && time_before(jiffies, p->ack_due)))
		return;
	path = weft_paths_choose(p, WEFT_FPDU_ROOM(WEFT_PATH_HDR_LEN));
	if (path)
		weft_path_ack(p, path);
}

/* --- for the engine --- */

struct weft_arrivals *weft_paths_arrivals(struct weft_llp *llp)
{
	return &to_weft_paths(llp)->arrivals;
}

/*
 * Segments are taken one by one (weft_paths_arrivals()), so whoever reads bytes drops those whose
 * turn it is. The others are kept, so that the peer's end can come.
 */
void weft_paths_read(struct weft_llp *llp, weft_llp_actor actor, void *ctx)
{
	struct weft_paths *p = to_weft_paths(llp);

	while (weft_arrivals_turn(&p->arrivals))
		weft_arrivals_pass(&p->arrivals);
}

/* All that has come is told at once. Of what was taken the peer will have to be told. */
void weft_paths_await(struct weft_llp *llp, u32 bytes)
{
	struct weft_paths *p = to_weft_paths(llp);
	u32 taken = weft_paths_taken(p) - p->told_ack;

	if (taken)
		weft_paths_soon(p, taken < WEFT_PATHS_ACK_FRAMES ? WEFT_PATHS_TICK : 0);
}

/* A stream that failed has not ended: its owner would take that for the peer's orderly end. */
bool weft_paths_ended(struct weft_llp *llp)
{
	const struct weft_paths *p = to_weft_paths(llp);

	return p->state != WEFT_LLP_DEAD && weft_paths_all_came(p);
}

bool weft_paths_at_end(struct weft_llp *llp)
{
	return weft_paths_ended(llp) && !weft_arrivals_turn(&to_weft_paths(llp)->arrivals);
}
