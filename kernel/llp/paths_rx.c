// SPDX-License-Identifier: GPL-2.0
/*
 * Several TCP connections as one stream, how frames come: those of each path are taken off
 * its connection, and become FPDUs in the order of their numbers. llp.h describes the functions of
 * struct weft_llp_flow.
 *
 * A path whose bytes are damaged ends alone, as if it had been reset. A whole frame that breaks the
 * rules ends the stream: its sender does not do what both have agreed.
 */
#include <linux/sched/mm.h>
#include <net/sock.h>

#include "base/compat.h"
#include "llp/packet.h"
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

/* Returns true if a frame's CRC is good, or none is in use. */
static bool frame_good(const struct weft_paths *p, const struct sk_buff *skb)
{
	u32 covered = skb->len - WEFT_CRC_LEN;

	return !p->terms.crc ||
	       weft_crc_good(skb->data + covered,
			     weft_crc_update(WEFT_CRC_SEED, skb->data, covered));
}

/* Makes an FPDU of the stream of a frame that holds a segment. */
static void frame_to_fpdu(struct sk_buff *skb)
{
	u32 ulpdu_len = weft_get_be16(skb->data) - WEFT_PATH_HDR_LEN;

	BUILD_BUG_ON(WEFT_PATH_HDR_LEN % 4);
	skb_pull(skb, WEFT_PATH_HDR_LEN);
	weft_fpdu_begin(skb->data, ulpdu_len);
	weft_fpdu_end(skb->data, ulpdu_len, false);
}

/* Takes the answer to our join, or of a frame before it. Returns false if the path is broken. */
static bool answer_came(struct weft_paths *p, struct weft_path *path,
			const struct weft_path_hdr *hdr, const u8 *ulpdu)
{
	if (path->state == WEFT_PATH_UP)
		return false;
	if (hdr->type != WEFT_PATH_JOINED || hdr->ssn != path - p->path ||
	    weft_path_key(ulpdu) != p->addrs.answer)
		return false;
	weft_path_up(p, path - p->path, path->llp);
	return true;
}

/*
 * Takes a whole frame of a path whose CRC is good. Returns 1 if @skb was kept, 0 if not, or
 * -EPROTO if its sender has broken the rules.
 */
static int frame_came(struct weft_paths *p, struct weft_path *path, struct sk_buff *skb)
{
	const u8 *ulpdu = skb->data + WEFT_MPA_LEN;
	struct weft_path_hdr hdr;
	int ret;

	if (!weft_path_decode(ulpdu, weft_get_be16(skb->data), &hdr))
		return -EPROTO;
	/* A stranger may listen at an address of the peer's. What it says is heeded by nobody. */
	if (path->state != WEFT_PATH_UP) {
		path->broken = !answer_came(p, path, &hdr, ulpdu);
		return 0;
	}
	weft_paths_acked(p, hdr.ack);
	switch (hdr.type) {
	case WEFT_PATH_SEGMENT:
		frame_to_fpdu(skb);
		ret = weft_reorder_add(&p->order, hdr.ssn, skb);
		return ret == -EEXIST ? 0 : ret ?: 1;
	case WEFT_PATH_END:
		ret = weft_reorder_end(&p->order, hdr.ssn);
		return ret == -EEXIST ? 0 : ret;
	case WEFT_PATH_ACK:
		return 0;
	case WEFT_PATH_ADDRESSES:
		return weft_paths_told(p, ulpdu) ? 0 : -EPROTO;
	default:
		return -EPROTO;
	}
}

/* Takes the frame that a path has received. */
static void path_took_frame(struct weft_paths *p, struct weft_path *path)
{
	struct sk_buff *skb = path->skb;
	int ret;

	path->skb = NULL;
	path->head_len = 0;
	if (!frame_good(p, skb)) {
		weft_count(p->terms.counters, WEFT_CNT_RX_CRC_ERRORS, 1);
		path->broken = true;
		kfree_skb(skb);
		return;
	}
	ret = frame_came(p, path, skb);
	if (ret < 0)
		p->fault = true;
	if (ret <= 0)
		kfree_skb(skb);
}

/*
 * Makes room for the frame whose length field is here. Returns false if there is no memory, or if
 * no frame has this length, so that the path is broken.
 */
