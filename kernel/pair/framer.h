/* SPDX-License-Identifier: GPL-2.0 */
/* State of MPA's receiving half; mpa/framer.h says how it works. */
#ifndef WEFT_PAIR_FRAMER_H
#define WEFT_PAIR_FRAMER_H

#include <linux/types.h>

#include "pair/segment.h"
#include "wire/fpdu.h"
#include "wire/marker.h"

struct ib_ucontext;
struct weft_stage;

/* Progress of an FPDU that comes in parts. */
enum weft_framer_state {
	WEFT_FRAMER_HEAD,	/* gathering the length field and the segment's first bytes */
	WEFT_FRAMER_BEGIN,	/* gathered; the segment is still to begin */
	WEFT_FRAMER_PAYLOAD,
	WEFT_FRAMER_TRAILER,	/* padding and CRC */
	WEFT_FRAMER_STAGE,	/* copied to @stage: too large for the stream, or marked */
};

/* Why an FPDU cannot be taken. */
enum weft_framer_fault {
	WEFT_FRAMER_FINE,
	WEFT_FRAMER_CRC,
	WEFT_FRAMER_MARKER,	/* a marker does not point to its FPDU */
	WEFT_FRAMER_UNREADABLE,	/* see weft_packet_readable() */
};

/* FPDUs that ended since the queue pair was made. */
struct weft_framer_counts {
	u64 fpdus;
	u64 bytes;
	u32 split;	/* FPDUs that did not lie whole in one packet buffer; wraps */
	u32 staged;	/* FPDUs that the stream could not hold; wraps */
};

/*
 * The FPDUs of a stream.
 * Protected by the lock of weft_qp_assert_locked(). Only mpa/ writes the fields, except that
 * segment_messages() borrows @head and @ulpdu_len.
 */
struct weft_framer {
	u8 state;				/* enum weft_framer_state */
	u8 fault;				/* enum weft_framer_fault */
	bool crc_used;				/* CRCs are in use */
	bool marked;				/* the peer sends markers */
	bool ahead;				/* the next FPDU waits in the stream for its CRC */
	bool checked;				/* the CRC has passed: place payload when read */
	bool starved;				/* no memory for @stage; a timer retries */
	u8 head[WEFT_MPA_LEN + WEFT_SEGMENT_HEAD]; /* private copy of the FPDU's first bytes */
	u8 trailer[3 + WEFT_CRC_LEN];		/* padding and CRC as received */
	u8 trailer_have;			/* bytes in @trailer */
	struct weft_marks marks;		/* stream position, if @marked */
	u32 ulpdu_len;				/* the last length field */
	u32 have;				/* bytes in @head, of an FPDU that comes in parts */
	u32 told;				/* bytes of the segment given to weft_segment_ops */
	u32 summed;				/* bytes of the FPDU ahead in @crc or @trailer */
	u32 crc;				/* running CRC of that FPDU, or the marked one */
	const struct ib_ucontext *owner;	/* charged for @stage; NULL: nobody */
	struct weft_stage *stage;		/* FPDU that the stream cannot hold, or marked */
	struct weft_framer_counts counts;	/* over all streams; read without the lock */
};

#endif /* WEFT_PAIR_FRAMER_H */
