/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints, below events/weft in tracefs; docs/observing.md describes their use. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM weft

#if !defined(WEFT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define WEFT_TRACE_H

#include <linux/tracepoint.h>

/* device/main.c alone needs these definitions, and includes all of them. */
struct weft_accessor;
struct weft_completion;
struct weft_conn;
struct weft_cq;
struct weft_ddp_hdr;
struct weft_device;
struct weft_mpa_frame;
struct weft_qp;
struct weft_term;

#define weft_show_conn_state(state)					\
	__print_symbolic(state,						\
			 { WEFT_CONN_NEW, "new" },			\
			 { WEFT_CONN_CONNECTING, "connecting" },	\
			 { WEFT_CONN_REQUESTED, "requested" },		\
			 { WEFT_CONN_ACCEPTED, "accepted" },		\
			 { WEFT_CONN_PENDING, "pending" },		\
			 { WEFT_CONN_STREAMING, "streaming" },		\
			 { WEFT_CONN_CLOSING, "closing" },		\
			 { WEFT_CONN_CLOSED, "closed" })

#define weft_show_conn_event(event)					\
	__print_symbolic(event,						\
			 { WEFT_EV_STOP, "stop" },			\
			 { WEFT_EV_EVICT, "evict" },			\
			 { WEFT_EV_START, "start" },			\
			 { WEFT_EV_READABLE, "readable" },		\
			 { WEFT_EV_PEER_CLOSED, "peer-closed" },	\
			 { WEFT_EV_QP_FAILED, "qp-failed" },		\
			 { WEFT_EV_QP_CLOSING, "qp-closing" },		\
			 { WEFT_EV_CHANGED, "changed" },		\
			 { WEFT_EV_TIMEOUT, "timeout" },		\
			 { WEFT_EV_ACCEPT, "accept" },			\
			 { WEFT_EV_REJECT, "reject" })

#define weft_show_rdmap_op(op)						\
	__print_symbolic(op,						\
			 { 0, "write" },				\
			 { 1, "read-request" },				\
			 { 2, "read-response" },			\
			 { 3, "send" },					\
			 { 4, "send-inv" },				\
			 { 5, "send-se" },				\
			 { 6, "send-se-inv" },				\
			 { 7, "terminate" },				\
			 { 8, "immediate" },				\
			 { 9, "immediate-se" },				\
			 { 10, "atomic-request" },			\
			 { 11, "atomic-response" },			\
			 { 12, "send-imm" },				\
			 { 13, "send-se-imm" })

#define weft_show_limit(limit)						\
	__print_symbolic(limit,						\
			 { WEFT_LIMIT_QP, "max_qp" },			\
			 { WEFT_LIMIT_QP_WR, "max_qp_wr" },		\
			 { WEFT_LIMIT_SGE, "max_sge" },			\
			 { WEFT_LIMIT_INLINE, "max_inline_data" },	\
			 { WEFT_LIMIT_CQ, "max_cq" },			\
			 { WEFT_LIMIT_CQE, "max_cqe" },			\
			 { WEFT_LIMIT_MR, "max_mr" },			\
			 { WEFT_LIMIT_MW, "max_mw" },			\
			 { WEFT_LIMIT_PD, "max_pd" },			\
			 { WEFT_LIMIT_SRQ, "max_srq" },			\
			 { WEFT_LIMIT_SRQ_WR, "max_srq_wr" },		\
			 { WEFT_LIMIT_FAST_BLOCKS, "max_fast_reg_page_list_len" }, \
			 { WEFT_LIMIT_RD_ATOM, "max_qp_rd_atom" })

/* A user asks for more than the device grants. */
TRACE_EVENT(weft_limit,
	TP_PROTO(const struct weft_device *dev, unsigned int limit, u32 asked, u32 most),
	TP_ARGS(dev, limit, asked, most),
	TP_STRUCT__entry(
		__array(char, dev, IB_DEVICE_NAME_MAX)
		__field(u8, limit)
		__field(u32, asked)
		__field(u32, most)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev->ib.name, IB_DEVICE_NAME_MAX);
		__entry->limit = limit;
		__entry->asked = asked;
		__entry->most = most;
	),
	TP_printk("dev=%s %s=%u asked=%u", __entry->dev, weft_show_limit(__entry->limit),
		  __entry->most, __entry->asked)
);

/* A connection moves from one state to another. */
TRACE_EVENT(weft_conn_state,
	TP_PROTO(const struct weft_conn *conn, unsigned int event, unsigned int next),
	TP_ARGS(conn, event, next),
	TP_STRUCT__entry(
		__field(const void *, conn)
		__field(u32, qpn)
		__field(u8, initiator)
		__field(u8, state)
		__field(u8, event)
		__field(u8, next)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->qpn = conn->qpn;
		__entry->initiator = conn->initiator;
		__entry->state = conn->state;
		__entry->event = event;
		__entry->next = next;
	),
	TP_printk("conn=%p qp=%u %s %s -> %s on %s", __entry->conn, __entry->qpn,
		  __entry->initiator ? "initiator" : "responder",
		  weft_show_conn_state(__entry->state), weft_show_conn_state(__entry->next),
		  weft_show_conn_event(__entry->event))
);

