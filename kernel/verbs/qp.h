/* SPDX-License-Identifier: GPL-2.0 */
/* Queue pairs, for verbs and iw_cm. */
#ifndef WEFT_VERBS_QP_H
#define WEFT_VERBS_QP_H

#include <rdma/ib_verbs.h>

/* Verbs. */
int weft_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *attr,
		   struct ib_udata *udata);
int weft_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata);
int weft_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init);
int weft_destroy_qp(struct ib_qp *ib, struct ib_udata *udata);

/* iw_cm operations. */
void weft_iw_add_ref(struct ib_qp *ib);
void weft_iw_rem_ref(struct ib_qp *ib);
struct ib_qp *weft_iw_get_qp(struct ib_device *ib, int qpn);

#endif /* WEFT_VERBS_QP_H */
