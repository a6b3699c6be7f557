/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Several paths under one queue pair: what flows on each TCP connection, its path, behind MPA's
 * handshake. Two Weft ends agree on this (negotiate.h); no other peer ever sees it.
 *
 * Each path is a stream of FPDUs, whose ULPDU begins with a header. A DDP segment of the queue
 * pair's stream is in one of them, and has a sequence number; so it may go on any path, and on a
 * second one if the first breaks.
 *
 *	| type, 8 bits | 0, 24 bits | SSN, 32 bits | ack, 32 bits | what the type says |
 *
 *	segment		a DDP segment; SSN is its number, from 0
 *	end		nothing: no segment has this SSN or one behind it
 *	ack		nothing
 *	addresses	| key | port, 16 bits | paths, 8 bits | num, 8 bits | addresses |
 *	join		| nonce |
 *	challenge	| nonce | proof |
 *	answer		| proof |
 *
 * A key and an address have 128 bits; an IPv4 address is a mapped one. Nonces and proofs have 64.
 * The SSN of a join, of its challenge and of the answer to that is the number of the path, from 0;
 * that of an ack or of addresses is 0. The ack is the SSN of the first segment that the sender's
 * engine has not taken.
 *
 * A proof is a claim's SipHash under the key. So the key, which the first connection has
 * carried, is on no other, and a stranger to whom one end speaks by mistake has nothing to
 * repeat to the other: the claim has the address at which the responder was reached.
 */
#ifndef WEFT_WIRE_PATH_H
#define WEFT_WIRE_PATH_H

#include <linux/types.h>

#include "fpdu.h"

#define WEFT_MAX_PATHS		8
#define WEFT_PATH_HDR_LEN	12
#define WEFT_PATH_KEY_LEN	16
#define WEFT_PATH_NUMBER_LEN	8	/* of a nonce, of a proof */
#define WEFT_PATH_ADDR_LEN	16
#define WEFT_PATH_MAX_ADDRS	8
#define WEFT_PATH_ADDRS_LEN	(WEFT_PATH_KEY_LEN + 4)	/* without the addresses */
#define WEFT_PATH_CLAIM_LEN	(8 + WEFT_PATH_ADDR_LEN + 2 * WEFT_PATH_NUMBER_LEN)

/* The longest FPDU of a path, and of the stream above it. */
#define WEFT_PATH_MAX_FPDU	16000U
#define WEFT_PATH_MAX_ULPDU	(WEFT_PATH_MAX_FPDU - WEFT_MPA_LEN - WEFT_CRC_LEN)
#define WEFT_PATH_EMSS		(WEFT_PATH_MAX_FPDU - WEFT_PATH_HDR_LEN)

/*
 * What may be under way: segments that were sent and not taken by the peer's engine, and the
 * bytes of their FPDUs. Who sends more loses the connection.
 */
#define WEFT_PATH_WINDOW	4096U
#define WEFT_PATH_WINDOW_BYTES	(8U << 20)

enum weft_path_type {
	WEFT_PATH_SEGMENT = 1,
	WEFT_PATH_END = 2,
	WEFT_PATH_ACK = 3,
	/* 4 to 6 are left out: they were frames of another format, see docs/wire.md. */
	WEFT_PATH_ADDRESSES = 7,
	WEFT_PATH_JOIN = 8,
	WEFT_PATH_CHALLENGE = 9,
	WEFT_PATH_ANSWER = 10,
};

/**
 * struct weft_path_hdr - a path's header, decoded
 * @type: enum weft_path_type
 * @ssn: see above
 * @ack: see above
 */
struct weft_path_hdr {
	u8 type;
	u32 ssn;
	u32 ack;
};

/**
 * struct weft_path_addrs - where more paths can lead to
 * @key: of the proofs
 * @port: where joins are awaited
 * @paths: how many paths there may be in all
 * @num: how many addresses
 * @addr: the addresses
 */
struct weft_path_addrs {
	u8 key[WEFT_PATH_KEY_LEN];
	u16 port;
	u8 paths;
	u8 num;
	u8 addr[WEFT_PATH_MAX_ADDRS][WEFT_PATH_ADDR_LEN];
};

