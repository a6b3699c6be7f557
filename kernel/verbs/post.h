/* SPDX-License-Identifier: GPL-2.0 */
/* Posting by kernel consumers. */
#ifndef WEFT_POST_H
#define WEFT_POST_H

#include <rdma/ib_verbs.h>

int weft_post_send(struct ib_qp *ib, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad);
int weft_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad);
int weft_post_srq_recv(struct ib_srq *ib, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad);

#endif /* WEFT_POST_H */
