/* SPDX-License-Identifier: GPL-2.0 */
/* What a device's connections are made over; see llp/transport.h. */
#ifndef WEFT_TRANSPORTS_H
#define WEFT_TRANSPORTS_H

struct weft_transport;

#define WEFT_MAX_TRANSPORTS	8

/**
 * struct weft_transports - the transports of a device
 * @chosen: by the operator
 * @used: all that the device has ever used, and then NULL
 *
 * Under transports_lock.
 */
struct weft_transports {
	const struct weft_transport *chosen;
	const struct weft_transport *used[WEFT_MAX_TRANSPORTS];
};

#endif /* WEFT_TRANSPORTS_H */
