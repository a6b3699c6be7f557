/* SPDX-License-Identifier: GPL-2.0 */
/* The MPA handshake over a stream. */
#ifndef WEFT_MPA_SETUP_H
#define WEFT_MPA_SETUP_H

#include "wire/mpa.h"

struct weft_llp;

/**
 * struct weft_handshake - an MPA handshake under way, protected by its connection's mutex
 * @policy: this end's wishes
 * @request: initiator: the Request that was sent
 * @peer: the peer's frame, once it is complete
 * @got: bytes in @buf
 * @total: length of the peer's frame once its header is here, else 0
 * @buf: the peer's frame as received
 * @peer_private: offset of its private data in @buf
 * @private_len: bytes in @private_data
 * @private_data: initiator: our application's, kept for a second try
 */
struct weft_handshake {
	struct weft_mpa_policy policy;
	struct weft_mpa_frame request;
	struct weft_mpa_frame peer;
	u32 got;
	u32 total;
	u8 buf[WEFT_MPA_MAX_FRAME];
	u32 peer_private;
	u16 private_len;
	u8 private_data[WEFT_MPA_MAX_PRIVATE];
};

int weft_handshake_read(struct weft_handshake *hs, struct weft_llp *llp,
			bool reply);
int weft_handshake_send(struct weft_llp *llp,
			const struct weft_mpa_frame *frame,
			const void *private_data);
int weft_handshake_terminate(struct weft_llp *llp, bool crc, bool markers, u8 code);

#endif /* WEFT_MPA_SETUP_H */
