/* SPDX-License-Identifier: GPL-2.0 */
/* MPA's receiving half, as far as a queue pair keeps it; mpa/framer.h says what is done. */
#ifndef WEFT_PAIR_FRAMER_H
#define WEFT_PAIR_FRAMER_H

#include <linux/types.h>

#include "pair/segment.h"
#include "wire/fpdu.h"
#include "wire/marker.h"

struct ib_ucontext;
struct weft_stage;

/* Where in an FPDU that comes in parts the stream is. */
enum weft_framer_state {
	WEFT_FRAMER_HEAD,	/* gathering the length field and the segment's first bytes */
	WEFT_FRAMER_BEGIN,	/* they are here; the segment is still to begin */
	WEFT_FRAMER_PAYLOAD,
	WEFT_FRAMER_TRAILER,	/* padding and CRC */
	WEFT_FRAMER_STAGE,	/* going to @stage: the stream cannot hold it, or it has markers */
};

/* What is wrong with an FPDU itself, or with our handling of it. */
enum weft_framer_fault {
	WEFT_FRAMER_FINE,
	WEFT_FRAMER_CRC,
	WEFT_FRAMER_MARKER,	/* one points elsewhere than to its FPDU */
	WEFT_FRAMER_UNREADABLE,	/* no driver of a card makes such a packet buffer */
};

/**
 * struct weft_framer_counts - FPDUs that ended since the queue pair was made
 * @fpdus: how many
 * @bytes: their bytes
 * @split: how many of them did not lie whole in one packet buffer. Wraps
 * @staged: how many the stream could not hold. Wraps
 */
struct weft_framer_counts {
	u64 fpdus;
	u64 bytes;
	u32 split;
	u32 staged;
};

/**
 * struct weft_framer - FPDUs as they come
 * @state: enum weft_framer_state: where in an FPDU the stream is
 * @fault: enum weft_framer_fault: why the FPDU under way cannot be taken
 * @crc_used: CRCs are in use
 * @marked: the peer sends markers
 * @ahead: the FPDU that comes next does not lie whole in a packet; it stays in the
 *	stream until its CRC has passed
 * @checked: the CRC of the next FPDU has passed, so it may be placed as it is read
 * @starved: there was no memory for @stage, so the stream keeps the FPDU until it is read again
 * @head: length field and first bytes of the segment; a private copy
 * @trailer: padding and CRC as received
 * @trailer_have: bytes in @trailer
 * @marks: with markers: where in the stream the next byte is
 * @ulpdu_len: from the length field that came last
 * @have: bytes in @head, of an FPDU that comes in parts
 * @told: bytes of its segment that were told of
 * @summed: bytes of the FPDU ahead that are in @crc, or are its trailer
 * @crc: running CRC of the FPDU ahead, or of the one with markers under way
 * @owner: pays for @stage; NULL: nobody does
 * @stage: the bytes of an FPDU that the stream could not hold, or that had markers among them;
 *	or NULL
 * @counts: FPDUs of this stream and of those before it. Read without the lock, to be shown
 *
 * Protected by the lock of its queue pair's data path, see weft_qp_assert_locked(). All
 * fields are written in mpa/ alone.
 */
struct weft_framer {
	u8 state;
	u8 fault;
	bool crc_used;
	bool marked;
	bool ahead;
	bool checked;
	bool starved;
	u8 head[WEFT_MPA_LEN + WEFT_SEGMENT_HEAD];
	u8 trailer[3 + WEFT_CRC_LEN];
	u8 trailer_have;
	struct weft_marks marks;
	u32 ulpdu_len;
	u32 have;
	u32 told;
	u32 summed;
	u32 crc;
	const struct ib_ucontext *owner;
	struct weft_stage *stage;
	struct weft_framer_counts counts;
};

#endif /* WEFT_PAIR_FRAMER_H */
