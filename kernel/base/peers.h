/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long FPDUs may be to peers whose addresses an operator knows: RFC 5044 wants none longer
 * than a segment, and some cards take longer ones.
 */
#ifndef WEFT_PEERS_H
#define WEFT_PEERS_H

#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/types.h>

/* Entries of a list. */
#define WEFT_MAX_PEERS		16

/* Lengths that are none in bytes. */
#define WEFT_FPDU_ONE_SEGMENT	0U
#define WEFT_FPDU_ANY_LENGTH	U32_MAX
/* A length in bytes is one of these. */
#define WEFT_FPDU_LEAST		512U
#define WEFT_FPDU_MOST		65536U

/**
 * struct weft_fpdu_peer - the peers that have a prefix
 * @addr: an address with it, in network order; IPv4 has the first four bytes
 * @v6: it is of IPv6
 * @bits: how many of its bits count
 * @longest: their FPDUs: bytes, WEFT_FPDU_ONE_SEGMENT or WEFT_FPDU_ANY_LENGTH
 */
struct weft_fpdu_peer {
	u8 addr[16];
	bool v6;
	u8 bits;
	u32 longest;
};

/**
 * struct weft_peer_list - entries, of which the first that fits counts
 * @num: how many
 * @entry: the entries
 */
struct weft_peer_list {
	u32 num;
	struct weft_fpdu_peer entry[WEFT_MAX_PEERS];
};

/**
 * struct weft_peers - a device's list
 * @lock: protects @list
 * @list: the list
 */
struct weft_peers {
	spinlock_t lock; /* of the list */
	struct weft_peer_list list;
};

void weft_peers_init(struct weft_peers *peers);
void weft_peers_set(struct weft_peers *peers, const struct weft_peer_list *list);
void weft_peers_get(struct weft_peers *peers, struct weft_peer_list *list);
bool weft_peers_longest(struct weft_peers *peers, const struct sockaddr_storage *addr,
			u32 *longest);
int weft_peer_parse(char *text, struct weft_fpdu_peer *peer);
int weft_peer_emit(const struct weft_fpdu_peer *peer, char *text, int at);

#endif /* WEFT_PEERS_H */
