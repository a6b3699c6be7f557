/* SPDX-License-Identifier: GPL-2.0 */
/* Chunks, of which pair/chunks.h has the structure; see chunk.c. */
#ifndef WEFT_TX_CHUNK_H
#define WEFT_TX_CHUNK_H

#include <linux/mm.h>

#include "base/policy.h"
#include "pair/chunks.h"

struct ib_ucontext;

void weft_chunk_put(struct weft_chunks *chunks, u32 index);
struct weft_chunk *weft_chunk_next(struct weft_chunks *chunks, u32 need, u32 left,
				   const struct ib_ucontext *payer);
bool weft_chunks_free(struct weft_chunks *chunks);
void weft_chunks_drop(struct weft_chunks *chunks);

/* The most that header and trailer of an FPDU take beside its payload. */
#define WEFT_CHUNK_FRAME	64

/*
 * Returns true if a chunk is an empty page that is too small for what is @left of a kernel
 * consumer's message. A large chunk does better: the page would cut the message into two FPDUs,
 * and a second page would be allocated and freed for each such message. A program's stream of
 * such messages, which has a @payer, costs 5 % less in pages.
 */
static inline bool weft_chunk_is_short(const struct weft_chunk *c, u32 left,
				       const struct ib_ucontext *payer)
{
	return weft_rule(WEFT_RULE_LARGE) && !payer && c->size == PAGE_SIZE &&
	       c->sent == c->fill && left + WEFT_CHUNK_FRAME > PAGE_SIZE;
}

/**
 * weft_chunk_room() - find room for an FPDU behind the bytes laid out already
 * @chunks: the chunks of the transmit side
 * @need: bytes of the FPDU. A new chunk may have fewer, for a shorter FPDU, but at least a page
 * @left: bytes of its message that are not laid out yet
 * @payer: new memory is charged to its process; NULL: to nobody
 *
 * Context: process; may sleep, but not in a worker for a @payer.
 * Return: a chunk; NULL if enough bytes wait to be sent; -EAGAIN: there is no memory now.
 */
static inline struct weft_chunk *weft_chunk_room(struct weft_chunks *chunks, u32 need,
						 u32 left, const struct ib_ucontext *payer)
{
	struct weft_chunk *c;

	if (chunks->num) {
		c = &chunks->chunk[chunks->num - 1];
		if (c->size - c->fill >= need && !weft_chunk_is_short(c, left, payer))
			return c;
	}
	return weft_chunk_next(chunks, need, left, payer);
}

/*
 * Fills a chunk from the start again if the stream has taken all of it and TCP has let go,
 * so that the next message lies together.
 */
static inline void weft_chunks_taken(struct weft_chunks *chunks)
{
	struct weft_chunk *c = &chunks->chunk[0];

	if (!chunks->num || page_ref_count(c->page) != 1)
		return;
	c->fill = 0;
	c->sent = 0;
}

static inline bool weft_chunks_has_spares(const struct weft_chunks *chunks)
{
	return chunks->num_spares;
}

/* Returns true if the first chunk is of more than a page. */
static inline bool weft_chunks_large(const struct weft_chunks *chunks)
{
	return chunks->num && chunks->chunk[0].size > PAGE_SIZE;
}

/**
 * weft_chunks_rest() - free memory that an idle queue pair does not need
 * @chunks: chunks of which the stream has taken all bytes
 *
 * After WEFT_CHUNK_IDLE without a message, at most a page is kept.
 *
 * Context: process.
 * Return: true if there is memory to free later: call again WEFT_CHUNK_IDLE from now.
 */
static inline bool weft_chunks_rest(struct weft_chunks *chunks)
{
	return (weft_chunks_large(chunks) || weft_chunks_has_spares(chunks)) &&
	       weft_chunks_free(chunks);
}

/* Returns true if a chunk has bytes that the stream has not taken. */
static inline bool weft_chunks_waiting(const struct weft_chunks *chunks)
{
	return chunks->num > 1 ||
	       (chunks->num && chunks->chunk[0].sent < chunks->chunk[0].fill);
}

#endif /* WEFT_TX_CHUNK_H */
