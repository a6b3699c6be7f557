// SPDX-License-Identifier: GPL-2.0
/* Placement: by operation, where a segment's payload goes; and its copy. */
#include <linux/string.h>

#include "base/weft.h"
#include "memory/mr.h"
#include "queue/rq.h"
#include "rx/rx.h"

static_assert(sizeof_field(struct weft_placement, bytes) >= WEFT_ATOMIC_REQ_LEN);
static_assert(sizeof_field(struct weft_placement, bytes) >= WEFT_ATOMIC_RESP_LEN);

/* --- where the payload goes --- */

/* Directs payload to a list of SGEs, @at bytes from its start. */
inline void weft_rx_aim(struct weft_rx *rx, struct ib_pd *pd, int rights,
			const struct weft_sge *sge, u32 num_sge, u32 at)
{
	for (; num_sge && at >= sge->length; sge++, num_sge--)
		at -= sge->length;
	rx->place.sge = sge;
	rx->place.num_sge = num_sge;
	rx->place.at = at;
	rx->place.rights = rights;
	rx->place.pd = pd;
}

static void rx_aim_at_bytes(struct weft_rx *rx)
{
	rx->place.target = WEFT_RX_TO_BYTES;
	rx->place.have = 0;
}

/* Directs the next payload to the memory of @read, our oldest. */
static void rx_aim_at_read(struct weft_rx *rx, struct weft_read *read)
{
	rx->place.target = WEFT_RX_TO_READ;
	rx->place.read = read;
	weft_rx_aim(rx, rx->acc->pd, IB_ACCESS_LOCAL_WRITE, read->sge, read->num_sge, read->got);
}

static enum weft_rx_verdict rx_begin_write(struct weft_rx *rx)
{
	enum weft_key_error err;

	rx->place.target = WEFT_RX_TO_REGION;
	if (!rx->seg.payload_len)
		return WEFT_RX_OK; /* names no byte, so its STag is not looked at (RFC 5040, 5.2) */
	err = weft_access_go_on(&rx->place.access, rx->acc, rx->acc->pd, rx->seg.ddp.stag,
				rx->seg.ddp.to, rx->seg.payload_len, IB_ACCESS_REMOTE_WRITE);
	if (err)
		return weft_rx_refuse_key(rx, err);
	rx->place.region.addr = rx->seg.ddp.to;
	rx->place.region.length = rx->seg.payload_len;
	rx->place.region.lkey = rx->seg.ddp.stag;
	weft_rx_aim(rx, rx->acc->pd, IB_ACCESS_REMOTE_WRITE, &rx->place.region, 1, 0);
	return WEFT_RX_OK;
}

static enum weft_rx_verdict rx_begin_response(struct weft_rx *rx,
					      const struct weft_reads *reads)
{
	struct weft_read *read = weft_reads_oldest(reads);
	u8 code;

	if (!read || read->atomic || (read->len && rx->seg.ddp.stag != read->sink)) {
		code = WEFT_DT_STAG;
	} else if (read->len && rx->seg.ddp.to != read->got) {
		code = WEFT_DT_BOUNDS;
	} else if (rx->seg.payload_len > read->len - read->got ||
		   (rx->seg.ddp.last && rx->seg.payload_len != read->len - read->got)) {
		code = WEFT_DT_BOUNDS;
	} else {
		rx_aim_at_read(rx, read);
		return WEFT_RX_OK;
	}
	return weft_rx_refuse(rx, WEFT_TERM_DDP, WEFT_DDP_TAGGED_BUFFER, code);
}

static enum weft_rx_verdict rx_begin_send(struct weft_rx *rx)
{
	struct weft_inbound *m = weft_inbox_at(&rx->sends, rx->seg.ddp.msn);
	enum weft_rx_verdict verdict;
	u8 code;

