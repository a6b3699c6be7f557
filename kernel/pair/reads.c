// SPDX-License-Identifier: GPL-2.0
/* Reads and atomics that are not answered. */
#include <linux/log2.h>

#include "base/context.h"
#include "pair/reads.h"

/* Allocates @ord slots, charged to @owner. On -ENOMEM @reads is stopped. May sleep. */
int weft_reads_start(struct weft_reads *reads, u32 ord, u32 max_sge,
		     const struct ib_ucontext *owner)
{
	u32 slots = ord ? roundup_pow_of_two(ord) : 0;
	u32 i;

	*reads = (struct weft_reads){ .ord = ord };
	if (!ord)
		return 0;
	reads->slot = weft_charge_zalloc(owner, slots, sizeof(*reads->slot));
	reads->sge = weft_charge_zalloc(owner, slots * max_sge, sizeof(*reads->sge));
	if (!reads->slot || !reads->sge) {
		weft_reads_stop(reads);
		return -ENOMEM;
	}
	for (i = 0; i < slots; i++)
		reads->slot[i].sge = reads->sge + (size_t)i * max_sge;
	return 0;
}

/* Drops all requests. Harmless when repeated. */
void weft_reads_stop(struct weft_reads *reads)
{
	kvfree(reads->slot);
	kvfree(reads->sge);
	*reads = (struct weft_reads){};
}

/*
 * Prepares a request for @len bytes, for weft_reads_add(): an RTR indication unless the caller sets
 * its fields. @reads is not full.
 *
 * The peer's answer carries an STag or identifier that we make up: it names a request, not memory.
 * So a peer can use an answer to write only into the memory of that request.
 */
struct weft_read *weft_reads_next(struct weft_reads *reads, u32 len)
{
	struct weft_read *read = weft_reads_at(reads, reads->head);

	read->sink = reads->head + 1;
	read->inv = 0;
	read->request = NULL;
	read->atomic = false;
	read->len = len;
	read->got = 0;
	read->num_sge = 0;
	return read;
}

/* Allocates @ird slots, charged to @owner. On -ENOMEM @peer is unchanged. May sleep. */
int weft_peer_reads_start(struct weft_peer_reads *peer, u32 ird,
			  const struct ib_ucontext *owner)
{
	struct weft_peer_read *slot = NULL;

	if (ird) {
		slot = weft_charge_zalloc(owner, roundup_pow_of_two(ird), sizeof(*slot));
		if (!slot)
			return -ENOMEM;
	}
	*peer = (struct weft_peer_reads){ .slot = slot, .ird = ird };
	return 0;
}

/* Drops all requests. Harmless when repeated. */
void weft_peer_reads_stop(struct weft_peer_reads *peer)
{
	kvfree(peer->slot);
	*peer = (struct weft_peer_reads){};
}
