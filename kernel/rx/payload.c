// SPDX-License-Identifier: GPL-2.0
/* Copies payload to the place that place.c chose. */
#include <linux/string.h>

#include "base/weft.h"
#include "memory/mr.h"
#include "rx/rx.h"

/* Refuses an answer whose memory was invalidated or deregistered meanwhile. */
static enum weft_rx_verdict rx_read_failed(struct weft_rx *rx)
{
	weft_rx_refuse_now(rx, WEFT_TERM_RDMAP, WEFT_RDMAP_LOCAL, 0);
	weft_request_fail(rx->place.read->request, IB_WC_LOC_PROT_ERR, WEFT_VE_LKEY);
	return WEFT_RX_BAD;
}

/* Ends the connection, because the memory for the payload may not be written any more. */
static enum weft_rx_verdict rx_place_failed(struct weft_rx *rx,
					    enum weft_key_error err)
{
	switch (rx->place.target) {
	case WEFT_RX_TO_REGION:
		return weft_rx_refuse_key(rx, err);
	case WEFT_RX_TO_READ:
		return rx_read_failed(rx);
	default:
		weft_rx_refuse_now(rx, WEFT_TERM_RDMAP, WEFT_RDMAP_LOCAL, 0);
		weft_rx_recv_failed(rx, IB_WC_LOC_PROT_ERR, WEFT_VE_LKEY);
		return WEFT_RX_BAD;
	}
}

/*
 * Writes bytes at the placement and advances it; not for TO_BYTES. Each piece is checked against
 * its region again, because an earlier check says nothing after an invalidation.
 */
static __always_inline enum weft_key_error rx_put(struct weft_rx *rx, const u8 *from, u32 len)
{
	struct weft_placement *p = &rx->place;
	const struct weft_sge *sge;
	enum weft_key_error err;
	u64 to;
	u32 n;

	while (len) {
		if (!p->num_sge)
			return WEFT_KEY_BOUNDS;
		sge = p->sge;
		n = min(len, sge->length - p->at);
		if (!n) {
			p->sge++;
			p->num_sge--;
			p->at = 0;
			continue;
		}
		to = sge->addr + p->at;
		err = weft_access_go_on(&p->access, rx->acc, p->pd, sge->lkey, to, n, p->rights);
		if (err)
			return err;
		p->at += n;
		len -= n;
		weft_mr_write(p->access.mr, to, from, n);
		from += n;
	}
	return WEFT_KEY_OK;
}

/* Places the next @len bytes of a payload, no more than are left of it, after weft_rx_begin(). */
enum weft_rx_verdict weft_rx_place(struct weft_rx *rx, const u8 *from, u32 len)
{
	struct weft_placement *p = &rx->place;
	enum weft_key_error err;

	weft_rx_assert_locked(rx);
	if (p->target == WEFT_RX_TO_BYTES) {
		memcpy(p->bytes + p->have, from, len);
		p->have += len;
		return WEFT_RX_OK;
	}
	err = rx_put(rx, from, len);
	return likely(!err) ? WEFT_RX_OK : rx_place_failed(rx, err);
}

/* Places an early payload, after weft_rx_aim(). Returns true if all of it is placed. */
bool weft_rx_try(struct weft_rx *rx, const u8 *from, u32 len)
{
	weft_rx_assert_locked(rx);
	return rx_put(rx, from, len) == WEFT_KEY_OK;
}

/*
 * Returns how many payload bytes may follow the last FPDU without another check, and in @to their
 * address in the held region; 0 if each FPDU has to be looked at.
 */
u64 weft_rx_row_room(struct weft_rx *rx, u64 *to)
{
	const struct weft_placement *p = &rx->place;
	u32 room;

	weft_rx_assert_locked(rx);
	if (p->target == WEFT_RX_TO_BYTES || !p->access.mr)
		return 0;
	*to = p->sge->addr + p->at;
	room = p->sge->length - p->at;
	switch (p->target) {
	case WEFT_RX_TO_REGION:
		return weft_access_room(&p->access, *to);
	case WEFT_RX_TO_READ:
		room = min(room, p->read->len - p->read->got);
		break;
	default:
		room = min_t(u64, room, weft_inbound_room(weft_rx_inbound(rx)));
	}
	return min_t(u64, room, weft_access_room(&p->access, *to));
}

/* Accounts for @fpdus placed FPDUs as long as the one before, after weft_rx_row_room(). */
void weft_rx_row_end(struct weft_rx *rx, u32 fpdus)
{
	u32 len = fpdus * rx->seg.payload_len;

	weft_rx_assert_locked(rx);
	weft_template_advance(&rx->seg, len);
	switch (rx->place.target) {
	case WEFT_RX_TO_REGION:
		rx->written.len += len;
		break;
	case WEFT_RX_TO_READ:
		rx->place.read->got += len;
		break;
	default:
		weft_inbound_grow(weft_rx_inbound(rx), len);
	}
}