/* A whole MPA Request or Reply was sent or received. */
TRACE_EVENT(weft_mpa_frame,
	TP_PROTO(const struct weft_conn *conn, const struct weft_mpa_frame *frame, bool sent),
	TP_ARGS(conn, frame, sent),
	TP_STRUCT__entry(
		__field(const void *, conn)
		__field(bool, sent)
		__field(bool, reply)
		__field(bool, crc)
		__field(bool, markers)
		__field(bool, reject)
		__field(bool, enhanced)
		__field(bool, p2p)
		__field(u8, revision)
		__field(u8, rtr)
		__field(u16, ird)
		__field(u16, ord)
		__field(u16, private_len)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->sent = sent;
		__entry->reply = frame->reply;
		__entry->crc = frame->crc;
		__entry->markers = frame->markers;
		__entry->reject = frame->reject;
		__entry->enhanced = frame->enhanced;
		__entry->p2p = frame->p2p;
		__entry->revision = frame->revision;
		__entry->rtr = frame->rtr;
		__entry->ird = frame->ird;
		__entry->ord = frame->ord;
		__entry->private_len = frame->private_len;
	),
	TP_printk("conn=%p %s %s revision=%u crc=%d markers=%d reject=%d enhanced=%d p2p=%d rtr=%#x ird=%u ord=%u private=%u",
		  __entry->conn, __entry->sent ? "sent" : "received",
		  __entry->reply ? "reply" : "request", __entry->revision, __entry->crc,
		  __entry->markers, __entry->reject, __entry->enhanced, __entry->p2p, __entry->rtr,
		  __entry->ird, __entry->ord, __entry->private_len)
);

DECLARE_EVENT_CLASS(weft_fpdu,
	TP_PROTO(const struct weft_accessor *acc, const struct weft_ddp_hdr *hdr, u32 payload),
	TP_ARGS(acc, hdr, payload),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u8, opcode)
		__field(bool, tagged)
		__field(bool, last)
		__field(u32, where)
		__field(u32, msn)
		__field(u64, offset)
		__field(u32, payload)
	),
	TP_fast_assign(
		__entry->qpn = acc->qpn;
		__entry->opcode = hdr->opcode;
		__entry->tagged = hdr->tagged;
		__entry->last = hdr->last;
		__entry->where = hdr->tagged ? hdr->stag : hdr->qn;
		__entry->msn = hdr->tagged ? 0 : hdr->msn;
		__entry->offset = hdr->tagged ? hdr->to : hdr->mo;
		__entry->payload = payload;
	),
	TP_printk("qp=%u %s %s=%#x msn=%u offset=%#llx len=%u%s", __entry->qpn,
		  weft_show_rdmap_op(__entry->opcode), __entry->tagged ? "stag" : "queue",
		  __entry->where, __entry->msn, __entry->offset, __entry->payload,
		  __entry->last ? " last" : "")
);

/* An FPDU was laid out to be sent. */
DEFINE_EVENT(weft_fpdu, weft_tx_fpdu,
	TP_PROTO(const struct weft_accessor *acc, const struct weft_ddp_hdr *hdr, u32 payload),
	TP_ARGS(acc, hdr, payload)
);

/* A whole FPDU with a good CRC was received. */
DEFINE_EVENT(weft_fpdu, weft_rx_fpdu,
	TP_PROTO(const struct weft_accessor *acc, const struct weft_ddp_hdr *hdr, u32 payload),
	TP_ARGS(acc, hdr, payload)
);

/* A completion goes to a completion queue. */
TRACE_EVENT(weft_completion,
	TP_PROTO(const struct weft_cq *cq, const struct weft_completion *wc),
	TP_ARGS(cq, wc),
	TP_STRUCT__entry(
		__field(u32, cqn)
		__field(u32, qpn)
		__field(u64, wr_id)
		__field(u32, byte_len)
		__field(u32, ex)
		__field(u8, opcode)
		__field(u8, status)
	),
	TP_fast_assign(
		__entry->cqn = cq->ib.res.id;
		__entry->qpn = wc->qpn;
		__entry->wr_id = wc->wr_id;
		__entry->byte_len = wc->byte_len;
		__entry->ex = wc->ex;
		__entry->opcode = wc->opcode;
		__entry->status = wc->status;
	),
	TP_printk("cq=%u qp=%u wr_id=%#llx opcode=%u status=%u len=%u ex=%#x",
		  __entry->cqn, __entry->qpn, __entry->wr_id, __entry->opcode,
		  __entry->status, __entry->byte_len, __entry->ex)
);

/* A queue pair in use fails. */
TRACE_EVENT(weft_qp_fail,
	TP_PROTO(const struct weft_qp *qp, const struct weft_term *term, int event),
	TP_ARGS(qp, term, event),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(bool, told)
		__field(u8, layer)
		__field(u8, etype)
		__field(u8, code)
		__field(int, event)
	),
	TP_fast_assign(
		__entry->qpn = qp->acc.qpn;
		__entry->told = term;
		__entry->layer = term ? term->layer : 0;
		__entry->etype = term ? term->etype : 0;
		__entry->code = term ? term->code : 0;
		__entry->event = event;
	),
	TP_printk("qp=%u terminate=%d layer=%u type=%u code=%#x event=%d", __entry->qpn,
		  __entry->told, __entry->layer, __entry->etype, __entry->code, __entry->event)
);

/* The peer's Terminate message. */
TRACE_EVENT(weft_rx_terminate,
	TP_PROTO(const struct weft_accessor *acc, const struct weft_term *term),
	TP_ARGS(acc, term),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u8, layer)
		__field(u8, etype)
		__field(u8, code)
	),
	TP_fast_assign(
		__entry->qpn = acc->qpn;
		__entry->layer = term->layer;
		__entry->etype = term->etype;
		__entry->code = term->code;
	),
	TP_printk("qp=%u layer=%u type=%u code=%#x", __entry->qpn, __entry->layer, __entry->etype,
		  __entry->code)
);

#endif /* WEFT_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH base
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
