/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A queue pair on a fake stream, with memory that peers may reach: one end of a
 * connection whose handshake is over. The other end is the test, or another of these.
 */
#ifndef WEFT_KUNIT_ENDS_H
#define WEFT_KUNIT_ENDS_H

#include <kunit/test.h>

#include "base/counters.h"
#include "fake_llp.h"
#include "pair/qp.h"
#include "uapi/weft-abi.h"
#include "wire/ddp.h"
#include "wire/mpa.h"

struct bench;

#define END_STAG	0x00000901U	/* all of an end's memory, every right */
#define END_IOVA	0x7000000ULL
#define END_MEMORY	(512U << 10)

/**
 * struct end - one end
 * @b: its queue pair and what that needs
 * @qp: the same
 * @fake: its stream, or the first path of that
 * @llp: its stream
 * @user: what the queue pair knows of its connection
 * @failed: how often that was told of a failure
 * @closing: of a graceful end
 * @peer_closed: of the end of what the peer sends
 * @memory: END_MEMORY bytes, at END_IOVA
 * @mr: the same as a region
 * @sends: blocks posted to the send ring
 * @receives: entries posted to the receive ring
 * @polled: completions seen
 */
struct end {
	struct bench *b;
	struct weft_qp *qp;
	struct fake *fake;
	struct weft_llp *llp;
	struct weft_qp_user user;
	int failed;
	int closing;
	int peer_closed;
	u8 *memory;
	struct weft_mr mr;
	u32 sends;
	u32 receives;
	u32 polled;
};

struct end *end_make(struct kunit *test);
void end_spread(struct kunit *test, struct end *e, bool initiator, u32 paths);
int end_start(struct end *e, const struct weft_mpa_agreed *agreed, bool initiator);
void end_free(struct kunit *test, struct end *e);

struct weft_sq_wr *end_wr(struct end *e, u8 opcode, u32 offset, u32 len);
void end_remote(struct weft_sq_wr *wr, u32 offset);
void end_post(struct end *e, const struct weft_sq_wr *wr);
int end_ring(struct end *e);
void end_receive(struct end *e, u64 wr_id, u32 offset, u32 len);
bool end_poll(struct end *e, struct weft_cqe *cqe);
u64 end_count(const struct end *e, enum weft_counter which);
void end_fill(struct end *e, u32 seed);

u32 fpdu_put(u8 *to, const struct weft_ddp_hdr *hdr, const void *payload, u32 len, bool crc);
void settle(void);

#endif /* WEFT_KUNIT_ENDS_H */
