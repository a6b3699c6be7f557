// SPDX-License-Identifier: GPL-2.0
/*
 * FPDUs that do not lie whole in one packet buffer, where CRCs are in use.
 *
 * Everything here runs with the socket lock held and does not sleep, except
 * weft_rx_stage_free().
 */
#include <linux/gfp.h>
#include <linux/slab.h>

#include "base/weft.h"
#include "llp/llp.h"
#include "llp/packet.h"
#include "pair/qp.h"
#include "rx/place.h"
#include "rx/rx.h"
#include "rx/split.h"
#include "wire/bytes.h"
#include "wire/crc.h"
#include "wire/plan.h"

/* Pages that the longest FPDU takes. */
#define WEFT_RX_STAGE_PAGES	DIV_ROUND_UP(WEFT_MAX_ULPDU + 9U, PAGE_SIZE)

/**
 * struct weft_rx_stage - an FPDU that the stream could not hold
 * @have: bytes of it that are here
 * @placed: bytes of them that were placed, once they are all here
 * @pages: where they are, each page with the bytes that fit in it
 *
 * Owned by the receive side, and protected by the socket lock as all of that.
 */
struct weft_rx_stage {
	u32 have;
	u32 placed;
	struct page *pages[WEFT_RX_STAGE_PAGES];
};

/**
 * weft_rx_split_begin() - note that the next FPDU does not lie whole in a packet
 * @rx: the receive side, at the first byte of that FPDU
 *
 * Context: any, socket lock held; does not sleep.
 */
void weft_rx_split_begin(struct weft_rx *rx)
{
	weft_rx_assert_locked(rx);
	rx->ahead = true;
	rx->summed = 0;
}

/**
 * weft_rx_split_need() - how many bytes of the FPDU ahead are needed?
 * @rx: the receive side
 *
 * Context: any, socket lock held; does not sleep.
 * Return: its length; while that is unknown, the length of its length field.
 */
u32 weft_rx_split_need(const struct weft_rx *rx)
{
	weft_rx_assert_locked(rx);
	return rx->summed < WEFT_MPA_LEN ? WEFT_MPA_LEN : weft_fpdu_len(rx->seg.ulpdu_len);
}

static bool rx_split_whole(const struct weft_rx *rx)
{
	return rx->summed > WEFT_MPA_LEN && rx->summed == weft_rx_split_need(rx);
}

/*
 * Runs the checksum over the next bytes of the FPDU. Returns how many of @len: fewer if the
 * FPDU ends before.
 */
static u32 rx_split_sum(struct weft_rx *rx, const u8 *from, u32 len)
{
	u32 taken, end, n;

	for (taken = 0; taken < len; taken += n, rx->summed += n) {
		if (rx->summed < WEFT_MPA_LEN) {
			n = 1;
			rx->next[rx->summed] = from[taken];
			if (rx->summed == WEFT_MPA_LEN - 1) {
				rx->seg.ulpdu_len = weft_get_be16(rx->next);
				rx->crc = weft_crc_update(WEFT_CRC_SEED, rx->next,
							  WEFT_MPA_LEN);
			}
			continue;
		}
		end = weft_fpdu_len(rx->seg.ulpdu_len) - WEFT_CRC_LEN;
		if (rx->summed < end) {
			n = min(len - taken, end - rx->summed);
			rx->crc = weft_crc_update(rx->crc, from + taken, n);
			continue;
		}
		n = min(len - taken, end + WEFT_CRC_LEN - rx->summed);
		if (!n)
			break;
		memcpy(rx->trailer + (rx->summed - end), from + taken, n);
	}
	return taken;
}

/* Runs the checksum over the part of the FPDU in one packet (weft_llp_actor). */
static u32 rx_split_packet(void *ctx, struct sk_buff *skb, u32 offset, u32 len)
{
	struct weft_rx *rx = ctx;
	struct weft_packet p;
	u32 taken = 0, n, summed;
	const u8 *piece;

	if (!weft_packet_init(&p, skb)) {
		weft_rx_refuse_local(rx);
		return 0;
	}
	while (taken < len) {
		n = len - taken;
		piece = weft_packet_piece(&p, offset + taken, &n);
		summed = rx_split_sum(rx, piece, n);
		taken += summed;
		if (summed < n)
			break;
	}
	return taken;
}

/* Judges the CRC of the FPDU ahead, all of which is here. */
static void rx_split_judge(struct weft_rx *rx)
{
	if (weft_crc_good(rx->trailer, rx->crc))
		rx->checked = true;
	else
		weft_rx_refuse_crc(rx);
}

