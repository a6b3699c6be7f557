/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * DDP over SCTP (RFC 5043; RFC 6581, 9). A user message is, by its payload protocol identifier:
 * 16	| DDP-SSN, 16 bits | DDP segment |
 * 17	| DDP-SSN, 16 bits | function code, 16 bits | private data |
 * The DDP-SSN counts all messages of one direction from 0. Session control messages (17) replace
 * MPA's Request and Reply, so that the layers above see a struct weft_mpa_frame in either case.
 */
#ifndef WEFT_WIRE_SESSION_H
#define WEFT_WIRE_SESSION_H

#include <linux/types.h>

#include "bytes.h"
#include "mpa.h"

#define WEFT_SCTP_PPID_SEGMENT	16
#define WEFT_SCTP_PPID_CONTROL	17
#define WEFT_SCTP_ADAPTATION	0x00000001	/* adaptation indication of DDP */

#define WEFT_SSN_LEN		2
#define WEFT_SESSION_HDR_LEN	4
#define WEFT_SESSION_MAX_LEN	(WEFT_SESSION_HDR_LEN + WEFT_MPA_MAX_PRIVATE)

enum weft_session_code {
	WEFT_SESSION_INITIATE = 1,
	WEFT_SESSION_ACCEPT = 2,
	WEFT_SESSION_REJECT = 3,
	WEFT_SESSION_TERMINATE = 4,
	/* with IRD and ORD first in the private data */
	WEFT_SESSION_ENHANCED_INITIATE = 5,
	WEFT_SESSION_ENHANCED_ACCEPT = 6,
	WEFT_SESSION_ENHANCED_REJECT = 7,
	/*
	 * Weft's own, added to an enhanced code: offer to extend, and its acceptance. A peer that
	 * does not know the code refuses the session; the initiator retries with a plain Initiate.
	 */
	WEFT_SESSION_EXTEND = 0x8000,
};

/* Extends a DDP-SSN to 32 bits; @near is a number less than 2^15 away. */
static inline u32 weft_session_number(const u8 *message, u32 near)
{
	u16 ahead = get_unaligned_be16(message) - near;

	return ahead < 0x8000 ? near + ahead : near - (0x10000U - ahead);
}

/*
 * Writes a handshake message of at most WEFT_SESSION_MAX_LEN bytes, without flags of markers and
 * CRCs, and in a plain message without the offer to extend. Returns 0 if @frame is invalid.
 */
u32 weft_session_encode(u8 *buf, u16 ssn, const struct weft_mpa_frame *frame,
			const u8 *private_data);

u32 weft_session_encode_terminate(u8 *buf, u16 ssn);

bool weft_session_is_terminate(const u8 *buf, u32 len);

/* Decodes a message of the handshake. Returns the offset of the private data, or 0. */
u32 weft_session_decode(const u8 *buf, u32 len, struct weft_mpa_frame *frame);

#endif /* WEFT_WIRE_SESSION_H */
