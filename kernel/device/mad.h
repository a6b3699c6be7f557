/* SPDX-License-Identifier: GPL-2.0 */
/* The counters, in the form of the RDMA core's `ports/1/counters`. */
#ifndef WEFT_MAD_H
#define WEFT_MAD_H

#include <rdma/ib_verbs.h>

/* An operation of the RDMA core (struct ib_device_ops). */
int weft_process_mad(struct ib_device *ib, int flags, u32 port, const struct ib_wc *wc,
		     const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
		     size_t *out_size, u16 *out_pkey);

#endif /* WEFT_MAD_H */
