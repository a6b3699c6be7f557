// SPDX-License-Identifier: GPL-2.0
/*
 * Several TCP connections as one stream, transmission. llp.h describes the functions of struct
 * weft_llp_flow.
 *
 * A frame goes to the path that delivers it first, among those with few unsent bytes. So each
 * path is loaded as fast as it drains, at any ratio of speeds.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "base/context.h"
#include "paths/paths.h"
#include "wire/fpdu.h"
#include "wire/plan.h"

static void frame_put(struct weft_path_frame *frame)
{
	if (--frame->users)
		return;
	put_page(frame->page);
	kfree(frame);
}

/* Allocates @len bytes for a frame. Returns the first, or NULL. */
static u8 *frame_alloc_bytes(struct weft_paths *p, struct weft_path_frame *frame, u32 len)
{
	gfp_t gfp = weft_payer_gfp() | __GFP_NOWARN;

	lockdep_assert_held(&p->lock.mutex);
	if (len > PAGE_SIZE) {
		frame->page = alloc_pages(gfp | __GFP_COMP, get_order(len));
		/* As in weft_payer_alloc(). */
		if (!frame->page && current->flags & PF_KTHREAD)
			frame->page = alloc_pages(GFP_KERNEL | __GFP_NOWARN | __GFP_COMP,
						  get_order(len));
		return frame->page ? page_address(frame->page) : NULL;
	}
	if (!skb_page_frag_refill(len, &p->frag, gfp))
		return NULL;
	frame->page = p->frag.page;
	frame->offset = p->frag.offset;
	get_page(frame->page);
	p->frag.offset += ALIGN(len, sizeof(long));
	return page_address(frame->page) + frame->offset;
}

/*
 * Queues a frame with the next number and a ULPDU of @len bytes. Returns NULL without memory,
 * after which no event follows; the caller may retry.
 */
static struct weft_path_frame *frame_new(struct weft_paths *p, u8 type, const u8 *ulpdu, u32 len)
{
	const struct weft_path_hdr hdr = {
		.type = type,
		.ssn = p->next,
		.ack = weft_paths_taken(p),
	};
	struct mem_cgroup *before = set_active_memcg(p->memcg);
	unsigned int flags = memalloc_noio_save();
	struct weft_path_frame *frame;
	u8 *fpdu = NULL, *to;

	len += WEFT_PATH_HDR_LEN;
	frame = weft_payer_alloc(sizeof(*frame));
	if (frame) {
		memset(frame, 0, sizeof(*frame));
		fpdu = frame_alloc_bytes(p, frame, weft_fpdu_len(len));
	}
	memalloc_noio_restore(flags);
	set_active_memcg(before);
	if (!fpdu) {
		kfree(frame);
		return NULL;
	}
	to = weft_fpdu_begin(fpdu, len);
	weft_path_encode(to, &hdr);
	memcpy(to + WEFT_PATH_HDR_LEN, ulpdu, len - WEFT_PATH_HDR_LEN);
	frame->len = weft_fpdu_end(fpdu, len, p->terms.crc);
	frame->ssn = p->next++;
	frame->users = 1;
	list_add_tail(&frame->unacked, &p->unacked);
	list_add_tail(&frame->waiting, &p->waiting);
	WRITE_ONCE(p->num_unacked, p->num_unacked + 1);
	p->bytes += frame->len;
	p->sent_ack = hdr.ack;
	p->owes_ack = false;
	return frame;
}

/* Frees a frame that the peer's engine has taken, or that will not be sent. */
static void frame_forget(struct weft_paths *p, struct weft_path_frame *frame)
{
	list_del(&frame->unacked);
	list_del_init(&frame->waiting);
	WRITE_ONCE(p->num_unacked, p->num_unacked - 1);
	p->bytes -= frame->len;
	frame_put(frame);
}

/* Frees the frames before @ack, which the peer's engine has taken. */
void weft_paths_acked(struct weft_paths *p, u32 ack)
{
	struct weft_path_frame *frame, *next;

	lockdep_assert_held(&p->lock.mutex);
	if (weft_path_before(p->next, ack)) {
		p->fault = true;
		return;
	}
	list_for_each_entry_safe(frame, next, &p->unacked, unacked) {
		if (!weft_path_before(frame->ssn, ack))
			break;
		if (!frame->sent) {
			p->fault = true;
			return;
		}
		frame_forget(p, frame);
	}
}