/**
 * struct weft_path_claim - what a proof is given for
 * @responder: the responder gives it, not the initiator
 * @number: of the path
 * @addr: where the initiator has connected to, and the responder has accepted
 * @joined: the nonce of the join
 * @challenged: the nonce of the challenge
 */
struct weft_path_claim {
	bool responder;
	u32 number;
	u8 addr[WEFT_PATH_ADDR_LEN];
	u64 joined;
	u64 challenged;
};

/*
 * Lengths of the ULPDUs of the longest frame that is no segment, of a join and an answer, of a
 * challenge, and of their FPDUs.
 */
#define WEFT_PATH_MAX_CONTROL	(WEFT_PATH_HDR_LEN + WEFT_PATH_ADDRS_LEN + \
				 WEFT_PATH_MAX_ADDRS * WEFT_PATH_ADDR_LEN)
#define WEFT_PATH_JOIN_LEN	(WEFT_PATH_HDR_LEN + WEFT_PATH_NUMBER_LEN)
#define WEFT_PATH_CHALLENGE_LEN	(WEFT_PATH_HDR_LEN + 2 * WEFT_PATH_NUMBER_LEN)
#define WEFT_PATH_CONTROL_ROOM	WEFT_FPDU_ROOM(WEFT_PATH_MAX_CONTROL)
#define WEFT_PATH_JOIN_ROOM	WEFT_FPDU_ROOM(WEFT_PATH_JOIN_LEN)
#define WEFT_PATH_CHALLENGE_ROOM	WEFT_FPDU_ROOM(WEFT_PATH_CHALLENGE_LEN)

/**
 * weft_path_encode() - write the header of a ULPDU
 * @ulpdu: at least WEFT_PATH_HDR_LEN bytes
 * @hdr: what to write
 */
void weft_path_encode(u8 *ulpdu, const struct weft_path_hdr *hdr);

/**
 * weft_path_decode() - decode and check the header of a ULPDU
 * @ulpdu: the ULPDU
 * @len: its length
 * @hdr: result; meaningful only on success
 *
 * Refuses: an unknown type, and one whose length is not that of its type.
 *
 * Return: true if it is good.
 */
bool weft_path_decode(const u8 *ulpdu, u32 len, struct weft_path_hdr *hdr);

/* Writes a nonce or a proof behind the header; @which of a frame's two is 0 or 1. */
static inline void weft_path_put_number(u8 *ulpdu, u32 which, u64 number)
{
	weft_put_be64(ulpdu + WEFT_PATH_HDR_LEN + which * WEFT_PATH_NUMBER_LEN, number);
}

/* Returns that of a decoded join, challenge or answer. */
static inline u64 weft_path_number(const u8 *ulpdu, u32 which)
{
	return weft_get_be64(ulpdu + WEFT_PATH_HDR_LEN + which * WEFT_PATH_NUMBER_LEN);
}

/* Writes the WEFT_PATH_CLAIM_LEN bytes that are hashed for a proof. */
void weft_path_encode_claim(u8 *to, const struct weft_path_claim *claim);

/**
 * weft_path_encode_addrs() - write addresses behind the header
 * @ulpdu: at least WEFT_PATH_MAX_CONTROL bytes
 * @addrs: what to write
 *
 * Return: length of the ULPDU.
 */
u32 weft_path_encode_addrs(u8 *ulpdu, const struct weft_path_addrs *addrs);

/* Decodes a ULPDU of addresses that weft_path_decode() found good. */
void weft_path_decode_addrs(const u8 *ulpdu, struct weft_path_addrs *addrs);

/**
 * weft_path_before() - compare two sequence numbers
 * @a: one
 * @b: the other
 *
 * Return: true if @a is before @b, for numbers less than 2^31 apart.
 */
static inline bool weft_path_before(u32 a, u32 b)
{
	return a - b > 0x7fffffffU;
}

#endif /* WEFT_WIRE_PATH_H */
