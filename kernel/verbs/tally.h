/* SPDX-License-Identifier: GPL-2.0 */
/* Counters that queue pairs are bound to: `rdma statistic qp`. */
#ifndef WEFT_TALLY_H
#define WEFT_TALLY_H

#include <rdma/ib_verbs.h>
#include <rdma/rdma_counter.h>

#include "base/tallies.h"

struct weft_qp;

void weft_tallies_init(struct weft_tallies *tallies);
void weft_tallies_destroy(struct weft_tallies *tallies);
struct weft_tallied_counts weft_tallies_sum(struct weft_tallies *tallies);
int weft_tally_sum(const struct rdma_counter *counter, struct weft_tallied_counts *sum);
bool weft_tally_leave(struct weft_qp *qp);

/* Operations of the RDMA core (struct ib_device_ops). */
int weft_tally_bind(struct rdma_counter *counter, struct ib_qp *ib, u32 port);
int weft_tally_unbind(struct ib_qp *ib, u32 port);
int weft_tally_dealloc(struct rdma_counter *counter);

#endif /* WEFT_TALLY_H */
