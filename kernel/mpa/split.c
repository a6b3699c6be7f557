// SPDX-License-Identifier: GPL-2.0
/* FPDUs that are not whole in one packet buffer, where CRCs are in use; see framer.h. */
#include <linux/gfp.h>
#include <linux/slab.h>

#include "base/context.h"
#include "llp/llp.h"
#include "mpa/framer.h"
#include "wire/fpdu.h"

#define WEFT_STAGE_PAGES	DIV_ROUND_UP(WEFT_FPDU_ROOM(WEFT_MAX_ULPDU), PAGE_SIZE)

/**
 * struct weft_stage - an FPDU that the stream could not hold, owned by its framer
 * @have: bytes of it that are here
 * @placed: bytes that were placed, once it is whole
 * @pages: the bytes, each page full but the last
 */
struct weft_stage {
	u32 have;
	u32 placed;
	struct page *pages[WEFT_STAGE_PAGES];
};

/*
 * The stage is charged to the memory cgroup of the queue pair's owner, because the peer decides how
 * much of an FPDU comes, and when. The charge may exceed the limit, because nobody can wait here.
 */
#define WEFT_STAGE_GFP	(GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN)

/* Length of the FPDU ahead, up to which the stream is awaited; of its length field, before that. */
u32 weft_framer_len_ahead(const struct weft_framer *f)
{
	return f->summed < WEFT_MPA_LEN ? WEFT_MPA_LEN : weft_fpdu_len(f->ulpdu_len);
}

/* Runs the checksum over the next bytes of the FPDU. Returns how many it had of @len. */
static u32 framer_sum(struct weft_framer *f, const u8 *from, u32 len)
{
	u32 taken, end, n;

	for (taken = 0; taken < len; taken += n, f->summed += n) {
		if (f->summed < WEFT_MPA_LEN) {
			n = 1;
			f->head[f->summed] = from[taken];
			if (f->summed == WEFT_MPA_LEN - 1) {
				f->ulpdu_len = weft_get_be16(f->head);
				f->crc = weft_crc_update(f->crc, f->head, WEFT_MPA_LEN);
			}
			continue;
		}
		end = weft_fpdu_len(f->ulpdu_len) - WEFT_CRC_LEN;
		if (f->summed < end) {
			n = min(len - taken, end - f->summed);
			f->crc = weft_crc_update(f->crc, from + taken, n);
			continue;
		}
		n = min(len - taken, end + WEFT_CRC_LEN - f->summed);
		if (!n)
			break;
		memcpy(f->trailer + (f->summed - end), from + taken, n);
	}
	return taken;
}

/* As framer_sum(), for a packet (weft_llp_actor). */
static u32 framer_sum_packet(void *ctx, struct sk_buff *skb, u32 offset, u32 len)
{
	struct weft_framer *f = ctx;
	struct weft_packet p = weft_packet_begin(skb);
	u32 taken = 0, n, summed;
	const u8 *piece;

	if (!weft_packet_readable(skb)) {
		f->fault = WEFT_FRAMER_UNREADABLE;
		return 0;
	}
	while (taken < len) {
		n = len - taken;
		piece = weft_packet_piece(&p, offset + taken, &n);
		summed = framer_sum(f, piece, n);
		taken += summed;
		if (summed < n)
			break;
	}
	return taken;
}

/* If the FPDU ahead is whole, judges it by its CRC. Returns true if it is. */
static bool framer_judge(struct weft_framer *f)
{
	if (f->summed <= WEFT_MPA_LEN || f->summed != weft_framer_len_ahead(f))
		return false;
	if (weft_crc_good(f->trailer, f->crc))
		f->checked = true;
	else
		f->fault = WEFT_FRAMER_CRC;
	return true;
}