	rx->place.target = WEFT_RX_TO_RECV;
	code = weft_inbox_refuses(&rx->sends, rx->seg.ddp.msn, rx->seg.ddp.mo);
	if (code)
		return weft_rx_refuse(rx, WEFT_TERM_DDP, WEFT_DDP_UNTAGGED_BUFFER, code);
	/*
	 * The first frame of an initiator may be an empty SEND that means only "ready"; it takes no
	 * receive (RFC 6581, 5). A SEND with an event, a key or data takes one.
	 */
	if (rx->first && rx->empty_first && !rx->seg.payload_len && rx->seg.ddp.last &&
	    rx->seg.ddp.opcode == WEFT_RDMAP_SEND)
		return WEFT_RX_OK;
	if (!m->recv.active) {
		verdict = weft_rx_fetch_recv(rx, m);
		if (verdict != WEFT_RX_OK)
			return verdict;
	}
	if (rx->seg.payload_len > m->recv.room - m->len) {
		weft_count(rx->acc->dev->counters, WEFT_CNT_RESP_LOCAL_LENGTH_ERROR, 1);
		weft_rx_refuse_now(rx, WEFT_TERM_DDP, WEFT_DDP_UNTAGGED_BUFFER,
				   WEFT_DU_TOO_LONG);
		weft_rx_complete_recv(rx, m, IB_WC_LOC_LEN_ERR, WEFT_VE_RECV_TOO_SMALL);
		return WEFT_RX_BAD;
	}
	/* Receives of a shared queue name memory of the queue's own protection domain. */
	weft_rx_aim(rx, rx->srq ? rx->srq->ib.pd : rx->acc->pd,
		    IB_ACCESS_LOCAL_WRITE, m->recv.sge, m->recv.num_sge, m->len);
	return WEFT_RX_OK;
}

/* Immediate data: one FPDU, numbered among the SENDs, that takes a receive. */
static enum weft_rx_verdict rx_begin_imm(struct weft_rx *rx)
{
	struct weft_inbound *m = weft_inbox_at(&rx->sends, rx->seg.ddp.msn);
	u8 code;

	rx_aim_at_bytes(rx);
	code = weft_inbox_refuses(&rx->sends, rx->seg.ddp.msn, rx->seg.ddp.mo);
	if (!code && (!rx->seg.ddp.last || (m->recv.active && !m->kept)))
		code = WEFT_DU_MO; /* in parts, or amidst a SEND */
	if (!code && rx->seg.payload_len != WEFT_IMM_LEN)
		code = WEFT_DU_TOO_LONG;
	if (!code)
		return m->kept ? WEFT_RX_OK : weft_rx_fetch_recv(rx, m);
	return weft_rx_refuse(rx, WEFT_TERM_DDP, WEFT_DDP_UNTAGGED_BUFFER, code);
}

/* A Terminate is a single FPDU and the only one with its queue number. */
static enum weft_rx_verdict rx_begin_terminate(struct weft_rx *rx)
{
	rx_aim_at_bytes(rx);
	if (!rx->seg.ddp.mo && rx->seg.ddp.last && rx->seg.ddp.msn == 1 &&
	    rx->seg.payload_len <= sizeof(rx->place.bytes))
		return WEFT_RX_OK;
	/*
	 * A malformed Terminate ends the connection as well, but its reason is not read. No
	 * Terminate answers it, because two ends could send Terminates for ever (RFC 5040, 4.8).
	 */
	weft_count(rx->acc->dev->counters, WEFT_CNT_RX_TERMINATES, 1);
	return weft_rx_break(rx);
}

/* A read or atomic request is a single FPDU of a known size. */
static enum weft_rx_verdict rx_begin_bytes(struct weft_rx *rx,
					   const struct weft_peer_reads *answers)
{
	u32 len = rx->seg.ddp.opcode == WEFT_RDMAP_READ_REQ ? WEFT_READ_REQ_LEN :
							  WEFT_ATOMIC_REQ_LEN;
	u8 code;

	rx_aim_at_bytes(rx);
	if (rx->seg.ddp.mo || !rx->seg.ddp.last)
		code = WEFT_DU_MO;
	else if (rx->seg.ddp.msn != rx->read_msn)
		code = WEFT_DU_MSN_RANGE;
	else if (weft_peer_reads_full(answers))
		code = WEFT_DU_NO_BUFFER; /* more than was agreed */
	else if (rx->seg.payload_len != len)
		code = WEFT_DU_TOO_LONG;
	else
		return WEFT_RX_OK;
	return weft_rx_refuse(rx, WEFT_TERM_DDP, WEFT_DDP_UNTAGGED_BUFFER, code);
}

