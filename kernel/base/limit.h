/* SPDX-License-Identifier: GPL-2.0 */
/* The limits of a device, and the names by which a refusal is traced. */
#ifndef WEFT_LIMIT_H
#define WEFT_LIMIT_H

#include <linux/types.h>

struct weft_device;

/* Users can reach each of these: NVMe's host takes 128 regions for each of its queues. */
#define WEFT_MAX_QP		65536
#define WEFT_MAX_CQ		65536
#define WEFT_MAX_MR		0x100000
#define WEFT_MAX_MW		65536
#define WEFT_MAX_PD		65536
#define WEFT_MAX_SRQ		65536
#define WEFT_MAX_QP_WR		16384
#define WEFT_MAX_SRQ_WR		65536
#define WEFT_MAX_CQE		0x100000
#define WEFT_MAX_FAST_BLOCKS	4096 /* of a fast registration */
#define WEFT_MAX_RD_ATOM	128
#define WEFT_MAX_MSG		0x80000000U

/* Limits whose refusals share an errno value, so that only the trace tells them apart. */
enum weft_limit {
	WEFT_LIMIT_QP,
	WEFT_LIMIT_QP_WR,
	WEFT_LIMIT_SGE,
	WEFT_LIMIT_INLINE,
	WEFT_LIMIT_CQ,
	WEFT_LIMIT_CQE,
	WEFT_LIMIT_MR,
	WEFT_LIMIT_MW,
	WEFT_LIMIT_PD,
	WEFT_LIMIT_SRQ,
	WEFT_LIMIT_SRQ_WR,
	WEFT_LIMIT_FAST_BLOCKS,
	WEFT_LIMIT_RD_ATOM,
};

bool weft_limit_allows(const struct weft_device *dev, enum weft_limit limit,
		       u32 asked);
bool weft_limit_count(const struct weft_device *dev, enum weft_limit limit,
		      atomic_t *number);

#endif /* WEFT_LIMIT_H */
