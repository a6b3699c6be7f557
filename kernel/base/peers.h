/* SPDX-License-Identifier: GPL-2.0 */
/* How long FPDUs may be to listed peers: RFC 5044 wants one segment, some cards take more. */
#ifndef WEFT_PEERS_H
#define WEFT_PEERS_H

#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#define WEFT_MAX_PEERS		16

/* Lengths that are not a number of bytes. */
#define WEFT_FPDU_ONE_SEGMENT	0U
#define WEFT_FPDU_ANY_LENGTH	U32_MAX
/* The range of a length in bytes. */
#define WEFT_FPDU_LEAST		512U
#define WEFT_FPDU_MOST		65536U

/**
 * struct weft_fpdu_peer - an entry: the peers with an address prefix
 * @addr: the prefix, in network order; IPv4 has the first four bytes
 * @v6: the prefix is of IPv6
 * @bits: its length
 * @longest: the longest FPDU: bytes, WEFT_FPDU_ONE_SEGMENT or WEFT_FPDU_ANY_LENGTH
 */
struct weft_fpdu_peer {
	u8 addr[16];
	bool v6;
	u8 bits;
	u32 longest;
};

/**
 * struct weft_peer_list - entries, of which the first match counts
 * @num: number of entries
 * @entry: the entries
 */
struct weft_peer_list {
	u32 num;
	struct weft_fpdu_peer entry[WEFT_MAX_PEERS];
};

/**
 * struct weft_peers - a device's list
 * @lock: protects @list. Process context only
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