void weft_paths_forget(struct weft_paths *p)
{
	struct weft_path_frame *frame, *next;

	lockdep_assert_held(&p->lock.mutex);
	list_for_each_entry_safe(frame, next, &p->unacked, unacked)
		frame_forget(p, frame);
}

/* Drops the reference on the frame that a path is sending. */
void weft_path_let_go(struct weft_path *path)
{
	if (path->current_frame)
		frame_put(path->current_frame);
	path->current_frame = NULL;
	path->at = 0;
}

/* Queues the frames of a broken or stalled path for others. */
void weft_paths_replay(struct weft_paths *p, struct weft_path *path)
{
	struct weft_path_frame *frame;
	u32 number = path - p->path;
	LIST_HEAD(again);

	lockdep_assert_held(&p->lock.mutex);
	list_for_each_entry(frame, &p->unacked, unacked) {
		if (!list_empty(&frame->waiting) || frame->path != number)
			continue;
		list_add_tail(&frame->waiting, &again);
		path->counts.replayed++;
		weft_count(p->terms.counters, WEFT_CNT_PATH_REPLAYED, 1);
	}
	/* Ahead of new frames, because the peer waits for these. */
	list_splice(&again, &p->waiting);
	/* An ack that this path carried may be lost as well, so send another. */
	p->sent_ack = weft_paths_taken(p) - 1;
}

/*
 * Returns the path that delivers @len bytes first, or NULL if none has room; the writable
 * events follow of paths that are up and were found without room.
 */
struct weft_path *weft_paths_choose(struct weft_paths *p, u32 len)
{
	struct weft_path *path, *best = NULL;
	u64 window, queued, cost, least = U64_MAX;
	struct weft_llp_flight flight;
	bool all_stalled = true;
	u32 i;

	lockdep_assert_held(&p->lock.mutex);
	for (i = 0; i < WEFT_MAX_PATHS; i++)
		all_stalled &= !weft_path_is_up(&p->path[i]) || p->path[i].stalled;
	for (i = 0; i < WEFT_MAX_PATHS; i++) {
		path = &p->path[i];
		if (!weft_path_is_up(path) || path->current_frame ||
		    (path->stalled && !all_stalled))
			continue;
		cost = U64_MAX;
		weft_llp_call(path->llp, lock);
		if (!weft_llp_held(path->llp, want_space)) {
			/* Measures the time until the last byte is at the peer. */
			path->llp->class->path->flight(path->llp, &flight);
			window = max(flight.window, 1ULL);
			queued = (u64)(flight.end - flight.una) + len;
			cost = div64_u64(max(queued, window) * max(flight.rtt_us, 1U), window);
		}
		weft_llp_call(path->llp, unlock);
		if (cost < least) {
			least = cost;
			best = path;
		}
	}
	return best;
}

/* Sends as much of a path's current frame as there is room for. */
static void path_continue(struct weft_paths *p, struct weft_path *path)
{
	struct weft_path_frame *frame = path->current_frame;
	int ret = 0;

	lockdep_assert_held(&p->lock.mutex);
	weft_llp_call(path->llp, lock);
	while (path->at < frame->len) {
		ret = weft_llp_held(path->llp, send_page, frame->page, frame->offset + path->at,
				    frame->len - path->at, false);
		if (ret <= 0)
			break;
		path->at += ret;
		path->counts.tx_bytes += ret;
	}
	/* With room the error means that TCP has no memory, and no event follows. */
	if (ret == -EAGAIN && !weft_llp_held(path->llp, want_space))
		p->short_of_memory = true;
	weft_llp_call(path->llp, unlock);
	if (path->at == frame->len)
		weft_path_let_go(path);
	else if (ret != -EAGAIN)
		path->broken = true;
	weft_paths_soon(p, path->broken ? 0 : WEFT_PATHS_TICK);
}

/* Sends the waiting frames. Returns true if none is left. */
bool weft_paths_push(struct weft_paths *p)
{
	struct weft_path_frame *frame;
	struct weft_path *path;
	u32 i;

	lockdep_assert_held(&p->lock.mutex);
	for (i = 0; i < WEFT_MAX_PATHS; i++) {
		if (weft_path_is_up(&p->path[i]) && p->path[i].current_frame)
			path_continue(p, &p->path[i]);
	}
	while ((frame = list_first_entry_or_null(&p->waiting, struct weft_path_frame,
						 waiting)) != NULL) {
		path = weft_paths_choose(p, frame->len);
		if (!path)
			return false;
		list_del_init(&frame->waiting);
		frame->sent = true;
		frame->path = path - p->path;
		frame->users++;
		path->current_frame = frame;
		path->at = 0;
		path_continue(p, path);
	}
	return true;
}

