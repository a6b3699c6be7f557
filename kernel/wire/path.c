// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Encodes and decodes the frames of paths. */

#include <linux/string.h>
#include <linux/types.h>

#include "bytes.h"
#include "path.h"

#define SSN_AT		4
#define ACK_AT		8
#define KEY_AT		WEFT_PATH_HDR_LEN
#define PORT_AT		(KEY_AT + WEFT_PATH_KEY_LEN)
#define PATHS_AT	(PORT_AT + 2)
#define NUM_AT		(PATHS_AT + 1)
#define ADDRS_AT	(NUM_AT + 1)

void weft_path_encode(u8 *ulpdu, const struct weft_path_hdr *hdr)
{
	memset(ulpdu, 0, WEFT_PATH_HDR_LEN);
	ulpdu[0] = hdr->type;
	put_unaligned_be32(hdr->ssn, ulpdu + SSN_AT);
	put_unaligned_be32(hdr->ack, ulpdu + ACK_AT);
}

bool weft_path_decode(const u8 *ulpdu, u32 len, struct weft_path_hdr *hdr)
{
	if (len < WEFT_PATH_HDR_LEN)
		return false;
	hdr->type = ulpdu[0];
	hdr->ssn = get_unaligned_be32(ulpdu + SSN_AT);
	hdr->ack = get_unaligned_be32(ulpdu + ACK_AT);
	switch (hdr->type) {
	case WEFT_PATH_SEGMENT:
		return len > WEFT_PATH_HDR_LEN && len <= WEFT_PATH_MAX_ULPDU;
	case WEFT_PATH_END:
	case WEFT_PATH_ACK:
		return len == WEFT_PATH_HDR_LEN;
	case WEFT_PATH_ADDRESSES:
		return len >= ADDRS_AT && ulpdu[NUM_AT] <= WEFT_PATH_MAX_ADDRS &&
		       len == ADDRS_AT + (u32)ulpdu[NUM_AT] * WEFT_PATH_ADDR_LEN;
	case WEFT_PATH_JOIN:
	case WEFT_PATH_ANSWER:
		return len == WEFT_PATH_JOIN_LEN;
	case WEFT_PATH_CHALLENGE:
		return len == WEFT_PATH_CHALLENGE_LEN;
	default:
		return false;
	}
}

u32 weft_path_encode_addrs(u8 *ulpdu, const struct weft_path_addrs *addrs)
{
	u32 len = (u32)addrs->num * WEFT_PATH_ADDR_LEN;

	memcpy(ulpdu + KEY_AT, addrs->key, WEFT_PATH_KEY_LEN);
	put_unaligned_be16(addrs->port, ulpdu + PORT_AT);
	ulpdu[PATHS_AT] = addrs->paths;
	ulpdu[NUM_AT] = addrs->num;
	memcpy(ulpdu + ADDRS_AT, addrs->addr, len);
	return ADDRS_AT + len;
}

void weft_path_decode_addrs(const u8 *ulpdu, struct weft_path_addrs *addrs)
{
	memcpy(addrs->key, ulpdu + KEY_AT, WEFT_PATH_KEY_LEN);
	addrs->port = get_unaligned_be16(ulpdu + PORT_AT);
	addrs->paths = ulpdu[PATHS_AT];
	addrs->num = ulpdu[NUM_AT];
	memcpy(addrs->addr, ulpdu + ADDRS_AT, (u32)addrs->num * WEFT_PATH_ADDR_LEN);
}

void weft_path_encode_claim(u8 *to, const struct weft_path_claim *claim)
{
	put_unaligned_be32(claim->responder, to);
	put_unaligned_be32(claim->number, to + 4);
	memcpy(to + 8, claim->addr, WEFT_PATH_ADDR_LEN);
	put_unaligned_be64(claim->joined, to + 8 + WEFT_PATH_ADDR_LEN);
	put_unaligned_be64(claim->challenged, to + 8 + WEFT_PATH_ADDR_LEN + WEFT_PATH_NUMBER_LEN);
}
