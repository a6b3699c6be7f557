/* SPDX-License-Identifier: GPL-2.0 */
/* TCP, the default class of lower layers. */
#ifndef WEFT_LLP_TCP_H
#define WEFT_LLP_TCP_H

#include <linux/interrupt.h>
#include <linux/net.h>
#include <linux/sizes.h>
#include <linux/timer.h>

#include "base/compat.h"
#include "llp/class.h"

extern const struct weft_llp_class weft_tcp_class;

/* How soon the peer's messages are answered. */
struct weft_tcp_turnaround {
	u32 segs_read;	/* segments received by the end of the last read */
	u32 segs_answered;	/* segments received before this end last sent */
	u32 answers;	/* segments that this end had sent then */
	u32 began;	/* time of the first read since then, in jiffies */
	u8 num;	/* short messages in a row that were answered soon; at most WEFT_TCP_TURNS */
};

/*
 * One stream of TCP. The socket lock protects @mss_clamp to @max_window and @put_off to @rcv_mss;
 * the rest is fixed.
 */
struct weft_tcp {
	struct weft_llp llp;	/* as all classes have it */
	/* the socket's own callbacks, restored before the close */
	void (*saved_data_ready)(struct sock *sk);
	void (*saved_write_space)(struct sock *sk);	/* see @saved_data_ready */
	void (*saved_state_change)(struct sock *sk);	/* see @saved_data_ready */
	/* the peer's largest segment, before it was lowered to a multiple of four; 0: not read */
	u16 mss_clamp;
	u32 pmtu;	/* the path MTU for which it was lowered */
	u32 max_window;	/* the peer's largest window at that time */
	/* tasklet that reads packets that were put off, and resumes the owner */
	struct tasklet_struct late;
	/* timer that does so a tick later, if the lock was taken when @late ran */
	struct timer_list later;
	bool resumed;	/* raise the readable event, even without new bytes. Atomic */
	u32 put_off;	/* number of large packets that wait for @late */
	u8 hasty;	/* number of packets still to read at once before the next is put off */
	/* the last start of @hasty; doubled when a packet was put off for nothing */
	u8 backoff;
	/* put no packet off, because the owner reads later anyway, or asks for the event now */
	bool at_once;
	struct weft_tcp_turnaround turnaround;	/* how soon the peer's messages are answered */
	u16 rcv_mss;	/* TCP's measure before it was raised for one message; 0: not raised */
};

/* --- tcp_data.c: when packets are read --- */

struct weft_llp *weft_tcp_stream(const struct sock *sk);
void weft_tcp_data_ready(struct sock *sk);
void weft_tcp_read_put_off(struct weft_tcp *tcp);
void weft_tcp_late(struct tasklet_struct *late);
void weft_tcp_later(struct timer_list *later);

/* --- tcp_data.c: struct weft_llp_flow, by name so that llp.h calls them directly --- */

void weft_tcp_lock(struct weft_llp *llp);
void weft_tcp_unlock(struct weft_llp *llp);
void weft_tcp_resume(struct weft_llp *llp);
u32 weft_tcp_emss(struct weft_llp *llp);
u32 weft_tcp_train(struct weft_llp *llp, u32 emss);
u32 weft_tcp_room(struct weft_llp *llp, u32 emss);
u32 weft_tcp_portion(struct weft_llp *llp, u32 emss, u32 ahead, u32 len);
bool weft_tcp_want_space(struct weft_llp *llp);
void weft_tcp_end_segment(struct weft_llp *llp);
int weft_tcp_send_page(struct weft_llp *llp, struct page *page, u32 offset, u32 len, bool more);
bool weft_tcp_may_lend(struct weft_llp *llp);
int weft_tcp_lend(struct weft_llp *llp, struct ubuf_info *ubuf,
		  const struct bio_vec *bv, u32 num, u32 from, u32 len, bool more);
bool weft_tcp_unsent(struct weft_llp *llp);
enum weft_llp_end weft_tcp_end(struct weft_llp *llp);
void weft_tcp_read(struct weft_llp *llp, weft_llp_actor actor, void *ctx);
void weft_tcp_look(struct weft_llp *llp, u32 from, weft_llp_actor actor, void *ctx);
void weft_tcp_await(struct weft_llp *llp, u32 bytes);
bool weft_tcp_full(struct weft_llp *llp);

#endif /* WEFT_LLP_TCP_H */
