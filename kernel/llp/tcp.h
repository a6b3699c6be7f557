/* SPDX-License-Identifier: GPL-2.0 */
/* TCP, the class of lower layers that devices have. */
#ifndef WEFT_LLP_TCP_H
#define WEFT_LLP_TCP_H

#include <linux/interrupt.h>
#include <linux/net.h>
#include <linux/sizes.h>
#include <linux/timer.h>

#include "base/compat/sock.h"
#include "llp/class.h"

extern const struct weft_llp_class weft_tcp_class;

/**
 * struct weft_tcp_turn - how soon the peer's messages are answered
 * @segs_read: how many of the peer's segments had come when the last read ended
 * @segs_answered: how many of them had come before this end last sent
 * @answers: how many segments this end had sent then
 * @began: when the first read since then was, in jiffies
 * @num: how many short messages in a row were answered soon; no more than WEFT_TCP_TURNS
 */
struct weft_tcp_turn {
	u32 segs_read;
	u32 segs_answered;
	u32 answers;
	u32 began;
	u8 num;
};

/**
 * struct weft_tcp - one stream of TCP
 * @llp: as all know it
 * @sock: the kernel socket, which holds its network namespace until TCP frees it, some
 *	time after the close
 * @saved_data_ready: the socket's own callbacks, put back before it is closed
 * @saved_write_space: see @saved_data_ready
 * @saved_state_change: see @saved_data_ready
 * @mss_clamp: the peer's largest segment, before we lowered it to a multiple of four; 0
 *	until it is first read
 * @pmtu: the path MTU for which it was lowered
 * @max_window: the peer's largest window at that time
 * @late: reads the packets that were put off, and tells an owner that asked to be resumed
 * @later: does so a tick later, if somebody held the lock when @late came
 * @resumed: the owner is to be told that it can read, whatever has come. Atomic
 * @put_off: how many large packets wait for @late
 * @hasty: how many more are read at once before one is put off again
 * @backoff: what @hasty became last. It doubles when a packet was put off for nothing
 * @at_once: no packet is put off, since the owner does not read in the callback, or is asking for
 *	it right now
 * @turn: how soon the peer's messages are answered
 * @rcv_mss: what TCP had measured before it was raised for one message; 0 if it is not raised
 *
 * @mss_clamp to @max_window and @put_off to @rcv_mss are protected by the socket lock; the rest is
 * fixed.
 */
struct weft_tcp {
	struct weft_llp llp;
	struct socket *sock;
	void (*saved_data_ready)(struct sock *sk);
	void (*saved_write_space)(struct sock *sk);
	void (*saved_state_change)(struct sock *sk);
	u16 mss_clamp;
	u32 pmtu;
	u32 max_window;
	struct tasklet_struct late;
	struct timer_list later;
	bool resumed;
	u32 put_off;
	u8 hasty;
	u8 backoff;
	bool at_once;
	struct weft_tcp_turn turn;
	u16 rcv_mss;
};

static inline struct weft_tcp *to_weft_tcp(const struct weft_llp *llp)
{
	return container_of(llp, struct weft_tcp, llp);
}

static inline struct sock *weft_tcp_sk(const struct weft_llp *llp)
{
	return to_weft_tcp(llp)->sock->sk;
}

/* Has packets of this stream received on this processor, if receive flow steering is in use. */
static inline void weft_tcp_follow(const struct weft_llp *llp)
{
	sock_rps_record_flow(weft_tcp_sk(llp));
}

/* --- tcp_data.c: when packets are read --- */

void weft_tcp_arrived(struct weft_tcp *tcp);
void weft_tcp_read_put_off(struct weft_tcp *tcp);
void weft_tcp_late(struct tasklet_struct *late);
void weft_tcp_later(struct timer_list *later);

/* --- tcp_data.c: struct weft_llp_flow, by name so that llp.h calls them directly --- */

void weft_tcp_lock(struct weft_llp *llp);
void weft_tcp_unlock(struct weft_llp *llp);
void weft_tcp_assert_locked(const struct weft_llp *llp);
void weft_tcp_resume(struct weft_llp *llp);
u32 weft_tcp_emss(struct weft_llp *llp);
u32 weft_tcp_train(struct weft_llp *llp, u32 emss);
u32 weft_tcp_room(struct weft_llp *llp, u32 emss);
u32 weft_tcp_portion(struct weft_llp *llp, u32 emss, u32 ahead, u32 len);
bool weft_tcp_want_space(struct weft_llp *llp);
void weft_tcp_end_segment(struct weft_llp *llp);
int weft_tcp_send_page(struct weft_llp *llp, struct page *page, u32 offset,
		       u32 len, bool more);
bool weft_tcp_may_lend(struct weft_llp *llp);
int weft_tcp_lend(struct weft_llp *llp, struct ubuf_info *ubuf,
		  const struct bio_vec *bv, u32 num, u32 from, u32 len, bool more);
bool weft_tcp_ended(struct weft_llp *llp);
bool weft_tcp_unsent(struct weft_llp *llp);
bool weft_tcp_at_end(struct weft_llp *llp);
void weft_tcp_read(struct weft_llp *llp, weft_llp_actor actor, void *ctx);
void weft_tcp_look(struct weft_llp *llp, u32 from, weft_llp_actor actor, void *ctx);
void weft_tcp_await(struct weft_llp *llp, u32 bytes);
bool weft_tcp_full(struct weft_llp *llp);

#endif /* WEFT_LLP_TCP_H */