/* Begins to take the FPDU to the stage. Without memory returns false, and @f is starved. */
bool weft_framer_stage_begin(struct weft_framer *f)
{
	struct mem_cgroup *before = weft_charge_begin(f->owner);

	f->stage = kzalloc(sizeof(*f->stage), WEFT_STAGE_GFP);
	weft_charge_end(before);
	f->starved = !f->stage;
	if (f->starved)
		return false;
	f->state = WEFT_FRAMER_STAGE;
	return true;
}

/*
 * Returns true if the stream may be read: no FPDU is ahead, or the one ahead has been judged, has a
 * fault, or goes to the stage now. Else runs the checksum over the bytes that have come.
 */
bool weft_framer_ready(struct weft_framer *f, struct weft_llp *llp)
{
	weft_llp_assert_locked(llp);
	if (likely(!f->ahead))
		return true;
	f->starved = false;
	weft_llp_look(llp, f->summed, framer_sum_packet, f);
	if (f->fault != WEFT_FRAMER_FINE || framer_judge(f)) {
		f->ahead = false;
	} else if (weft_llp_full(llp) && weft_framer_stage_begin(f)) {
		f->ahead = false;
		f->counts.staged++;
	}
	return !f->ahead;
}

/*
 * Takes bytes to the stage: *@len at most, none if @f is starved. With its last byte the FPDU is
 * checked, and placed as far as possible. WEFT_RX_BAD: with a fault in @f, or the segment's
 * verdict; WEFT_RX_WAIT: @f is starved or the segment has to wait.
 */
enum weft_rx_verdict weft_framer_stage(struct weft_framer *f, const u8 *from, u32 *len,
				       weft_framer_taker part, void *ctx)
{
	struct weft_stage *stage = f->stage;
	struct page **page = &stage->pages[stage->have / PAGE_SIZE];
	u32 at = offset_in_page(stage->have);
	struct mem_cgroup *before;
	u32 fresh;

	if (!*page) {
		before = weft_charge_begin(f->owner);
		*page = alloc_page(WEFT_STAGE_GFP);
		weft_charge_end(before);
	}
	f->starved = !*page;
	if (f->starved) {
		*len = 0;
		return WEFT_RX_WAIT;
	}
	*len = min3(*len, (u32)PAGE_SIZE - at, weft_framer_len_ahead(f) - stage->have);
	memcpy(page_address(*page) + at, from, *len);
	stage->have += *len;
	if (stage->have > f->summed) {
		fresh = stage->have - f->summed;
		framer_sum(f, page_address(*page) + at + *len - fresh, fresh);
	}
	if (stage->have < f->summed || !framer_judge(f))
		return WEFT_RX_OK;
	f->state = WEFT_FRAMER_HEAD;
	return f->fault == WEFT_FRAMER_FINE ? weft_framer_unstage(f, part, ctx) : WEFT_RX_BAD;
}

/* Places the FPDU on the stage, if it is whole. After WEFT_RX_OK the stream may be read. */
enum weft_rx_verdict weft_framer_unstage(struct weft_framer *f, weft_framer_taker part,
					 void *ctx)
{
	enum weft_rx_verdict verdict = WEFT_RX_OK;
	struct weft_stage *stage = f->stage;
	u32 at, n;

	if (!weft_framer_holds(f))
		return WEFT_RX_OK;
	while (verdict == WEFT_RX_OK && stage->placed < stage->have) {
		at = offset_in_page(stage->placed);
		n = min_t(u32, PAGE_SIZE - at, stage->have - stage->placed);
		verdict = part(ctx, page_address(stage->pages[stage->placed / PAGE_SIZE]) + at,
			       &n);
		stage->placed += n;
	}
	if (verdict != WEFT_RX_WAIT)
		weft_framer_free(f);
	return verdict;
}

void weft_framer_free(struct weft_framer *f)
{
	u32 i;

	if (!f->stage)
		return;
	for (i = 0; i < WEFT_STAGE_PAGES; i++)
		if (f->stage->pages[i])
			__free_page(f->stage->pages[i]);
	kfree(f->stage);
	f->stage = NULL;
}
