/* SPDX-License-Identifier: GPL-2.0 */
/* A queue pair on a fake stream, with memory for peers: one end of a connection after handshake. */
#ifndef WEFT_KUNIT_ENDS_H
#define WEFT_KUNIT_ENDS_H

#include "base/counters.h"
#include "bench.h"
#include "fake_llp.h"
#include "pair/qp.h"
#include "uapi/weft-abi.h"
#include "wire/bytes.h"
#include "wire/ddp.h"
#include "wire/fpdu.h"
#include "wire/mpa.h"
#include "wire/plan.h"

#define END_STAG	0x00000901U	/* all of an end's memory, every right */
#define END_IOVA	0x7000000ULL
#define END_MEMORY	(512U << 10)

/* One end. */
struct end {
	struct bench *b;	/* its queue pair and what that needs */
	struct weft_qp *qp;	/* the same */
	struct fake *fake;	/* its stream, or the first path of that */
	struct weft_llp *llp;	/* its stream */
	struct weft_qp_user user;	/* what the queue pair knows of its connection */
	int failed;	/* how often that was told of a failure */
	int closing;	/* of a graceful end */
	int peer_closed;	/* of the end of what the peer sends */
	u8 *memory;	/* END_MEMORY bytes, at END_IOVA */
	struct weft_mr mr;	/* the same as a region */
	u32 sends;	/* blocks posted to the send ring */
	u32 receives;	/* entries posted to the receive ring */
	u32 polled;	/* completions seen */
	struct weft_cqe cqe;	/* the last of them */
};

struct end *end_make(struct kunit *test);
void end_spread(struct kunit *test, struct end *e, bool initiator, u32 paths);
int end_start(struct end *e, const struct weft_mpa_agreed *agreed, bool initiator);
bool end_stop(struct end *e);
void end_free(struct kunit *test, struct end *e);

struct weft_sq_wr *end_wr(struct end *e, u8 opcode, u32 offset, u32 len);
void end_remote(struct weft_sq_wr *wr, u32 offset);
void end_post(struct end *e, const struct weft_sq_wr *wr);
void end_post_to(struct end *e, u8 opcode, u32 offset, u32 len, u32 remote);
int end_ring(struct end *e);
void end_send(struct end *e, u32 offset, u32 len);
void end_receive(struct end *e, u64 wr_id, u32 offset, u32 len);
bool end_poll(struct end *e);
void expect_done(struct kunit *test, struct end *e, u64 wr_id, u8 status);
void expect_recv(struct kunit *test, struct end *e, u64 wr_id, u32 len, u8 status);
void expect_none(struct kunit *test, struct end *e);
u64 end_count(const struct end *e, enum weft_counter which);
void end_fill(struct end *e, u32 seed);

/* A segment of a SEND. */
static inline struct weft_ddp_hdr send_hdr(u32 msn, u32 mo, bool last)
{
	return (struct weft_ddp_hdr){
		.opcode = WEFT_RDMAP_SEND, .last = last, .qn = WEFT_QN_SEND, .msn = msn, .mo = mo,
	};
}

/* A segment of a Write to the memory of an end. */
static inline struct weft_ddp_hdr write_hdr(u32 offset, bool last)
{
	return (struct weft_ddp_hdr){
		.opcode = WEFT_RDMAP_WRITE, .tagged = true, .last = last, .stag = END_STAG,
		.to = END_IOVA + offset,
	};
}

u32 fpdu_put(u8 *to, const struct weft_ddp_hdr *hdr, const void *payload, u32 len, bool crc);
void settle(void);

/* A number below @sides, made from a seed. */
static inline u32 dice(u32 *seed, u32 sides)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % sides;
}

/* A suite on fake streams: bench.h's, from a clean script. */
static inline int fake_suite_init(struct kunit_suite *suite)
{
	fake_begin();
	return bench_suite_init(suite);
}

#define fake_suite_exit bench_suite_exit

#endif /* WEFT_KUNIT_ENDS_H */
