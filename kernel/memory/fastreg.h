/* SPDX-License-Identifier: GPL-2.0 */
/* Fast registration: regions that kernel consumers fill by work requests. */
#ifndef WEFT_FASTREG_H
#define WEFT_FASTREG_H

#include <linux/types.h>

struct weft_accessor;
struct ib_mr;
struct ib_pd;
struct scatterlist;
enum ib_mr_type;

struct ib_mr *weft_alloc_mr(struct ib_pd *pd, enum ib_mr_type type,
			    u32 max_blocks);
int weft_map_mr_sg(struct ib_mr *ib, struct scatterlist *sg, int num,
		   unsigned int *offset);
bool weft_fast_register(struct weft_accessor *by, u32 old, u32 key, int access);

#endif /* WEFT_FASTREG_H */
