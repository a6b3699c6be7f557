// SPDX-License-Identifier: GPL-2.0
/* Values of the settings, and the handshake's policy that follows from them. */
#include "base/limit.h"
#include "base/settings.h"

/* Defaults of new devices; module parameters change them (device/sysfs.c). */
struct weft_settings weft_settings_default = {
	.value = {
		[WEFT_SET_CRC] = WEFT_CRC_PREFERRED,
		[WEFT_SET_MPA_REVISION] = 2,
		[WEFT_SET_RTR] = WEFT_RTR_SEND | WEFT_RTR_WRITE | WEFT_RTR_READ,
		[WEFT_SET_KEEPALIVE] = 60,
		[WEFT_SET_USER_TIMEOUT] = 60,
		[WEFT_SET_FPDU] = WEFT_FPDU_LARGE,
		[WEFT_SET_EXTENSIONS] = 1,
		[WEFT_SET_MARKERS] = 0,
		[WEFT_SET_LEND] = WEFT_LEND_UNCHECKED,
	},
};

void weft_settings_init(struct weft_settings *settings)
{
	int i;

	for (i = 0; i < WEFT_NUM_SETTINGS; i++)
		settings->value[i] = READ_ONCE(weft_settings_default.value[i]);
	weft_peers_init(&settings->peers);
}

/* Returns the handshake's policy. @own_crc: the lower layer needs no CRCs or markers of MPA. */
struct weft_mpa_policy
weft_settings_policy(const struct weft_settings *settings, bool own_crc)
{
	return (struct weft_mpa_policy) {
		.revision = weft_setting(settings, WEFT_SET_MPA_REVISION),
		.crc = own_crc ? WEFT_CRC_OFF : weft_setting(settings, WEFT_SET_CRC),
		.rtr = weft_setting(settings, WEFT_SET_RTR),
		.p2p = true,
		.extend = weft_setting(settings, WEFT_SET_EXTENSIONS),
		.markers = !own_crc && weft_setting(settings, WEFT_SET_MARKERS),
		.ird = WEFT_MAX_RD_ATOM,
		.ord = WEFT_MAX_RD_ATOM,
	};
}
