// SPDX-License-Identifier: GPL-2.0
/* The parts of the framer that are not inlined; see framer.h. */
#include <linux/gfp.h>
#include <linux/slab.h>
#include <linux/string.h>

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

/* Starts a new stream, with nothing on the stage. @owner pays for the stage; NULL: nobody. */
void weft_framer_start(struct weft_framer *f, const struct weft_mpa_agreed *agreed,
		       const struct ib_ucontext *owner)
{
	f->fault = WEFT_FRAMER_FINE;
	f->owner = owner;
	f->crc_used = agreed->crc;
	f->marked = agreed->marks_in;
	f->marks = (struct weft_marks){};
	f->crc = WEFT_CRC_SEED;
	f->ahead = false;
	f->starved = false;
	weft_framer_next(f);
}

void weft_framer_next(struct weft_framer *f)
{
	f->state = WEFT_FRAMER_HEAD;
	f->checked = false;
	f->have = 0;
	f->trailer_have = 0;
}

/* Forgets the rest of an FPDU, because nothing more is taken. */
void weft_framer_drop(struct weft_framer *f)
{
	f->ahead = false;
	f->starved = false;
	weft_framer_free(f);
}

/* Returns the fault, if any, once. */
enum weft_framer_fault weft_framer_fault(struct weft_framer *f)
{
	enum weft_framer_fault fault = f->fault;

	f->fault = WEFT_FRAMER_FINE;
	return fault;
}

/*
 * Returns true if an FPDU that is whole in a packet has a good CRC. The CRC runs over the packet,
 * not the copy in @f->head: if the two differ, a sender on this host changed them in flight.
 */
bool weft_framer_good(struct weft_framer *f, struct weft_packet *p, u32 offset, u32 len)
{
	u32 end = offset + len - WEFT_CRC_LEN;
	u32 crc = WEFT_CRC_SEED;
	const u8 *piece;
	u32 n;

	for (; offset < end; offset += n) {
		n = end - offset;
		piece = weft_packet_piece(p, offset, &n);
		crc = crc32c(crc, piece, n);
	}
	weft_packet_copy(p, end, f->trailer, WEFT_CRC_LEN);
	return weft_crc_good(f->trailer, crc);
}

/* Fills @to up to @need bytes, of which *@have are there. Returns the number of bytes taken. */
static u32 framer_fill(u8 *to, u32 *have, u32 need, const u8 *from, u32 len)
{
	u32 n = min(len, need - *have);

	memcpy(to + *have, from, n);
	*have += n;
	return n;
}

/* WEFT_FRAMER_HEAD: gathers the first bytes of an FPDU. Returns the number of bytes taken. */
u32 weft_framer_fill_head(struct weft_framer *f, const u8 *from, u32 len)
{
	u32 taken = 0, need;

	if (f->have < WEFT_MPA_LEN) {
		taken = framer_fill(f->head, &f->have, WEFT_MPA_LEN, from, len);
		if (f->have < WEFT_MPA_LEN)
			return taken;
		f->ulpdu_len = get_unaligned_be16(f->head);
	}
	need = WEFT_MPA_LEN + min_t(u32, f->ulpdu_len, WEFT_SEGMENT_HEAD);
	taken += framer_fill(f->head, &f->have, need, from + taken, len - taken);
	if (f->have == need)
		f->state = WEFT_FRAMER_BEGIN;
	return taken;
}

/* WEFT_FRAMER_TRAILER: takes padding and CRC, *@len bytes at most. Returns true if all is here. */
bool weft_framer_trailer(struct weft_framer *f, const u8 *from, u32 *len)
{
	u32 need = weft_fpdu_pad(f->ulpdu_len) + WEFT_CRC_LEN, have = f->trailer_have;

	*len = framer_fill(f->trailer, &have, need, from, *len);
	f->trailer_have = have;
	if (have < need)
		return false;
	f->counts.split++;
	weft_framer_took(f, 1);
	return true;
}