/* Returns true if a frame can be taken; otherwise an event follows. */
static bool paths_have_room(struct weft_paths *p)
{
	lockdep_assert_held(&p->lock.mutex);
	return p->num_unacked < WEFT_PATH_WINDOW &&
	       p->bytes + WEFT_PATH_MAX_FPDU <= WEFT_PATH_WINDOW_BYTES &&
	       list_empty(&p->waiting) && weft_paths_choose(p, 0);
}

bool weft_paths_want_space(struct weft_llp *llp)
{
	struct weft_paths *p = to_weft_paths(llp);

	p->want_space = !paths_have_room(p);
	return p->want_space;
}

/* Ends our direction: the peer reads all frames before, and then the end. */
void weft_paths_finish(struct weft_paths *p)
{
	lockdep_assert_held(&p->lock.mutex);
	if (p->out == WEFT_PATHS_SHUT)
		return;
	/* Without memory paths_progress() retries. */
	p->out = frame_new(p, WEFT_PATH_END, NULL, 0) ? WEFT_PATHS_SHUT : WEFT_PATHS_ENDING;
	p->short_of_memory |= p->out == WEFT_PATHS_ENDING;
	weft_paths_push(p);
}

/* Sends an FPDU of the stream. Returns its length or a negative errno value. */
static int paths_send_fpdu(struct weft_paths *p, const u8 *fpdu)
{
	u32 len = get_unaligned_be16(fpdu);

	if (weft_fpdu_len(len) > WEFT_PATH_EMSS)
		return -EMSGSIZE;
	if (p->state == WEFT_LLP_DEAD)
		return -ECONNRESET;
	if (!paths_have_room(p) || !frame_new(p, WEFT_PATH_SEGMENT, fpdu + WEFT_MPA_LEN, len))
		return -EAGAIN;
	weft_paths_push(p);
	return weft_fpdu_len(len);
}

/*
 * Collects an FPDU that comes in parts, up to its end, and sends it when it is complete.
 * Without room the completing bytes are not taken, so that no complete FPDU waits here. Returns
 * how many bytes were taken, or a negative errno value.
 */
static int paths_give_part(struct weft_paths *p, const u8 *from, u32 len)
{
	u32 before = p->partial_len, have = before, all = WEFT_MPA_LEN, n = 0, part;
	struct mem_cgroup *memcg;
	unsigned int flags;
	int ret;

	if (!p->partial) {
		flags = memalloc_noio_save();
		memcg = set_active_memcg(p->memcg);
		p->partial = weft_payer_alloc(WEFT_PATH_EMSS);
		set_active_memcg(memcg);
		memalloc_noio_restore(flags);
	}
	if (!p->partial)
		return -EAGAIN;
	do {
		if (have >= WEFT_MPA_LEN)
			all = weft_fpdu_len(get_unaligned_be16(p->partial));
		if (all > WEFT_PATH_EMSS)
			return -EMSGSIZE;
		part = min(len - n, all - have);
		memcpy(p->partial + have, from + n, part);
		have += part;
		n += part;
	} while (have == all && all == WEFT_MPA_LEN && n < len);
	if (have < all || all == WEFT_MPA_LEN) {
		WRITE_ONCE(p->partial_len, have);
		return n;
	}
	ret = paths_send_fpdu(p, p->partial);
	if (ret < 0)
		return ret;
	WRITE_ONCE(p->partial_len, 0);
	return n;
}

int weft_paths_send_page(struct weft_llp *llp, struct page *page, u32 offset, u32 len, bool more)
{
	const u8 *from = page_address(page) + offset;
	struct weft_paths *p = to_weft_paths(llp);
	u32 at = 0, left;
	int ret;

	while (at < len) {
		left = len - at;
		if (!p->partial_len && left >= WEFT_MPA_LEN &&
		    weft_fpdu_len(get_unaligned_be16(from + at)) <= left)
			ret = paths_send_fpdu(p, from + at);
		else
			ret = paths_give_part(p, from + at, left);
		if (ret < 0)
			return at ? (int)at : ret;
		at += ret;
	}
	return at;
}

/* The frames that the peer's engine has not taken may need a retransmission. */
bool weft_paths_unsent(struct weft_llp *llp)
{
	const struct weft_paths *p = to_weft_paths(llp);

	return READ_ONCE(p->partial_len) || READ_ONCE(p->num_unacked);
}
