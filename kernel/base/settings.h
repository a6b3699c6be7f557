/* SPDX-License-Identifier: GPL-2.0 */
/* Settings of a device, which an operator can change. New connections use new values. */
#ifndef WEFT_SETTINGS_H
#define WEFT_SETTINGS_H

#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/types.h>

enum weft_setting_id {
	WEFT_SET_CRC,		/* enum weft_crc_policy */
	WEFT_SET_MPA_REVISION,	/* 1 or 2 */
	WEFT_SET_RTR,		/* bits of enum weft_rtr */
	WEFT_SET_KEEPALIVE,	/* seconds of silence before TCP asks; 0: never */
	WEFT_SET_USER_TIMEOUT,	/* seconds that sent data may go unacknowledged; 0: TCP's own */
	WEFT_SET_FPDU,		/* enum weft_fpdu_policy */
	WEFT_SET_EXTENSIONS,	/* 1: offer and accept extensions of Weft peers; 0: plain iWARP */
	WEFT_SET_MARKERS,	/* 1: ask peers for MPA markers */
	WEFT_SET_LEND,		/* enum weft_lend_policy */
	WEFT_NUM_SETTINGS
};

enum weft_fpdu_policy {
	WEFT_FPDU_SEGMENT,	/* FPDUs no longer than a segment, as RFC 5044 has it */
	WEFT_FPDU_LARGE,	/* FPDUs of many segments, to a peer that is Weft */
};

/* Does TCP send large payload from the pages of programs, without a copy? */
enum weft_lend_policy {
	WEFT_LEND_OFF,
	WEFT_LEND_UNCHECKED,	/* where no CRC is in use */
	WEFT_LEND_ALL,		/* with CRCs, too */
};

/* --- longest FPDUs for listed peers: RFC 5044 wants one segment, some cards take more --- */

#define WEFT_MAX_PEERS		16

/* Lengths that are not a number of bytes. */
#define WEFT_FPDU_ONE_SEGMENT	0U
#define WEFT_FPDU_ANY_LENGTH	U32_MAX
/* The range of a length in bytes. */
#define WEFT_FPDU_LEAST		512U
#define WEFT_FPDU_MOST		65536U

/* An entry: the peers with an address prefix. */
struct weft_fpdu_peer {
	u8 addr[16]; /* the prefix, in network order; IPv4 has the first four bytes */
	bool v6; /* the prefix is of IPv6 */
	u8 bits; /* its length */
	u32 longest; /* the longest FPDU: bytes, WEFT_FPDU_ONE_SEGMENT or WEFT_FPDU_ANY_LENGTH */
};

/* Entries, of which the first match counts. */
struct weft_peer_list {
	u32 num;
	struct weft_fpdu_peer entry[WEFT_MAX_PEERS];
};

/* A device's list. */
struct weft_peers {
	spinlock_t lock; /* of the list. Process context only */
	struct weft_peer_list list;
};

/**
 * struct weft_settings - a device's settings
 * @value: by enum weft_setting_id. Each is written on its own, without a lock; a new connection
 *	reads each once
 * @peers: peers whose FPDUs have a length of their own, whatever @value says
 */
struct weft_settings {
	u32 value[WEFT_NUM_SETTINGS];
	struct weft_peers peers;
};

extern struct weft_settings weft_settings_default;

void weft_settings_init(struct weft_settings *settings);
bool weft_peers_longest(struct weft_peers *peers, const struct sockaddr_storage *addr,
			u32 *longest);
int weft_peer_parse(char *text, struct weft_fpdu_peer *peer);
int weft_peer_emit(const struct weft_fpdu_peer *peer, char *text, int at);

#endif /* WEFT_SETTINGS_H */
