/* SPDX-License-Identifier: GPL-2.0 */
/* The fields of `rdma -dd res show` that only this driver knows. */
#ifndef WEFT_RESTRACK_H
#define WEFT_RESTRACK_H

#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

/* Operations of the RDMA core (struct ib_device_ops). */
int weft_fill_res_qp(struct sk_buff *msg, struct ib_qp *ib);
int weft_fill_res_cq(struct sk_buff *msg, struct ib_cq *ib);
int weft_fill_res_mr(struct sk_buff *msg, struct ib_mr *ib);
int weft_fill_res_cm_id(struct sk_buff *msg, struct rdma_cm_id *id);

#endif /* WEFT_RESTRACK_H */
