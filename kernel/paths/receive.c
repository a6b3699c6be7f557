// SPDX-License-Identifier: GPL-2.0
/*
 * Several TCP connections as one stream, reception: each path's frames become numbered
 * segments. llp.h describes the functions of struct weft_llp_flow.
 *
 * The engine sees a segment when its frame is complete and the CRC is good, so that no damaged
 * bytes are placed. Damaged bytes break their path alone, as a reset does. A good frame that
 * breaks the rules ends the stream, because its sender does not keep the agreement.
 */
#include <linux/sched/mm.h>
#include <net/sock.h>

#include "paths/paths.h"
#include "wire/fpdu.h"

/* Frames received on one path before other work gets a turn. */
#define WEFT_PATHS_BUDGET	256

struct paths_reader {
	struct weft_paths *p;
	struct weft_path *path;
	u32 budget;
};

static u32 frame_len(const struct weft_path *path)
{
	return weft_fpdu_len(get_unaligned_be16(path->head));
}

/* Returns true if a complete frame waits for memory. */
static bool frame_waits(const struct weft_path *path)
{
	return path->coming && path->have == frame_len(path);
}

/*
 * Keeps a segment. Returns 0; -EEXIST if it has come before; -ENOMEM; or -EPROTO if it is
 * beyond the window or behind the end.
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
	/* A kept segment counts less than its FPDU, so an honest sender stays below. */
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

/*
 * Handles a complete frame with a good CRC. Returns 0 if @path->coming is kept; -EEXIST if it
 * can be freed; -ENOMEM; or -EPROTO if its sender has broken the rules.
 */
static int frame_came(struct weft_paths *p, struct weft_path *path)
{
	u32 len = get_unaligned_be16(path->head);
	u8 ulpdu[WEFT_PATH_MAX_CONTROL];
	struct weft_path_hdr hdr;
	bool good;

	/* A longer frame is a segment, whose payload is not read here. */
	memcpy(ulpdu, path->head + WEFT_MPA_LEN, WEFT_PATH_HDR_LEN);
	memcpy(ulpdu + WEFT_PATH_HDR_LEN, path->coming->data,
	       min_t(u32, len, sizeof(ulpdu)) - WEFT_PATH_HDR_LEN);
	good = weft_path_decode(ulpdu, len, &hdr);
	/* Before its proof the sender may be a stranger, which must not end the stream. */
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
		if (p->ends)
			return hdr.ssn == p->end ? -EEXIST : -EPROTO;
		if (weft_path_before(hdr.ssn, p->beyond) ||
		    hdr.ssn - p->arrivals.turn > WEFT_PATH_WINDOW)
			return -EPROTO;
		p->ends = true;
		p->end = hdr.ssn;
		p->news = true;
		return -EEXIST;
	case WEFT_PATH_ACK:
		return -EEXIST;
	case WEFT_PATH_ADDRESSES:
		return weft_paths_take_addrs(p, ulpdu) ? -EEXIST : -EPROTO;
	default:
		return -EPROTO;
	}
}

/* Handles a path's complete frame. Returns false without memory, to retry. */
static bool path_took_frame(struct weft_paths *p, struct weft_path *path)
{
	u32 covered = frame_len(path) - WEFT_PATH_HEAD - WEFT_CRC_LEN, crc;
	const u8 *rest = path->coming->data;
	bool good = true;
	int ret = -EEXIST;

	if (p->terms.crc) {
		crc = crc32c(WEFT_CRC_SEED, path->head, WEFT_PATH_HEAD);
		good = weft_crc_good(rest + covered, crc32c(crc, rest, covered));
	}
	if (!good) {
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
 * Allocates the rest of a frame. Returns false without memory, or if no frame has this length,
 * which breaks the path.
 */
static bool path_begin_frame(struct weft_paths *p, struct weft_path *path)
{
	if (get_unaligned_be16(path->head) < WEFT_PATH_HDR_LEN ||
	    frame_len(path) > WEFT_PATH_MAX_FPDU) {
		path->broken = true;
		return false;
	}
	path->coming = weft_arrival_new(frame_len(path) - WEFT_PATH_HEAD);
	p->short_of_memory |= !path->coming;
	return path->coming;
}

/* Takes bytes from a packet buffer of a path. */
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
		/* Fails for buffers that the kernel cannot read, such as device memory. */
		if (skb_copy_bits(from, offset + at, to, n)) {
			path->broken = true;
			break;
		}
		path->have += n;
		at += n;
		/* An unchecked length may be less than the bytes that are here. */
		if (!path->coming || path->have < frame_len(path))
			continue;
		reader->budget--;
		if (!path_took_frame(p, path))
			break;
	}
	path->counts.rx_bytes += at;
	return at;
}

/* Receives on a path; errors set @path->broken or @p->fault. Returns true if there may be more. */
bool weft_paths_receive(struct weft_paths *p, struct weft_path *path)
{
	struct paths_reader reader = { .p = p, .path = path, .budget = WEFT_PATHS_BUDGET };
	struct mem_cgroup *before;
	unsigned int flags;
	bool over;

	lockdep_assert_held(&p->lock.mutex);
	weft_llp_call(path->llp, lock);
	flags = memalloc_noio_save();
	before = set_active_memcg(p->memcg);
	if (!frame_waits(path) || path_took_frame(p, path))
		weft_llp_held(path->llp, read, path_actor, &reader);
	set_active_memcg(before);
	memalloc_noio_restore(flags);
	over = weft_llp_held(path->llp, end) == WEFT_LLP_ALL_READ && !frame_waits(path);
	weft_llp_call(path->llp, unlock);
	if (over)
		path->broken = true;
	else if (path->state == WEFT_PATH_CHALLENGED && !path->broken)
		weft_path_answer(p, path);
	return !reader.budget;
}

/* Sends an ack on a path that is up; without room it is left to a later one. */
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
	p->sent_ack = hdr.ack;
	p->owes_ack = false;
}

/*
 * Sends an ack if one is due. Data that goes back carries an ack as well, so wait for data: the
 * peer only needs the ack to free memory, and to send beyond its window.
 */
void weft_paths_ack(struct weft_paths *p)
{
	u32 taken = weft_paths_taken(p) - p->sent_ack;
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

/*
 * The engine takes segments from @arrivals, and reads bytes only to drop them.
 * Segments before their turn stay, so that the peer's end can come.
 */
void weft_paths_read(struct weft_llp *llp, weft_llp_actor actor, void *ctx)
{
	struct weft_paths *p = to_weft_paths(llp);

	while (weft_arrivals_turn(&p->arrivals))
		weft_arrivals_pass(&p->arrivals);
}

/* Each segment makes an event, so there is no threshold; but an ack for taken ones may be due. */
void weft_paths_await(struct weft_llp *llp, u32 bytes)
{
	struct weft_paths *p = to_weft_paths(llp);
	u32 taken = weft_paths_taken(p) - p->sent_ack;

	if (taken)
		weft_paths_soon(p, taken < WEFT_PATHS_ACK_FRAMES ? WEFT_PATHS_TICK : 0);
}

enum weft_llp_end weft_paths_end(struct weft_llp *llp)
{
	struct weft_paths *p = to_weft_paths(llp);

	if (!weft_paths_ended(p))
		return WEFT_LLP_GOES_ON;
	return weft_arrivals_turn(&p->arrivals) ? WEFT_LLP_LAST_BYTES : WEFT_LLP_ALL_READ;
}
