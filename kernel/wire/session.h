/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * DDP over SCTP (RFC 5043; RFC 6581, 9): what a user message holds.
 *
 *	a DDP segment, payload protocol identifier 16
 *
 *	| DDP-SSN, 16 bits | the segment |
 *
 *	a session control message, payload protocol identifier 17
 *
 *	| DDP-SSN, 16 bits | function code, 16 bits | private data |
 *
 * The DDP-SSN counts the messages of a session in each direction, from 0, both kinds together.
 * There is no MPA: SCTP keeps the boundaries of messages and has a CRC32C of its own. What
 * MPA's Request and Reply say is said by session control messages, so that above the
 * lower layer a handshake is a struct weft_mpa_frame in either case.
 */
#ifndef WEFT_WIRE_SESSION_H
#define WEFT_WIRE_SESSION_H

#include <linux/types.h>

#include "bytes.h"
#include "mpa.h"

#define WEFT_SCTP_PPID_SEGMENT	16
#define WEFT_SCTP_PPID_CONTROL	17
#define WEFT_SCTP_ADAPTATION	0x00000001	/* the adaptation indication of DDP */

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
	 * Weft's own, added to an enhanced code: the offer to extend, and its acceptance, which
	 * MPA has in reserved bits. A peer that does not know the code refuses the session,
	 * which is then tried again with a plain Initiate.
	 */
	WEFT_SESSION_EXTEND = 0x8000,
};

/* Writes the DDP-SSN of a message. */
static inline void weft_session_put_ssn(u8 *message, u16 ssn)
{
	weft_put_be16(message, ssn);
}

/* Returns the DDP-SSN of a message of WEFT_SSN_LEN bytes or more. */
static inline u16 weft_session_ssn(const u8 *message)
{
	return weft_get_be16(message);
}

/**
 * weft_session_number() - where is a message in the order in which messages are sent?
 * @message: the message, of WEFT_SSN_LEN bytes or more
 * @near: the number of a message that is less than 2^15 away
 *
 * Return: its number, of which the DDP-SSN is the lower half.
 */
static inline u32 weft_session_number(const u8 *message, u32 near)
{
	u16 ahead = weft_session_ssn(message) - near;

	return ahead < 0x8000 ? near + ahead : near - (0x10000U - ahead);
}

/**
 * weft_session_encode() - write a session control message
 * @buf: at least WEFT_SESSION_MAX_LEN bytes
 * @ssn: its DDP-SSN
 * @frame: what to write; revision 2 is an enhanced message
 * @private_data: @frame->private_len bytes; may be NULL if that is 0
 *
 * Flags about markers and CRCs have no place in it and are left out, and an offer to extend
 * has one in enhanced messages only.
 *
 * Return: bytes written, or 0 if it cannot be encoded, as with weft_mpa_encode().
 */
u32 weft_session_encode(u8 *buf, u16 ssn, const struct weft_mpa_frame *frame,
			const u8 *private_data);

/**
 * weft_session_encode_terminate() - write the message that ends a session
 * @buf: at least WEFT_SESSION_HDR_LEN bytes
 * @ssn: its DDP-SSN
 *
 * Return: bytes written.
 */
u32 weft_session_encode_terminate(u8 *buf, u16 ssn);

/**
 * weft_session_is_terminate() - does this message end the session?
 * @buf: a session control message
 * @len: its length
 *
 * Return: true if so.
 */
bool weft_session_is_terminate(const u8 *buf, u32 len);

/**
 * weft_session_decode() - decode and check a session control message of the handshake
 * @buf: the message
 * @len: its length
 * @frame: result; meaningful only on success
 *
 * Refuses: one that is too short or too long, an unknown function code, an enhanced one
 * without room for IRD and ORD, a plain one that offers to extend. @frame->reply says which
 * kind of message it is.
 *
 * Return: the offset of the application's private data in @buf, or 0.
 */
u32 weft_session_decode(const u8 *buf, u32 len, struct weft_mpa_frame *frame);

#endif /* WEFT_WIRE_SESSION_H */