/* The answer to our oldest request, an atomic: a single FPDU of a known size. */
static enum weft_rx_verdict rx_begin_atomic_response(struct weft_rx *rx,
						     const struct weft_reads *reads)
{
	struct weft_read *read = weft_reads_oldest(reads);
	u8 code;

	rx_aim_at_bytes(rx);
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
 * Checks a segment by its decoded header, and directs its payload. On WEFT_RX_WAIT nothing was
 * changed; the caller repeats the call when a receive was posted.
 */
enum weft_rx_verdict weft_rx_begin(struct weft_rx *rx)
{
	struct weft_qp *qp = rx->qp;

	weft_qp_assert_locked(qp);
	/* The owner, or a full completion queue, may have failed the queue pair meanwhile. */
	if (unlikely(weft_qp_state(qp) == IB_QPS_ERR)) {
		rx->stopped = true;
		return WEFT_RX_BAD;
	}
	switch (rx->seg.ddp.opcode) {
	case WEFT_RDMAP_WRITE:
		return rx_begin_write(rx);
	case WEFT_RDMAP_READ_RESP:
		return rx_begin_response(rx, &qp->reads);
	case WEFT_RDMAP_READ_REQ:
	case WEFT_RDMAP_ATOMIC_REQ:
		return rx_begin_bytes(rx, &qp->peer_reads);
	case WEFT_RDMAP_TERMINATE:
		return rx_begin_terminate(rx);
	case WEFT_RDMAP_IMM:
	case WEFT_RDMAP_IMM_SE:
		return rx_begin_imm(rx);
	case WEFT_RDMAP_ATOMIC_RESP:
		return rx_begin_atomic_response(rx, &qp->reads);
	default:
		return rx_begin_send(rx);
	}
}

/* --- the copy --- */

/* Ends the connection, because the memory for the payload may not be written any more. */
static enum weft_rx_verdict rx_place_failed(struct weft_rx *rx, enum weft_key_error err)
{
	struct weft_inbound *m = weft_inbox_at(&rx->sends, rx->seg.ddp.msn);

	if (rx->place.target == WEFT_RX_TO_REGION)
		return weft_rx_refuse_key(rx, err);
	weft_rx_refuse_now(rx, WEFT_TERM_RDMAP, WEFT_RDMAP_LOCAL, 0);
	if (rx->place.target == WEFT_RX_TO_READ)
		weft_request_fail(rx->place.read->request, IB_WC_LOC_PROT_ERR, WEFT_VE_LKEY);
	else
		weft_rx_complete_recv(rx, m, IB_WC_LOC_PROT_ERR, WEFT_VE_LKEY);
	return WEFT_RX_BAD;
}

/*
 * Writes bytes at the placement of weft_rx_aim(), and advances it. Each piece is checked against
 * its region again, because an earlier check says nothing after an invalidation.
 */
__always_inline enum weft_key_error weft_rx_put(struct weft_rx *rx, const u8 *from, u32 len)
{
	struct weft_placement *p = &rx->place;
	const struct weft_sge *sge;
	enum weft_key_error err;
	u64 to;
	u32 n;

	while (len) {
		if (!p->num_sge)
			return WEFT_KEY_BOUNDS;
		sge = p->sge;
		n = min(len, sge->length - p->at);
		if (!n) {
			p->sge++;
			p->num_sge--;
			p->at = 0;
			continue;
		}
		to = sge->addr + p->at;
		err = weft_access_go_on(&p->access, rx->acc, p->pd, sge->lkey, to, n, p->rights);
		if (err)
			return err;
		p->at += n;
		len -= n;
		weft_mr_write(p->access.mr, to, from, n);
		from += n;
	}
	return WEFT_KEY_OK;
}

/* Places the next @len bytes of a payload, no more than are left of it, after weft_rx_begin(). */
enum weft_rx_verdict weft_rx_place(void *ctx, const u8 *from, u32 len)
{
	struct weft_rx *rx = ctx;
	struct weft_placement *p = &rx->place;
	enum weft_key_error err;

	weft_qp_assert_locked(rx->qp);
	if (p->target == WEFT_RX_TO_BYTES) {
		memcpy(p->bytes + p->have, from, len);
		p->have += len;
		return WEFT_RX_OK;
	}
	err = weft_rx_put(rx, from, len);
	return likely(!err) ? WEFT_RX_OK : rx_place_failed(rx, err);
}

/* The whole answer to our atomic has come: places the value that it returns. */
enum weft_rx_verdict weft_rx_place_atomic_response(struct weft_rx *rx)
{
	struct weft_atomic_resp resp;

	weft_qp_assert_locked(rx->qp);
	weft_atomic_resp_decode(rx->place.bytes, &resp);
	if (resp.id != rx->place.read->sink)
		return weft_rx_refuse(rx, WEFT_TERM_RDMAP, WEFT_RDMAP_OPERATION,
				      WEFT_RO_CATASTROPHIC_STREAM);
	rx_aim_at_read(rx, rx->place.read);
	return weft_rx_place(rx, (const u8 *)&resp.original, sizeof(resp.original));
}
