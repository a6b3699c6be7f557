/* SPDX-License-Identifier: GPL-2.0 */
/* When a new connection may begin to send. */
#ifndef WEFT_PAIR_GATE_H
#define WEFT_PAIR_GATE_H

#include <linux/compiler.h>
#include <linux/jiffies.h>
#include <linux/types.h>

#include "wire/negotiate.h"

/*
 * A responder may not send before it knows that the initiator is in full
 * operation, which its first FPDU shows (RFC 5044, 7.1.3). Revision 1 has no
 * way to ask for one, and programs in which the accepting side speaks first
 * would wait for ever: the Reply has long arrived after so much time.
 */
#define WEFT_GATE_TIMEOUT	(HZ / 2)

/**
 * struct weft_gate - when a new connection may begin to send
 * @shut: nothing may be sent until the peer's first FPDU has come. Written under the
 *	lock, and read without it by weft_gate_awaits_peer()
 * @agreed: the peer agreed to send one, so that it is waited for as long as it takes
 * @rtr_due: initiators: the indication that must be sent first, enum weft_rtr; 0: none
 * @until: when to stop waiting, where nothing was agreed, in jiffies
 *
 * Protected by what protects the data path of its queue pair: the socket lock while
 * there is a stream, tx.lock without one; see weft_qp_assert_locked().
 */
struct weft_gate {
	bool shut;
	bool agreed;
	u8 rtr_due;
	unsigned long until;
};

/* A connection begins, whose handshake settled @agreed. */
static inline void weft_gate_start(struct weft_gate *gate,
				   const struct weft_mpa_agreed *agreed, bool initiator)
{
	gate->agreed = agreed->p2p;
	gate->rtr_due = initiator && agreed->p2p ? agreed->rtr : 0;
	gate->until = jiffies + WEFT_GATE_TIMEOUT;
	WRITE_ONCE(gate->shut, !initiator);
}

/* Whether it is shut, and opens when time is up. */
static inline bool weft_gate_runs_out(const struct weft_gate *gate)
{
	return gate->shut && !gate->agreed;
}

/* Whether sending waits for a frame that the peer agreed to. Any context; may be old. */
static inline bool weft_gate_awaits_peer(const struct weft_gate *gate)
{
	return READ_ONCE(gate->agreed) && READ_ONCE(gate->shut);
}

/* Opens the gate; returns whether it was shut, so that somebody may wait to send. */
static inline bool weft_gate_open(struct weft_gate *gate)
{
	if (!gate->shut)
		return false;
	WRITE_ONCE(gate->shut, false);
	return true;
}

/* Whether something may be sent now. */
static inline bool weft_gate_passes(struct weft_gate *gate)
{
	if (!gate->shut)
		return true;
	if (gate->agreed || time_before(jiffies, gate->until))
		return false;
	weft_gate_open(gate);
	return true;
}

#endif /* WEFT_PAIR_GATE_H */
