/* SPDX-License-Identifier: GPL-2.0 */
/* Settings of a device, which an operator can change. New connections use new values. */
#ifndef WEFT_SETTINGS_H
#define WEFT_SETTINGS_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "base/peers.h"
#include "wire/mpa.h"

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

static inline u32 weft_setting(const struct weft_settings *settings,
			       enum weft_setting_id id)
{
	return READ_ONCE(settings->value[id]);
}

extern struct weft_settings weft_settings_default;

void weft_settings_init(struct weft_settings *settings);
struct weft_mpa_policy
weft_settings_policy(const struct weft_settings *settings, bool own_crc);

#endif /* WEFT_SETTINGS_H */