static bool path_begin_frame(struct weft_paths *p, struct weft_path *path)
{
	u32 len = weft_get_be16(path->head);

	path->want = weft_fpdu_len(len);
	if (len < WEFT_PATH_HDR_LEN || path->want > WEFT_PATH_MAX_FPDU) {
		path->broken = true;
		return false;
	}
	path->skb = alloc_skb(path->want, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!path->skb) {
		p->short_of_memory = true;
		return false;
	}
	skb_put_data(path->skb, path->head, WEFT_MPA_LEN);
	return true;
}

/* Takes bytes of a packet buffer of a path. */
static u32 path_actor(void *ctx, struct sk_buff *from, u32 offset, u32 len)
{
	struct paths_reader *reader = ctx;
	struct weft_path *path = reader->path;
	struct weft_paths *p = reader->p;
	u32 at = 0, n;

	while (at < len && !path->broken && !p->fault && reader->budget) {
		if (path->head_len < WEFT_MPA_LEN) {
			n = min(len - at, WEFT_MPA_LEN - path->head_len);
			skb_copy_bits(from, offset + at, path->head + path->head_len, n);
			path->head_len += n;
			at += n;
			continue;
		}
		if (!path->skb && !path_begin_frame(p, path))
			break;
		n = min(len - at, path->want - path->skb->len);
		skb_copy_bits(from, offset + at, skb_put(path->skb, n), n);
		at += n;
		if (path->skb->len < path->want)
			continue;
		reader->budget--;
		path_took_frame(p, path);
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

	lockdep_assert_held(&p->lock);
	weft_llp_lock(path->llp);
	flags = memalloc_noio_save();
	before = set_active_memcg(p->memcg);
	weft_llp_read(path->llp, path_actor, &reader);
	set_active_memcg(before);
	memalloc_noio_restore(flags);
	over = weft_llp_at_end(path->llp);
	weft_llp_unlock(path->llp);
	if (over)
		path->broken = true;
	return !reader.budget;
}

/* --- for the engine --- */

/* Notes that @len bytes of the next segment, or of more, were taken. */
static void paths_took(struct weft_paths *p, u32 len)
{
	struct sk_buff *skb;

	p->taken += len;
	while ((skb = weft_reorder_at(&p->order, p->order.next)) && p->taken >= skb->len) {
		p->taken -= skb->len;
		weft_reorder_pass(&p->order);
	}
}

void weft_paths_read(struct weft_llp *llp, weft_llp_actor actor, void *ctx)
{
	struct weft_paths *p = to_weft_paths(llp);
	u32 next = p->order.next, len, n;
	struct sk_buff *skb;

	while ((skb = weft_reorder_at(&p->order, p->order.next)) != NULL) {
		len = skb->len - p->taken;
		n = actor(ctx, skb, p->taken, len);
		paths_took(p, n);
		if (n < len)
			break;
	}
	/* The peer will have to be told. */
	if (p->order.next != next)
		weft_paths_soon(p, p->order.next - p->told_ack < WEFT_PATHS_ACK_FRAMES ?
				   WEFT_PATHS_TICK : 0);
}

void weft_paths_look(struct weft_llp *llp, u32 from, weft_llp_actor actor, void *ctx)
{
	struct weft_paths *p = to_weft_paths(llp);
	u32 ssn = p->order.next;
	struct sk_buff *skb;
	u32 len;

	from += p->taken;
	for (; (skb = weft_reorder_at(&p->order, ssn)) != NULL; ssn++) {
		if (from >= skb->len) {
			from -= skb->len;
			continue;
		}
		len = skb->len - from;
		if (actor(ctx, skb, from, len) < len)
			return;
		from = 0;
	}
}

/* All that has come is told at once. */
void weft_paths_await(struct weft_llp *llp, u32 bytes)
{
}

bool weft_paths_full(struct weft_llp *llp)
{
	return to_weft_paths(llp)->order.bytes >= WEFT_PATH_WINDOW_BYTES / 2;
}

bool weft_paths_ended(struct weft_llp *llp)
{
	const struct weft_paths *p = to_weft_paths(llp);

	return p->state == WEFT_LLP_DEAD || weft_reorder_ended(&p->order);
}

bool weft_paths_at_end(struct weft_llp *llp)
{
	const struct weft_paths *p = to_weft_paths(llp);

	return weft_paths_ended(llp) && !weft_reorder_at(&p->order, p->order.next);
}