/* --- with CRCs: FPDUs that are not whole in one packet buffer --- */

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
				f->ulpdu_len = get_unaligned_be16(f->head);
				f->crc = crc32c(f->crc, f->head, WEFT_MPA_LEN);
			}
			continue;
		}
		end = weft_fpdu_len(f->ulpdu_len) - WEFT_CRC_LEN;
		if (f->summed < end) {
			n = min(len - taken, end - f->summed);
			f->crc = crc32c(f->crc, from + taken, n);
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
 * An FPDU is ahead: returns true if the stream may be read, because it has been judged, has a
 * fault, or goes to the stage now. Else runs the checksum over the bytes that have come.
 */
bool weft_framer_ready(struct weft_framer *f, struct weft_llp *llp)
{
	weft_llp_assert_locked(llp);
	f->starved = false; /* memory may be there now */
	weft_llp_held(llp, look, f->summed, framer_sum_packet, f);
	if (f->fault != WEFT_FRAMER_FINE || framer_judge(f)) {
		f->ahead = false;
	} else if (weft_llp_held(llp, full) && weft_framer_stage_begin(f)) {
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

	if (!stage || f->state == WEFT_FRAMER_STAGE)
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

/*
 * --- a stream with markers ---
 *
 * Markers lie amidst FPDUs, so no FPDU is taken whole from a packet. With CRCs, an FPDU is gathered
 * on the stage without its markers, and placed when its CRC has passed. Because this is slower,
 * only peers that were asked for markers send them.
 */

/* Takes bytes to the stage, and begins an FPDU there if none is under way. */
static enum weft_rx_verdict marked_stage(struct weft_framer *f, const u8 *from, u32 *len,
					 weft_framer_taker part, void *ctx)
{
	enum weft_rx_verdict verdict;

	if (f->state != WEFT_FRAMER_STAGE) {
		f->summed = 0;
		if (!weft_framer_stage_begin(f)) {
			*len = 0;
			return WEFT_RX_WAIT;
		}
	}
	verdict = weft_framer_stage(f, from, len, part, ctx);
	if (!*len)
		return verdict;
	weft_marks_pass(&f->marks, *len);
	/* An FPDU whose segment waits is whole nevertheless. */
	f->marks.amid = f->state == WEFT_FRAMER_STAGE;
	if (!f->marks.amid)
		f->crc = WEFT_CRC_SEED;
	return verdict;
}

/* As weft_framer_take(), with markers. */
u32 weft_framer_take_marked(struct weft_framer *f, struct weft_packet *p, u32 offset, u32 len,
			    weft_framer_taker part, void *ctx)
{
	enum weft_rx_verdict verdict = WEFT_RX_OK;
	u32 at = offset, end = offset + len, n;
	const u8 *piece;

	for (; at < end && verdict == WEFT_RX_OK; at += n) {
		n = end - at;
		piece = weft_packet_piece(p, at, &n);
		if (!weft_marks_next(&f->marks, &n)) {
			if (f->crc_used) {
				verdict = marked_stage(f, piece, &n, part, ctx);
				continue;
			}
			/* Takes the bytes as they come; none if the segment waits. */
			verdict = part(ctx, piece, &n);
			if (n)
				weft_marks_pass(&f->marks, n);
			f->marks.amid = weft_framer_amid(f);
			continue;
		}
		/* Once whole, a marker must point to the head of the FPDU around it. */
		switch (weft_marks_take(&f->marks, piece, n)) {
		case WEFT_MARKS_WHOLE:
			f->crc = crc32c(f->crc, f->marks.bytes, WEFT_MARKER_LEN);
			f->counts.bytes += WEFT_MARKER_LEN;
			break;
		case WEFT_MARKS_WRONG:
			f->fault = WEFT_FRAMER_MARKER;
			verdict = WEFT_RX_BAD;
			break;
		case WEFT_MARKS_PART:
			break;
		}
	}
	return verdict == WEFT_RX_BAD ? len : at - offset;
}
