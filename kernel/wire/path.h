/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Several TCP connections (paths) under one queue pair, between two Weft ends; docs/wire.md
 * specifies the frames. A DDP segment has a sequence number (SSN), so it may go on any path, and
 * again on another one if the first breaks. A proof is the SipHash of a claim under a key, which
 * only the first connection carries. The claim has the responder's address, so that a stranger
 * cannot relay a proof to the other end.
 */
#ifndef WEFT_WIRE_PATH_H
#define WEFT_WIRE_PATH_H

#include <linux/types.h>

#include "fpdu.h"

#define WEFT_MAX_PATHS		8
#define WEFT_PATH_HDR_LEN	12
#define WEFT_PATH_KEY_LEN	16
#define WEFT_PATH_NUMBER_LEN	8	/* a nonce or a proof */
#define WEFT_PATH_ADDR_LEN	16
#define WEFT_PATH_MAX_ADDRS	8
#define WEFT_PATH_ADDRS_LEN	(WEFT_PATH_KEY_LEN + 4)	/* without the addresses */
#define WEFT_PATH_CLAIM_LEN	(8 + WEFT_PATH_ADDR_LEN + 2 * WEFT_PATH_NUMBER_LEN)

/* Longest FPDU of a path, and of the queue pair's stream above it. */
#define WEFT_PATH_MAX_FPDU	16000U
#define WEFT_PATH_MAX_ULPDU	(WEFT_PATH_MAX_FPDU - WEFT_MPA_LEN - WEFT_CRC_LEN)
#define WEFT_PATH_EMSS		(WEFT_PATH_MAX_FPDU - WEFT_PATH_HDR_LEN)

/*
 * Limits on segments, and bytes of their FPDUs, that the peer's queue pair has not taken yet. The
 * receiver ends the connection when it would have to hold more.
 */
#define WEFT_PATH_WINDOW	4096U
#define WEFT_PATH_WINDOW_BYTES	(8U << 20)

enum weft_path_type {
	WEFT_PATH_SEGMENT = 1,
	WEFT_PATH_END = 2,
	WEFT_PATH_ACK = 3,
	/* 4 to 6 were frames of another format, see docs/wire.md. */
	WEFT_PATH_ADDRESSES = 7,
	WEFT_PATH_JOIN = 8,
	WEFT_PATH_CHALLENGE = 9,
	WEFT_PATH_ANSWER = 10,
};

/* A decoded header; docs/wire.md says which number each type has as @ssn. */
struct weft_path_hdr {
	u8 type;	/* enum weft_path_type */
	u32 ssn;
	u32 ack;	/* first segment that the sender's queue pair has not taken */
};

/* Addresses of the responder, to which further paths may connect. */
struct weft_path_addrs {
	u8 key[WEFT_PATH_KEY_LEN];
	u16 port;	/* accepts joins */
	u8 paths;	/* limit on the number of paths */
	u8 num;		/* of addresses */
	u8 addr[WEFT_PATH_MAX_ADDRS][WEFT_PATH_ADDR_LEN];
};

struct weft_path_claim {
	bool responder;	/* makes the proof; else the initiator */
	u32 number;	/* of the path */
	u8 addr[WEFT_PATH_ADDR_LEN];	/* to which the initiator has connected */
	u64 joined;	/* nonce of the join */
	u64 challenged;	/* nonce of the challenge */
};

/* Lengths of ULPDUs: longest frame but a segment; join or answer; challenge. Then of FPDUs. */
#define WEFT_PATH_MAX_CONTROL	(WEFT_PATH_HDR_LEN + WEFT_PATH_ADDRS_LEN + \
				 WEFT_PATH_MAX_ADDRS * WEFT_PATH_ADDR_LEN)
#define WEFT_PATH_JOIN_LEN	(WEFT_PATH_HDR_LEN + WEFT_PATH_NUMBER_LEN)
#define WEFT_PATH_CHALLENGE_LEN	(WEFT_PATH_HDR_LEN + 2 * WEFT_PATH_NUMBER_LEN)
#define WEFT_PATH_CONTROL_ROOM	WEFT_FPDU_ROOM(WEFT_PATH_MAX_CONTROL)
#define WEFT_PATH_JOIN_ROOM	WEFT_FPDU_ROOM(WEFT_PATH_JOIN_LEN)
#define WEFT_PATH_CHALLENGE_ROOM	WEFT_FPDU_ROOM(WEFT_PATH_CHALLENGE_LEN)

void weft_path_encode(u8 *ulpdu, const struct weft_path_hdr *hdr);

/* Returns false if type or length is wrong; @hdr is undefined then. */
bool weft_path_decode(const u8 *ulpdu, u32 len, struct weft_path_hdr *hdr);

/* Nonces and proofs behind the header: @which of a frame's two is 0 or 1. */
static inline void weft_path_put_number(u8 *ulpdu, u32 which, u64 number)
{
	put_unaligned_be64(number, ulpdu + WEFT_PATH_HDR_LEN + which * WEFT_PATH_NUMBER_LEN);
}

static inline u64 weft_path_number(const u8 *ulpdu, u32 which)
{
	return get_unaligned_be64(ulpdu + WEFT_PATH_HDR_LEN + which * WEFT_PATH_NUMBER_LEN);
}

/* Writes the WEFT_PATH_CLAIM_LEN bytes to hash. */
void weft_path_encode_claim(u8 *to, const struct weft_path_claim *claim);

/* Returns the length of the ULPDU, at most WEFT_PATH_MAX_CONTROL. The header is separate. */
u32 weft_path_encode_addrs(u8 *ulpdu, const struct weft_path_addrs *addrs);

void weft_path_decode_addrs(const u8 *ulpdu, struct weft_path_addrs *addrs);

/* Returns true if @a is before @b, for numbers less than 2^31 apart. */
static inline bool weft_path_before(u32 a, u32 b)
{
	return a - b > 0x7fffffffU;
}

#endif /* WEFT_WIRE_PATH_H */
