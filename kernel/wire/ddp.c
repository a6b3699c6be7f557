// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Encodes and decodes DDP/RDMAP headers (RFC 5041, 3 and 4; RFC 5040, 4), the Terminate message
 * (RFC 5040, 4.8) and atomic operations (RFC 7306, 5).
 */

#include <linux/string.h>
#include <linux/types.h>

#include "bytes.h"
#include "ddp.h"

#define DDP_VERSION_MASK	0x03	/* of the first byte */
#define DDP_VERSION		0x01

/* Second byte: two bits of RDMAP version, two reserved, four of opcode. */
#define RDMAP_VERSION_MASK	0xc0
#define RDMAP_VERSION		0x40
#define RDMAP_OPCODE_MASK	0x0f
#define OP_COUNT		(WEFT_RDMAP_SEND_SE_IMM + 1)
#define PLAIN_OP_COUNT		(WEFT_RDMAP_TERMINATE + 1)

/* The form of each opcode (RFC 5040, 4; RFC 7306, 4). */
struct op_form {
	bool tagged;	/* buffer model */
	u8 qn;		/* untagged: queue */
	bool inv;	/* untagged: an STag to invalidate comes before the queue number */
	bool imm;	/* untagged: immediate data comes there */
};

static const struct op_form op_forms[RDMAP_OPCODE_MASK + 1] = {
	[WEFT_RDMAP_WRITE]	 = { .tagged = true },
	[WEFT_RDMAP_READ_REQ]	 = { .qn = WEFT_QN_READ_REQ },
	[WEFT_RDMAP_READ_RESP]	 = { .tagged = true },
	[WEFT_RDMAP_SEND]	 = { .qn = WEFT_QN_SEND },
	[WEFT_RDMAP_SEND_INV]	 = { .qn = WEFT_QN_SEND, .inv = true },
	[WEFT_RDMAP_SEND_SE]	 = { .qn = WEFT_QN_SEND },
	[WEFT_RDMAP_SEND_SE_INV] = { .qn = WEFT_QN_SEND, .inv = true },
	[WEFT_RDMAP_TERMINATE]	 = { .qn = WEFT_QN_TERMINATE },
	[WEFT_RDMAP_IMM]	 = { .qn = WEFT_QN_SEND },
	[WEFT_RDMAP_IMM_SE]	 = { .qn = WEFT_QN_SEND },
	[WEFT_RDMAP_ATOMIC_REQ]	 = { .qn = WEFT_QN_READ_REQ },
	[WEFT_RDMAP_ATOMIC_RESP] = { .qn = WEFT_QN_ATOMIC_RESP },
	[WEFT_RDMAP_SEND_IMM]	 = { .qn = WEFT_QN_SEND, .imm = true },
	[WEFT_RDMAP_SEND_SE_IMM] = { .qn = WEFT_QN_SEND, .imm = true },
};

static u32 refuse(struct weft_term *err, u8 layer, u8 etype, u8 code)
{
	err->layer = layer;
	err->etype = etype;
	err->code = code;
	return 0;
}

u32 weft_ddp_decode(const u8 *buf, u32 len, bool extended,
		    struct weft_ddp_hdr *hdr, struct weft_term *err)
{
	u32 need, qn = 0;
	bool tagged;
	u8 op;

	if (len < 1)
		return refuse(err, WEFT_TERM_DDP, WEFT_DDP_LOCAL, 0);

	/* Check the version first, because the meaning of the other bits depends on it. */
	tagged = buf[0] & WEFT_DDP_TAGGED;
	if ((buf[0] & DDP_VERSION_MASK) != DDP_VERSION) {
		if (tagged)
			return refuse(err, WEFT_TERM_DDP, WEFT_DDP_TAGGED_BUFFER, WEFT_DT_VERSION);
		return refuse(err, WEFT_TERM_DDP, WEFT_DDP_UNTAGGED_BUFFER, WEFT_DU_VERSION);
	}

	/* Truncated segments have no error code of their own: report DDP's "unspecified". */
	need = weft_ddp_hdr_len(tagged);
	if (len < need)
		return refuse(err, WEFT_TERM_DDP, WEFT_DDP_LOCAL, 0);

	if (!tagged) {
		qn = get_unaligned_be32(buf + WEFT_DDP_QN);
		if (qn > (extended ? WEFT_QN_ATOMIC_RESP : WEFT_QN_TERMINATE))
			return refuse(err, WEFT_TERM_DDP, WEFT_DDP_UNTAGGED_BUFFER, WEFT_DU_QN);
	}

