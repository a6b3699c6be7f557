/* SPDX-License-Identifier: GPL-2.0 */
/* Shared receive queues. */
#ifndef WEFT_SRQ_H
#define WEFT_SRQ_H

#include <rdma/ib_verbs.h>

#include "queue/rq.h"

/**
 * struct weft_srq - a receive queue that queue pairs share
 * @ib: the core's view; the core frees the whole after the last queue pair on it
 * @rq: the receives
 * @limit: raise an event below this number of receives; 0: never. Under rq.lock
 * @broken: the user's index made no sense, and an event said so. Under rq.lock
 */
struct weft_srq {
	struct ib_srq ib;
	struct weft_rq rq;
	u32 limit;
	bool broken;
};

static inline struct weft_srq *to_weft_srq(struct ib_srq *ib)
{
	return container_of(ib, struct weft_srq, ib);
}

void weft_srq_taken(struct weft_srq *srq, int taken);

int weft_create_srq(struct ib_srq *ib, struct ib_srq_init_attr *attr,
		    struct ib_udata *udata);
int weft_modify_srq(struct ib_srq *ib, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata);
int weft_query_srq(struct ib_srq *ib, struct ib_srq_attr *attr);
int weft_destroy_srq(struct ib_srq *ib, struct ib_udata *udata);

#endif /* WEFT_SRQ_H */
