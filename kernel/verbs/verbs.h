/* SPDX-License-Identifier: GPL-2.0 */
/* What programs, kernel consumers and iw_cm ask of queue pairs, contexts and counters. */
#ifndef WEFT_VERBS_H
#define WEFT_VERBS_H

#include <rdma/ib_verbs.h>
#include <rdma/rdma_counter.h>
#include <rdma/uverbs_ioctl.h>

#include "base/counters.h"

struct weft_qp;

/* --- qp.c: queue pairs --- */

int weft_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *attr, struct ib_udata *udata);
int weft_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int weft_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init);
int weft_destroy_qp(struct ib_qp *ib, struct ib_udata *udata);

/* --- post.c: posting by kernel consumers --- */

int weft_post_send(struct ib_qp *ib, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
int weft_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);
int weft_post_srq_recv(struct ib_srq *ib, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad);

/* --- user.c: contexts of processes, protection domains, doorbells --- */

struct weft_pd {
	struct ib_pd ib;
};

extern const struct uapi_definition weft_doorbells[];

int weft_alloc_ucontext(struct ib_ucontext *ib, struct ib_udata *udata);
void weft_dealloc_ucontext(struct ib_ucontext *ib);
void weft_disassociate_ucontext(struct ib_ucontext *ib);
int weft_alloc_pd(struct ib_pd *ib, struct ib_udata *udata);
int weft_dealloc_pd(struct ib_pd *ib, struct ib_udata *udata);

/* --- tally.c: counters that queue pairs are bound to, `rdma statistic qp` --- */

void weft_tallies_init(struct weft_tallies *tallies);
void weft_tallies_destroy(struct weft_tallies *tallies);
struct weft_tallied_counts weft_tallies_sum(struct weft_tallies *tallies);
int weft_tally_sum(const struct rdma_counter *counter, struct weft_tallied_counts *sum);
bool weft_tally_leave(struct weft_qp *qp);
int weft_tally_bind(struct rdma_counter *counter, struct ib_qp *ib, u32 port);
int weft_tally_unbind(struct ib_qp *ib, u32 port);
int weft_tally_dealloc(struct rdma_counter *counter);

#endif /* WEFT_VERBS_H */
