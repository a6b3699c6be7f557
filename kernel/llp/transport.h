/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Transports, which the operator chooses by name for a device's connections. TCP is one; others are
 * modules of their own, which register here.
 */
#ifndef WEFT_LLP_TRANSPORT_H
#define WEFT_LLP_TRANSPORT_H

#include <linux/types.h>

#include "base/weft.h"
#include "llp/class.h"

struct weft_counters;

#define WEFT_TRANSPORT_NAME	16
/* What a stream is told that takes the place of a first one. */
struct weft_spread_terms {
	bool initiator;	/* this end opened the first */
	bool crc;	/* the handshake agreed on CRCs */
	u32 keepalive;	/* seconds of silence before the peer is asked; 0: never */
	u32 user_timeout;	/* seconds that sent data may go unacknowledged; 0: TCP's own */
	struct weft_counters __percpu *counters;	/* the device's */
};

/*
 * One way to make connections. Constant from weft_transport_register() on. The end of its module
 * ends all devices that have used it (weft_transport_withdraw()), and no stream outlives its
 * device.
 */
struct weft_transport {
	char name[WEFT_TRANSPORT_NAME];	/* by which the operator chooses it */
	const struct weft_llp_class *class;	/* the class of its streams */
	/* true if connections to this port are made over it whatever is chosen; or NULL */
	bool (*serves)(u16 port);
	/*
	 * puts a stream in the place of one whose handshake has agreed on that, and owns the
	 * first then; or an error pointer, and the first is as it was. Process context. NULL:
	 * streams stay as they are
	 */
	struct weft_llp *(*spread)(struct weft_llp *first, const struct weft_spread_terms *terms,
				   const struct weft_llp_ops *ops, void *owner);
};

extern const struct weft_transport weft_tcp_transport;

int weft_transport_register(const struct weft_transport *transport);
void weft_transport_unregister(const struct weft_transport *transport);

/* device/device.c, for the modules of transports */
void weft_transport_withdraw(const struct weft_transport *transport);

int weft_transport_choose(struct weft_transports *of, const char *name);
const struct weft_transport *weft_transport_for(struct weft_transports *of, u16 port);
const struct weft_transport *weft_transport_spreader(struct weft_transports *of);
bool weft_transport_spreads(struct weft_transports *of);
int weft_transport_show(struct weft_transports *of, char *text);
bool weft_transport_was_used(const struct weft_transports *of,
			     const struct weft_transport *transport);

#endif /* WEFT_LLP_TRANSPORT_H */
