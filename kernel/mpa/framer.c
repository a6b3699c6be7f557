// SPDX-License-Identifier: GPL-2.0
/* The parts of the framer that are no loop over FPDUs; see framer.h. */
#include <linux/string.h>

#include "mpa/framer.h"

/**
 * weft_framer_start() - prepare for a new stream
 * @f: the framer, with nothing on its stage
 * @agreed: with the peer: CRCs, and markers that it sends
 * @owner: of the queue pair, who pays for what is kept of an FPDU; NULL: nobody
 *
 * Context: any.
 */
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

/* The FPDU has ended; the next comes. */
void weft_framer_next(struct weft_framer *f)
{
	f->state = WEFT_FRAMER_HEAD;
	f->checked = false;
	f->have = 0;
	f->trailer_have = 0;
}

/* Nothing more is taken: forgets what was kept of an FPDU. */
void weft_framer_drop(struct weft_framer *f)
{
	f->ahead = false;
	f->starved = false;
	weft_framer_free(f);
}

/* Returns what is wrong, if anything, once. */
enum weft_framer_fault weft_framer_fault(struct weft_framer *f)
{
	enum weft_framer_fault fault = f->fault;

	f->fault = WEFT_FRAMER_FINE;
	return fault;
}

/**
 * weft_framer_good() - is the CRC of an FPDU good that lies whole in a packet?
 * @f: the framer
 * @p: the packet
 * @offset: where the FPDU begins
 * @len: its length
 *
 * The CRC runs over the packet, not over the copy of the first bytes in @f. If the two
 * differ, a sender on this host has changed them in flight.
 *
 * Context: any.
 * Return: true if it is.
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
		crc = weft_crc_update(crc, piece, n);
	}
	weft_packet_copy(p, end, f->trailer, WEFT_CRC_LEN);
	return weft_crc_good(f->trailer, crc);
}

/* Fills @to up to @need bytes, of which *@have are there. Returns bytes taken. */
static u32 framer_fill(u8 *to, u32 *have, u32 need, const u8 *from, u32 len)
{
	u32 n = min(len, need - *have);

	memcpy(to + *have, from, n);
	*have += n;
	return n;
}

/**
 * weft_framer_gather() - take the first bytes of an FPDU that comes in parts
 * @f: the framer, in WEFT_FRAMER_HEAD
 * @from: the bytes
 * @len: how many
 *
 * Context: any.
 * Return: how many were taken.
 */
u32 weft_framer_gather(struct weft_framer *f, const u8 *from, u32 len)
{
	u32 taken = 0, need;

	if (f->have < WEFT_MPA_LEN) {
		taken = framer_fill(f->head, &f->have, WEFT_MPA_LEN, from, len);
		if (f->have < WEFT_MPA_LEN)
			return taken;
		f->ulpdu_len = weft_get_be16(f->head);
	}
	need = WEFT_MPA_LEN + min_t(u32, f->ulpdu_len, WEFT_SEGMENT_HEAD);
	taken += framer_fill(f->head, &f->have, need, from + taken, len - taken);
	if (f->have == need)
		f->state = WEFT_FRAMER_BEGIN;
	return taken;
}

/**
 * weft_framer_trailer() - take padding and CRC of an FPDU that comes in parts
 * @f: the framer, in WEFT_FRAMER_TRAILER
 * @from: the bytes
 * @len: in: how many; out: how many were taken
 *
 * Context: any.
 * Return: true if all of it is here.
 */
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
