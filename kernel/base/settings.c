// SPDX-License-Identifier: GPL-2.0
/* Values of the settings: their defaults, and peers whose FPDUs have a length of their own. */
#include <linux/in6.h>
#include <linux/inet.h>
#include <linux/kstrtox.h>
#include <linux/sysfs.h>

#include "base/settings.h"
#include "wire/mpa.h"

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
	spin_lock_init(&settings->peers.lock);
	settings->peers.list.num = 0;
}

/* --- peers, by address --- */

/* Finds the longest FPDU for a peer; false without an entry. An IPv4 address has AF_INET. */
bool weft_peers_longest(struct weft_peers *peers, const struct sockaddr_storage *addr, u32 *longest)
{
	bool v6 = addr->ss_family == AF_INET6, found = false;
	const struct weft_fpdu_peer *peer;
	u32 i, whole, rest;
	const u8 *bytes;

	if (v6)
		bytes = ((const struct sockaddr_in6 *)addr)->sin6_addr.s6_addr;
	else
		bytes = (const u8 *)&((const struct sockaddr_in *)addr)->sin_addr;
	spin_lock(&peers->lock);
	for (i = 0; i < peers->list.num && !found; i++) {
		peer = &peers->list.entry[i];
		whole = peer->bits / 8;
		rest = peer->bits % 8;
		found = peer->v6 == v6 && !memcmp(peer->addr, bytes, whole) &&
			(!rest || !((peer->addr[whole] ^ bytes[whole]) >> (8 - rest)));
		if (found)
			*longest = peer->longest;
	}
	spin_unlock(&peers->lock);
	return found;
}

/* Parses ADDRESS[/BITS]=LENGTH; LENGTH is bytes, "segment" or "large". Modifies @text. */
int weft_peer_parse(char *text, struct weft_fpdu_peer *peer)
{
	char *addr = strsep(&text, "="), *prefix = addr;
	const char *end;
	u8 most = 32;

	memset(peer, 0, sizeof(*peer));
	if (!text)
		return -EINVAL;
	addr = strsep(&prefix, "/");
	if (!in4_pton(addr, -1, peer->addr, -1, &end) || *end) {
		peer->v6 = true;
		most = 128;
		if (!in6_pton(addr, -1, peer->addr, -1, &end) || *end)
			return -EINVAL;
	}
	peer->bits = most;
	if (prefix && (kstrtou8(prefix, 10, &peer->bits) || peer->bits > most))
		return -EINVAL;
	if (!strcmp(text, "segment"))
		peer->longest = WEFT_FPDU_ONE_SEGMENT;
	else if (!strcmp(text, "large"))
		peer->longest = WEFT_FPDU_ANY_LENGTH;
	else if (kstrtou32(text, 10, &peer->longest) || peer->longest < WEFT_FPDU_LEAST ||
		 peer->longest > WEFT_FPDU_MOST)
		return -EINVAL;
	return 0;
}

/* Writes an entry, in the form of weft_peer_parse(), at @at of a sysfs file. Returns its length. */
int weft_peer_emit(const struct weft_fpdu_peer *peer, char *text, int at)
{
	int len = peer->v6 ? sysfs_emit_at(text, at, "%pI6c/%u=", peer->addr, peer->bits) :
			     sysfs_emit_at(text, at, "%pI4/%u=", peer->addr, peer->bits);

	if (peer->longest == WEFT_FPDU_ONE_SEGMENT)
		return len + sysfs_emit_at(text, at + len, "segment\n");
	if (peer->longest == WEFT_FPDU_ANY_LENGTH)
		return len + sysfs_emit_at(text, at + len, "large\n");
	return len + sysfs_emit_at(text, at + len, "%u\n", peer->longest);
}