/* Sends the FPDU ahead to the stage, with the bytes of it that are here already. */
static void rx_stage_begin(struct weft_rx *rx)
{
	rx->ahead = false;
	rx->stage = kzalloc(sizeof(*rx->stage), GFP_ATOMIC | __GFP_NOWARN);
	if (!rx->stage) {
		weft_rx_refuse_local(rx); /* the peer did no wrong */
		return;
	}
	weft_count(rx->acc->dev->counters, WEFT_CNT_RX_STAGED_FPDUS, 1);
	rx->state = WEFT_RX_STAGE;
}

/**
 * weft_rx_split_ready() - may the stream be read on?
 * @rx: the receive side
 * @llp: the stream
 *
 * If an FPDU ahead does not lie whole in a packet, runs the checksum over the bytes that
 * have come, and judges it with the last one.
 *
 * Context: any, socket lock held; does not sleep.
 * Return: true if there is none, or it was judged; false if more of it has to come first.
 */
bool weft_rx_split_ready(struct weft_rx *rx, struct weft_llp *llp)
{
	weft_rx_assert_locked(rx);
	if (likely(!rx->ahead))
		return true;
	if (rx->state != WEFT_RX_STOPPED)
		weft_llp_look(llp, rx->summed, rx_split_packet, rx);
	if (rx->state == WEFT_RX_STOPPED) {
		rx->ahead = false;
	} else if (rx_split_whole(rx)) {
		rx->ahead = false;
		rx_split_judge(rx);
	} else if (weft_llp_full(llp)) {
		rx_stage_begin(rx);
	}
	return !rx->ahead;
}

/**
 * weft_rx_stage_take() - take bytes to the stage
 * @qp: the queue pair, in WEFT_RX_STAGE
 * @from: the bytes
 * @len: how many
 * @take: takes them from there
 *
 * With its last byte the FPDU is checked, and placed as far as that is possible.
 *
 * Context: any, socket lock held; does not sleep.
 * Return: how many were taken; never 0.
 */
u32 weft_rx_stage_take(struct weft_qp *qp, const u8 *from, u32 len,
		       weft_rx_taker take)
{
	struct weft_rx *rx = &qp->rx;
	struct weft_rx_stage *stage = rx->stage;
	struct page **page = &stage->pages[stage->have / PAGE_SIZE];
	u32 at = offset_in_page(stage->have);
	u32 fresh;

	weft_qp_assert_locked(qp);
	len = min3(len, (u32)PAGE_SIZE - at, weft_rx_split_need(rx) - stage->have);
	if (!*page)
		*page = alloc_page(GFP_ATOMIC | __GFP_NOWARN);
	if (!*page) {
		weft_rx_refuse_local(rx);
		return len;
	}
	memcpy(page_address(*page) + at, from, len);
	stage->have += len;
	if (stage->have > rx->summed) {
		fresh = stage->have - rx->summed;
		rx_split_sum(rx, page_address(*page) + at + len - fresh, fresh);
	}
	if (rx_split_whole(rx) && stage->have == rx->summed) {
		rx->state = WEFT_RX_HEADER;
		rx_split_judge(rx);
		weft_rx_unstage(qp, take);
	}
	return len;
}

/**
 * weft_rx_unstage() - place the FPDU on the stage, if there is one and it is whole
 * @qp: the queue pair
 * @take: takes its bytes
 *
 * Context: any, socket lock held; does not sleep.
 * Return: true if the stream may be read; false if the FPDU waits for a receive.
 */
bool weft_rx_unstage(struct weft_qp *qp, weft_rx_taker take)
{
	struct weft_rx *rx = &qp->rx;
	struct weft_rx_stage *stage = rx->stage;
	u32 at, n;

	weft_qp_assert_locked(qp);
	if (likely(!stage) || rx->state == WEFT_RX_STAGE)
		return true;
	while (rx->state != WEFT_RX_STOPPED && stage->placed < stage->have) {
		at = offset_in_page(stage->placed);
		n = min_t(u32, PAGE_SIZE - at, stage->have - stage->placed);
		n = take(qp, page_address(stage->pages[stage->placed / PAGE_SIZE]) + at, n);
		stage->placed += n;
		if (!n)
			break;
	}
	weft_rx_let_go(rx);
	if (rx->stalled && rx->state != WEFT_RX_STOPPED)
		return false;
	weft_rx_stage_free(rx);
	return true;
}

/**
 * weft_rx_stage_free() - free the stage, and the bytes on it
 * @rx: the receive side
 *
 * Context: any. With a stage, the caller holds the lock of the data path, which is tx.lock
 * when the stream is gone.
 */
void weft_rx_stage_free(struct weft_rx *rx)
{
	u32 i;

	if (!rx->stage)
		return;
	weft_rx_assert_locked(rx);
	for (i = 0; i < WEFT_RX_STAGE_PAGES; i++)
		if (rx->stage->pages[i])
			__free_page(rx->stage->pages[i]);
	kfree(rx->stage);
	rx->stage = NULL;
}
