// SPDX-License-Identifier: GPL-2.0
/*
 * Answers to our reads and atomics, oldest first; and atomic requests of the peer, which are
 * checked here and queued for the transmit side, which executes each when it answers.
 */
#include <linux/build_bug.h>

#include "base/weft.h"
#include "memory/mr.h"
#include "rx/rx.h"

static_assert(sizeof_field(struct weft_placement, bytes) >= WEFT_ATOMIC_REQ_LEN);
static_assert(sizeof_field(struct weft_placement, bytes) >= WEFT_ATOMIC_RESP_LEN);

/* Refuses an atomic for a reason that has no code of its own in RFC 7306. */
static enum weft_rx_verdict rx_refuse_operation(struct weft_rx *rx, u8 code)
{
	return weft_rx_refuse(rx, WEFT_TERM_RDMAP, WEFT_RDMAP_OPERATION, code);
}

/* Checks and queues a request, whose MSN and length are good. */
enum weft_rx_verdict weft_rx_deliver_atomic_request(struct weft_rx *rx,
						    struct weft_peer_reads *answers)
{
	struct weft_atomic_req req;
	enum weft_key_error err;
	struct weft_mr *mr;
	bool aligned;

	weft_rx_assert_locked(rx);
	weft_atomic_req_decode(rx->place.bytes, &req);
	if (!weft_atomic_op_ok(req.op))
		return rx_refuse_operation(rx, WEFT_RO_OPCODE);
	if (req.to & (WEFT_ATOMIC_LEN - 1))
		return rx_refuse_operation(rx, WEFT_RO_CATASTROPHIC_STREAM);
	mr = weft_mr_access(rx->acc, rx->acc->pd, req.stag, req.to, WEFT_ATOMIC_LEN,
			    IB_ACCESS_REMOTE_ATOMIC, &err);
	if (!mr)
		return weft_rx_refuse_key(rx, err);
	aligned = weft_mr_word(mr, req.to);
	weft_mr_access_end(mr);
	if (!aligned)
		return rx_refuse_operation(rx, WEFT_RO_CATASTROPHIC_STREAM);

	rx->read_msn++;
	weft_count(rx->acc->dev->counters, WEFT_CNT_RX_ATOMIC_REQUESTS, 1);
	weft_peer_reads_push_atomic(answers, &req);
	return WEFT_RX_OK;
}

enum weft_rx_verdict weft_rx_begin_atomic_response(struct weft_rx *rx,
						   const struct weft_reads *reads)
{
	struct weft_read *read = weft_reads_oldest(reads);
	u8 code;

	weft_rx_assert_locked(rx);
	weft_rx_aim_at_bytes(rx);
	rx->place.read = read;
	if (rx->seg.ddp.mo || !rx->seg.ddp.last)
		code = WEFT_DU_MO;
	else if (rx->seg.ddp.msn != rx->atomic_msn)
		code = WEFT_DU_MSN_RANGE;
	else if (!read || !read->atomic)
		code = WEFT_DU_NO_BUFFER; /* our oldest request is no atomic */
	else if (rx->seg.payload_len != WEFT_ATOMIC_RESP_LEN)
		code = WEFT_DU_TOO_LONG;
	else
		return WEFT_RX_OK;
	return weft_rx_refuse(rx, WEFT_TERM_DDP, WEFT_DDP_UNTAGGED_BUFFER, code);
}

/*
 * Places the answer to our oldest request, an atomic. Returns WEFT_RX_BAD if it answers another
 * request, or if the memory for the value was invalidated or deregistered.
 */
enum weft_rx_verdict weft_rx_place_atomic_response(struct weft_rx *rx)
{
	struct weft_atomic_resp resp;

	weft_rx_assert_locked(rx);
	weft_atomic_resp_decode(rx->place.bytes, &resp);
	if (resp.id != rx->place.read->sink)
		return rx_refuse_operation(rx, WEFT_RO_CATASTROPHIC_STREAM);
	weft_rx_aim_at_read(rx, rx->place.read);
	return weft_rx_place(rx, (const u8 *)&resp.original, sizeof(resp.original));
}

/* Directs the next payload to the memory of @read, our oldest. */
void weft_rx_aim_at_read(struct weft_rx *rx, struct weft_read *read)
{
	weft_rx_assert_locked(rx);
	rx->place.target = WEFT_RX_TO_READ;
	rx->place.read = read;
	weft_rx_aim(rx, rx->acc->pd, IB_ACCESS_LOCAL_WRITE, read->sge, read->num_sge,
		    read->got);
}

/* Our oldest request has its whole answer. WEFT_RX_BAD: its key may not be invalidated. */
enum weft_rx_verdict weft_rx_read_done(struct weft_rx *rx, struct weft_reads *reads)
{
	const struct weft_read *read = rx->place.read;

	weft_rx_assert_locked(rx);
	if (read->request) {
		if (read->inv && weft_invalidate(rx->acc, read->inv, false) != WEFT_KEY_OK) {
			weft_rx_refuse_now(rx, WEFT_TERM_RDMAP, WEFT_RDMAP_LOCAL, 0);
			weft_request_fail(read->request, IB_WC_MW_BIND_ERR, WEFT_VE_BIND);
			return WEFT_RX_BAD;
		}
		weft_request_done(read->request);
	}
	weft_reads_answered(reads);
	return WEFT_RX_OK;
}
