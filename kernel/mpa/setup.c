// SPDX-License-Identifier: GPL-2.0
/* MPA Request and Reply frames over a stream, and the Terminate after them. */

#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/string.h>

#include "llp/llp.h"
#include "mpa/setup.h"
#include "wire/ddp.h"
#include "wire/fpdu.h"

static int stream_error(int error)
{
	return error == -EPIPE || error == -ENOTCONN ? -ECONNRESET : error;
}

/*
 * Reads the peer's frame, as far as it has come. Returns 1 if it is complete, 0 if more is to come,
 * -EPROTO if it is no frame, -ECONNRESET if the stream ended, or the stream's error. Reads no byte
 * behind the frame, because those belong to the receive side.
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

		ret = llp->class->recv(llp, hs->buf + hs->got, want - hs->got);
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

/*
 * Retries while TCP has no memory. A lane is held up for about 40 ms at most. To retry later
 * instead, each state that sends a frame would need a second one, in which the frame is still
 * unsent.
 */
#define HANDSHAKE_TRIES		5
#define HANDSHAKE_PAUSE_MS	10

/*
 * Sends a frame. Returns 0, -EINVAL if the private data is too long, or the stream's error; -EAGAIN
 * if memory is short for long. May sleep.
 *
 * As the first in the stream, the frame has room. If TCP takes nothing, TCP has no memory, and the
 * send is retried. If a Reject were dropped, the peer would take the end of the stream for a lack
 * of revision 2, and connect again with revision 1.
 */
int weft_handshake_send(struct weft_llp *llp,
			const struct weft_mpa_frame *frame,
			const void *private_data)
{
	u8 buf[WEFT_MPA_MAX_FRAME];
	u32 len = weft_mpa_encode(buf, frame, private_data);
	int tries = HANDSHAKE_TRIES;
	int ret;

	if (!len)
		return -EINVAL;
	while ((ret = llp->class->send(llp, buf, len)) == -EAGAIN && --tries)
		msleep(HANDSHAKE_PAUSE_MS);
	if (ret < 0)
		return stream_error(ret);
	return (u32)ret == len ? 0 : -ECONNRESET;
}

/*
 * Refuses a Reply with a Terminate for an MPA error (RFC 6581, 8). It is the only FPDU of this
 * stream, and so short that one marker at most goes before it.
 */
int weft_handshake_terminate(struct weft_llp *llp, bool crc, bool markers, u8 code)
{
	const struct weft_term term = { WEFT_TERM_LLP, WEFT_LLP_MPA, code };
	const struct weft_ddp_hdr hdr = {
		.opcode = WEFT_RDMAP_TERMINATE,
		.last = true,
		.qn = WEFT_QN_TERMINATE,
		.msn = 1,
	};
	u8 fpdu[WEFT_MARKER_LEN + WEFT_FPDU_ROOM(WEFT_DDP_MAX_LEN + WEFT_TERM_MAX_LEN)];
	u8 segment[WEFT_DDP_MAX_LEN + WEFT_TERM_MAX_LEN];
	u32 len;
	int ret;

	len = weft_ddp_encode(segment, &hdr);
	len += weft_term_encode(segment + len, &term, NULL, 0, 0);
	if (markers) {
		memcpy(weft_fpdu_begin_marked(fpdu, len, 0), segment, len);
		len = weft_fpdu_end_marked(fpdu, len, 0, crc);
	} else {
		memcpy(weft_fpdu_begin(fpdu, len), segment, len);
		len = weft_fpdu_end(fpdu, len, crc);
	}
	ret = llp->class->send(llp, fpdu, len);
	return ret < 0 ? stream_error(ret) : 0;
}
