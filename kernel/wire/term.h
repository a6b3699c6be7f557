/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The Terminate message (RFC 5040, 4.8): why a stream ends. */
#ifndef WEFT_WIRE_TERM_H
#define WEFT_WIRE_TERM_H

#include <linux/types.h>

enum weft_term_layer {
	WEFT_TERM_RDMAP = 0,
	WEFT_TERM_DDP = 1,
	WEFT_TERM_LLP = 2,	/* MPA */
};

/* Error types of each layer. */
enum {
	WEFT_RDMAP_LOCAL = 0,
	WEFT_RDMAP_PROTECTION = 1,
	WEFT_RDMAP_OPERATION = 2,

	WEFT_DDP_LOCAL = 0,
	WEFT_DDP_TAGGED_BUFFER = 1,
	WEFT_DDP_UNTAGGED_BUFFER = 2,

	WEFT_LLP_MPA = 0,
};

/* Codes of RDMAP errors: remote protection and operation (RFC 5040, 4.8). */
enum {
	WEFT_RP_STAG = 0x00,		/* invalid STag */
	WEFT_RP_BOUNDS = 0x01,
	WEFT_RP_ACCESS = 0x02,
	WEFT_RP_NOT_ASSOCIATED = 0x03,	/* STag of another stream or PD */
	WEFT_RP_WRAP = 0x04,
	WEFT_RP_UNSPECIFIED = 0xff,

	WEFT_RO_VERSION = 0x05,
	WEFT_RO_OPCODE = 0x06,
	WEFT_RO_CATASTROPHIC_STREAM = 0x07,
	WEFT_RO_CATASTROPHIC_GLOBAL = 0x08,
	WEFT_RO_CANNOT_INVALIDATE = 0x09,
	WEFT_RO_UNSPECIFIED = 0xff,
};

/* Codes of DDP errors (RFC 5041, 8.2). */
enum {
	WEFT_DT_STAG = 0x00,
	WEFT_DT_BOUNDS = 0x01,
	WEFT_DT_NOT_ASSOCIATED = 0x02,
	WEFT_DT_WRAP = 0x03,
	WEFT_DT_VERSION = 0x04,

	WEFT_DU_QN = 0x01,
	WEFT_DU_NO_BUFFER = 0x02,	/* MSN: no buffer available */
	WEFT_DU_MSN_RANGE = 0x03,
	WEFT_DU_MO = 0x04,
	WEFT_DU_TOO_LONG = 0x05,
	WEFT_DU_VERSION = 0x06,
};

/* Codes of MPA errors (RFC 5044, 8; RFC 6581, 8). */
enum {
	WEFT_MPA_CLOSED = 0x01,
	WEFT_MPA_CRC = 0x02,
	WEFT_MPA_MARKER = 0x03,
	WEFT_MPA_BAD_HANDSHAKE = 0x04,
	WEFT_MPA_LOCAL = 0x05,
	WEFT_MPA_INSUFFICIENT_IRD = 0x06,
	WEFT_MPA_NO_RTR_MATCH = 0x07,
};

struct weft_term {
	u8 layer;	/* enum weft_term_layer */
	u8 etype;
	u8 code;
};

/* Returns true if the reason is access to memory that the peer may not reach. */
static inline bool weft_term_of_access(const struct weft_term *term)
{
	return (term->layer == WEFT_TERM_RDMAP && term->etype == WEFT_RDMAP_PROTECTION) ||
	       (term->layer == WEFT_TERM_DDP && term->etype == WEFT_DDP_TAGGED_BUFFER &&
		term->code != WEFT_DT_VERSION);
}

/* Control field, DDP segment length, DDP header and, for a Read Request, its RDMAP header. */
#define WEFT_TERM_MAX_LEN	(4 + 2 + 18 + 28)

/*
 * Includes the parts of @segment that RFC 5040, 4.8, allows for this reason. @segment_len is 0, 14,
 * 18 or, with a Read Request's payload, 46; @ulpdu_len is the whole segment's length. Returns the
 * length of the Terminate's payload, at most WEFT_TERM_MAX_LEN.
 */
u32 weft_term_encode(u8 *buf, const struct weft_term *term, const u8 *segment,
		     u32 segment_len, u16 ulpdu_len);

/*
 * Returns false if the control field is truncated. @op and @msn are of the offending message; they
 * are 0xff and 0 if its header is absent or truncated.
 */
bool weft_term_decode(const u8 *buf, u32 len, struct weft_term *term, u8 *op,
		      u32 *msn);

#endif /* WEFT_WIRE_TERM_H */
