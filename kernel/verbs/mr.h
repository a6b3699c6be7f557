/* SPDX-License-Identifier: GPL-2.0 */
/* Memory regions: registered memory, the keys that name it, and access to it. */
#ifndef WEFT_MR_H
#define WEFT_MR_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <rdma/ib_verbs.h>

struct weft_device;

/**
 * struct weft_mr - one memory region
 * @ib: what the RDMA core sees; its lkey and rkey are the STag
 * @dev: its device
 * @refs: one for the key table, one for each access in progress; accesses are
 *	short (one FPDU), so that deregistration waits for the last
 * @gone: completed by the last put
 * @stag: index in the key table and a key byte
 * @pd: the protection domain whose queue pairs may use it
 * @access: enum ib_access_flags
 * @iova: first address
 * @length: bytes; 0 with @all_memory means everything
 * @all_memory: a kernel region that spans all kernel addresses
 * @rcu: lookups that found the region too late still read @refs
 * @umem: the pinned user pages, or NULL
 * @pages: the pages in order, for regions of user memory
 * @first_offset: offset of @iova in @pages[0]
 */
struct weft_mr {
	struct ib_mr ib;
	struct weft_device *dev;
	struct kref refs;
	struct completion gone;
	u32 stag;
	struct ib_pd *pd;
	int access;
	u64 iova;
	u64 length;
	bool all_memory;
	struct rcu_head rcu;
	struct ib_umem *umem;
	struct page **pages;
	u32 first_offset;
};

/* Why an access was refused. */
enum weft_key_error {
	WEFT_KEY_OK = 0,
	WEFT_KEY_UNKNOWN,	/* no such STag */
	WEFT_KEY_PD,		/* of another protection domain */
	WEFT_KEY_ACCESS,	/* lacks the right */
	WEFT_KEY_BOUNDS,	/* outside the region */
	WEFT_KEY_WRAP,		/* address plus length wraps around */
};

/**
 * weft_mr_check() - may this range of a region be accessed like this?
 * @mr: the region
 * @stag: the whole key that names it, its key byte included
 * @pd: the protection domain of the accessing queue pair
 * @addr: first address
 * @len: bytes; a length of zero is within bounds everywhere
 * @access: rights needed, enum ib_access_flags
 *
 * Pure; any context.
 *
 * Return: WEFT_KEY_OK or the first check that failed.
 */
enum weft_key_error weft_mr_check(const struct weft_mr *mr, u32 stag,
				  const struct ib_pd *pd, u64 addr, u64 len,
				  int access);

struct weft_mr *weft_mr_get(struct weft_device *dev, struct ib_pd *pd, u32 stag,
			    u64 addr, u64 len, int access,
			    enum weft_key_error *err);
void weft_mr_put(struct weft_mr *mr);

void weft_mr_write(struct weft_mr *mr, u64 addr, const void *src, u32 len);
void weft_mr_read(struct weft_mr *mr, u64 addr, void *dst, u32 len);

struct ib_mr *weft_get_dma_mr(struct ib_pd *pd, int access);
struct ib_mr *weft_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
			       u64 iova, int access, struct ib_udata *udata);
int weft_dereg_mr(struct ib_mr *ib, struct ib_udata *udata);

#endif /* WEFT_MR_H */