	if ((buf[1] & RDMAP_VERSION_MASK) != RDMAP_VERSION)
		return refuse(err, WEFT_TERM_RDMAP, WEFT_RDMAP_OPERATION, WEFT_RO_VERSION);

	/* The queue number must be the opcode's own. Tagged headers compare as queue 0. */
	op = buf[1] & RDMAP_OPCODE_MASK;
	if (op >= (extended ? OP_COUNT : PLAIN_OP_COUNT) ||
	    op_forms[op].tagged != tagged || op_forms[op].qn != qn)
		return refuse(err, WEFT_TERM_RDMAP, WEFT_RDMAP_OPERATION, WEFT_RO_OPCODE);

	*hdr = (struct weft_ddp_hdr) {
		.opcode = op,
		.tagged = tagged,
		.last = buf[0] & WEFT_DDP_LAST,
		.qn = qn,
	};
	if (tagged) {
		hdr->stag = get_unaligned_be32(buf + 2);
		hdr->to = get_unaligned_be64(buf + WEFT_DDP_TO);
	} else {
		hdr->inv_stag = op_forms[op].inv ? get_unaligned_be32(buf + 2) : 0;
		hdr->imm = op_forms[op].imm ? get_unaligned_be32(buf + 2) : 0;
		hdr->msn = get_unaligned_be32(buf + WEFT_DDP_MSN);
		hdr->mo = get_unaligned_be32(buf + WEFT_DDP_MO);
	}
	return need;
}

u32 weft_ddp_encode(u8 *buf, const struct weft_ddp_hdr *hdr)
{
	u8 op = hdr->opcode & RDMAP_OPCODE_MASK;

	buf[0] = DDP_VERSION | (hdr->tagged ? WEFT_DDP_TAGGED : 0) |
		 (hdr->last ? WEFT_DDP_LAST : 0);
	buf[1] = RDMAP_VERSION | op;

	if (hdr->tagged) {
		put_unaligned_be32(hdr->stag, buf + 2);
		put_unaligned_be64(hdr->to, buf + WEFT_DDP_TO);
		return WEFT_DDP_TAGGED_LEN;
	}

	put_unaligned_be32(op_forms[op].inv ? hdr->inv_stag : op_forms[op].imm ? hdr->imm : 0,
			   buf + 2);
	put_unaligned_be32(hdr->qn, buf + 6);
	put_unaligned_be32(hdr->msn, buf + 10);
	put_unaligned_be32(hdr->mo, buf + WEFT_DDP_MO);
	return WEFT_DDP_UNTAGGED_LEN;
}

void weft_read_req_encode(u8 *buf, const struct weft_read_req *req)
{
	put_unaligned_be32(req->sink_stag, buf);
	put_unaligned_be64(req->sink_to, buf + 4);
	put_unaligned_be32(req->size, buf + 12);
	put_unaligned_be32(req->src_stag, buf + 16);
	put_unaligned_be64(req->src_to, buf + 20);
}

void weft_read_req_decode(const u8 *buf, struct weft_read_req *req)
{
	req->sink_stag = get_unaligned_be32(buf);
	req->sink_to = get_unaligned_be64(buf + 4);
	req->size = get_unaligned_be32(buf + 12);
	req->src_stag = get_unaligned_be32(buf + 16);
	req->src_to = get_unaligned_be64(buf + 20);
}

/* --- the Terminate message --- */

/* Third byte of the control field: the parts that follow. */
#define HDRCT_LEN	0x80	/* M: the DDP segment's length */
#define HDRCT_DDP	0x40	/* D: its DDP header */
#define HDRCT_RDMAP	0x20	/* R: its RDMAP header, that of a Read Request */

#define CONTROL_LEN	4
#define SEGMENT_LEN	2

/* Returns true if a Terminate with this reason may include the offending header. */
static bool names_segment(const struct weft_term *term)
{
	switch (term->layer) {
	case WEFT_TERM_RDMAP:
		return term->etype != WEFT_RDMAP_LOCAL;
	case WEFT_TERM_DDP:
		/* The header of another version may have another length. */
		if (term->etype == WEFT_DDP_TAGGED_BUFFER)
			return term->code != WEFT_DT_VERSION;
		if (term->etype == WEFT_DDP_UNTAGGED_BUFFER)
			return term->code != WEFT_DU_VERSION;
		return false;
	default:
		/* An LLP error precedes any DDP segment. */
		return false;
	}
}

