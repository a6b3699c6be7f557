/* SPDX-License-Identifier: GPL-2.0 */
/* When a new connection may begin to send. */
#ifndef WEFT_PAIR_GATE_H
#define WEFT_PAIR_GATE_H

#include <linux/compiler.h>
#include <linux/jiffies.h>
#include <linux/types.h>

#include "wire/mpa.h"

/*
 * A responder may not send before the initiator's first FPDU shows that the initiator is in full
 * operation (RFC 5044, 7.1.3). Revision 1 cannot ask for that FPDU, and a program whose accepting
 * side speaks first would wait for ever. So the gate opens after this time, because the Reply has
 * long arrived by then.
 */
#define WEFT_GATE_TIMEOUT	(HZ / 2)

/**
 * struct weft_gate - when a new connection may begin to send
 * @shut: nothing may be sent yet. Opened by the receive side, or by the transmit side on timeout
 * @agreed: the peer agreed to send its first FPDU, so there is no timeout
 * @rtr_due: initiator: the RTR indication to send first, enum weft_rtr; 0: none
 * @until: the timeout, in jiffies
 *
 * @shut is read without a lock, the rest is under tx_lock. @agreed is fixed while there is a
 * stream.
 */
struct weft_gate {
	bool shut;
	bool agreed;
	u8 rtr_due;
	unsigned long until;
};

static inline void weft_gate_start(struct weft_gate *gate,
				   const struct weft_mpa_agreed *agreed, bool initiator)
{
	gate->agreed = agreed->p2p;
	gate->rtr_due = initiator && agreed->p2p ? agreed->rtr : 0;
	gate->until = jiffies + WEFT_GATE_TIMEOUT;
	WRITE_ONCE(gate->shut, !initiator);
}

/* Returns true if sending waits for the agreed FPDU. Any context; stale without tx_lock. */
static inline bool weft_gate_awaits_peer(const struct weft_gate *gate)
{
	return READ_ONCE(gate->agreed) && READ_ONCE(gate->shut);
}

static inline bool weft_gate_open(struct weft_gate *gate)
{
	if (!READ_ONCE(gate->shut))
		return false;
	WRITE_ONCE(gate->shut, false);
	return true;
}

/* Returns true if messages may be sent now. Opens the gate on timeout. */
static inline bool weft_gate_passes(struct weft_gate *gate)
{
	if (!READ_ONCE(gate->shut))
		return true;
	if (gate->agreed || time_before(jiffies, gate->until))
		return false;
	weft_gate_open(gate);
	return true;
}

#endif /* WEFT_PAIR_GATE_H */
