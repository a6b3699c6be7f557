// SPDX-License-Identifier: GPL-2.0
/* MPA Request and Reply frames over a stream. */

#include <linux/errno.h>
#include <linux/string.h>

#include "conn_internal.h"

/* What a failed read or write of the stream means to the handshake. */
static int stream_error(int error)
{
	return error == -EPIPE || error == -ENOTCONN ? -ECONNRESET : error;
}

/**
 * weft_handshake_read() - take in what has come of the peer's frame
 * @hs: the handshake
 * @llp: the stream
 * @reply: a Reply is expected, else a Request
 *
 * Reads no further than the frame goes: what follows it is the receive side's.
 * Bytes that cannot become a frame are noticed when they come.
 *
 * Context: process, the connection's mutex held.
 * Return: 1 if the frame is complete and in @hs->peer, 0 if there is more to
 * come, -EPROTO if this is no frame, -ECONNRESET if the stream ended, or the
 * stream's error.
 */
int weft_handshake_read(struct weft_handshake *hs, struct weft_llp *llp,
			bool reply)
{
	for (;;) {
		u32 want = hs->total ?: WEFT_MPA_HDR_LEN;
		int ret;

		if (hs->got == want) {
			hs->peer_private = weft_mpa_decode(hs->buf, hs->total,
							   reply, &hs->peer);
			return hs->peer_private ? 1 : -EPROTO;
		}

		ret = weft_llp_recv(llp, hs->buf + hs->got, want - hs->got);
		if (ret == -EAGAIN)
			return 0;
		if (ret <= 0)
			return ret ? stream_error(ret) : -ECONNRESET;
		hs->got += ret;

		if (hs->total)
			continue;
		if (!weft_mpa_key_prefix_ok(hs->buf, hs->got, reply))
			return -EPROTO;
		if (hs->got < WEFT_MPA_HDR_LEN)
			continue;
		hs->total = weft_mpa_total_len(hs->buf);
		if (!hs->total)
			return -EPROTO;
	}
}

/**
 * weft_handshake_send() - send a frame
 * @llp: the stream
 * @frame: the frame
 * @private_data: its private data, @frame->private_len bytes
 *
 * It is the first that goes down the stream, so there is room for all of it.
 *
 * Context: process, the connection's mutex held.
 * Return: 0, -EINVAL if the private data is too long, or the stream's error.
 */
int weft_handshake_send(struct weft_llp *llp,
			const struct weft_mpa_frame *frame,
			const void *private_data)
{
	u8 buf[WEFT_MPA_MAX_FRAME];
	u32 len = weft_mpa_encode(buf, frame, private_data);
	int ret;

	if (!len)
		return -EINVAL;
	ret = weft_llp_send(llp, buf, len);
	if (ret < 0)
		return stream_error(ret);
	return (u32)ret == len ? 0 : -ECONNRESET;
}