u32 weft_term_encode(u8 *buf, const struct weft_term *term, const u8 *segment,
		     u32 segment_len, u16 ulpdu_len)
{
	u32 copy;

	buf[0] = (u8)((term->layer & 0x0f) << 4 | (term->etype & 0x0f));
	buf[1] = term->code;
	buf[2] = 0;
	buf[3] = 0;

	if (!segment_len || !names_segment(term))
		return CONTROL_LEN;

	copy = weft_ddp_hdr_len(segment[0] & WEFT_DDP_TAGGED);
	if (segment_len < copy)
		return CONTROL_LEN;

	buf[2] = HDRCT_LEN | HDRCT_DDP;
	/* Only RDMAP errors include an RDMAP header, and only Read Requests have one. */
	if (term->layer == WEFT_TERM_RDMAP &&
	    segment_len >= WEFT_DDP_UNTAGGED_LEN + WEFT_READ_REQ_LEN &&
	    !(segment[0] & WEFT_DDP_TAGGED) &&
	    (segment[1] & RDMAP_OPCODE_MASK) == WEFT_RDMAP_READ_REQ) {
		buf[2] |= HDRCT_RDMAP;
		copy += WEFT_READ_REQ_LEN;
	}
	put_unaligned_be16(ulpdu_len, buf + CONTROL_LEN);
	memcpy(buf + CONTROL_LEN + SEGMENT_LEN, segment, copy);
	return CONTROL_LEN + SEGMENT_LEN + copy;
}

bool weft_term_decode(const u8 *buf, u32 len, struct weft_term *term, u8 *op, u32 *msn)
{
	/* The length precedes the header even if the M bit is clear. */
	u32 at = CONTROL_LEN + SEGMENT_LEN, hdr_len;

	*op = 0xff;
	*msn = 0;
	if (len < CONTROL_LEN)
		return false;

	term->layer = buf[0] >> 4;
	term->etype = buf[0] & 0x0f;
	term->code = buf[1];

	/* The rest is optional, so a truncated part counts as absent. */
	if (!(buf[2] & HDRCT_DDP) || at >= len)
		return true;
	hdr_len = weft_ddp_hdr_len(buf[at] & WEFT_DDP_TAGGED);
	if (len - at < hdr_len)
		return true;
	*op = buf[at + 1] & RDMAP_OPCODE_MASK;
	if (!(buf[at] & WEFT_DDP_TAGGED))
		*msn = get_unaligned_be32(buf + at + WEFT_DDP_MSN);
	return true;
}

/* --- atomic operations --- */

#define OP_MASK	0x0fU	/* the rest of the first word is reserved */

u64 weft_atomic_result(const struct weft_atomic_req *req, u64 original)
{
	u64 ends = req->mask;

	switch (req->op) {
	case WEFT_ATOMIC_FETCH_ADD:
		/*
		 * Adds each field without its top bit, so that no carry leaves it; the XOR adds
		 * the top bits.
		 */
		return ((original & ~ends) + (req->data & ~ends)) ^
		       ((original ^ req->data) & ends);
	case WEFT_ATOMIC_CMP_SWAP:
		if ((original ^ req->compare) & req->compare_mask)
			return original;
		break;
	}
	return (original & ~req->mask) | (req->data & req->mask);
}

void weft_atomic_req_encode(u8 *buf, const struct weft_atomic_req *req)
{
	put_unaligned_be32(req->op & OP_MASK, buf);
	put_unaligned_be32(req->id, buf + 4);
	put_unaligned_be32(req->stag, buf + 8);
	put_unaligned_be64(req->to, buf + 12);
	put_unaligned_be64(req->data, buf + 20);
	put_unaligned_be64(req->mask, buf + 28);
	put_unaligned_be64(req->compare, buf + 36);
	put_unaligned_be64(req->compare_mask, buf + 44);
}

void weft_atomic_req_decode(const u8 *buf, struct weft_atomic_req *req)
{
	req->op = (u8)(get_unaligned_be32(buf) & OP_MASK);
	req->id = get_unaligned_be32(buf + 4);
	req->stag = get_unaligned_be32(buf + 8);
	req->to = get_unaligned_be64(buf + 12);
	req->data = get_unaligned_be64(buf + 20);
	req->mask = get_unaligned_be64(buf + 28);
	req->compare = get_unaligned_be64(buf + 36);
	req->compare_mask = get_unaligned_be64(buf + 44);
}

void weft_atomic_resp_encode(u8 *buf, const struct weft_atomic_resp *resp)
{
	put_unaligned_be32(resp->id, buf);
	put_unaligned_be64(resp->original, buf + 4);
}

void weft_atomic_resp_decode(const u8 *buf, struct weft_atomic_resp *resp)
{
	resp->id = get_unaligned_be32(buf);
	resp->original = get_unaligned_be64(buf + 4);
}
