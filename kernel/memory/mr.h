/* SPDX-License-Identifier: GPL-2.0 */
/* Memory regions: registered memory, the keys that name it, and access to it. */
#ifndef WEFT_MR_H
#define WEFT_MR_H

#include <linux/bits.h>
#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/minmax.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

struct dma_buf;
struct ib_dmah;
struct sg_table;
struct uverbs_attr_bundle;
struct weft_bind;
struct weft_device;
struct weft_dmabuf;

/* --- blocks.c: runs of memory of one size, by which a region finds its bytes --- */

/* The shift of a region that is one run of kernel addresses. */
#define WEFT_ONE_BLOCK	63

/*
 * Where a region's bytes lie. Blocks are as large as the memory allows, so that a byte is found in
 * one step.
 */
struct weft_blocks {
	void **addr; /* kernel address of each block, in the region's order */
	u64 first; /* offset of the region's first byte in the first block */
	u64 mask; /* block size - 1 */
	u8 shift; /* log2 of the block size, or WEFT_ONE_BLOCK */
};

static inline void weft_blocks_set_size(struct weft_blocks *blocks, u8 shift)
{
	blocks->shift = shift;
	blocks->mask = BIT_ULL(shift) - 1;
}

/* Finds the byte at @pos; @run: how many of the @len bytes from there are contiguous. */
static inline void *weft_blocks_at(const struct weft_blocks *blocks, u64 pos, u32 len, u32 *run)
{
	u64 offset;

	pos += blocks->first;
	offset = pos & blocks->mask;
	*run = min_t(u64, len, blocks->mask + 1 - offset);
	return blocks->addr[pos >> blocks->shift] + offset;
}

int weft_blocks_from_sg(struct weft_blocks *blocks, const struct sg_table *sgt,
			u64 offset, u64 length);
int weft_blocks_from_run(struct weft_blocks *blocks, void *addr);
void weft_blocks_free(struct weft_blocks *blocks);

/* --- regions and windows --- */

/* The rights of a peer. */
#define WEFT_ACCESS_REMOTE (IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | \
			    IB_ACCESS_REMOTE_ATOMIC)

enum weft_mr_kind {
	WEFT_MR_REGION = 0,	/* registered once, for good */
	WEFT_MR_FAST,		/* fast registration, by work requests */
	WEFT_MR_WINDOW_1,	/* memory window, of a protection domain */
	WEFT_MR_WINDOW_2,	/* memory window, of a queue pair while bound */
	WEFT_MR_LOCAL,		/* all kernel memory, which lkey 0 names; as long as its device */
};

/*
 * A memory region or a memory window, named by a key. @lock protects the fields that a work request
 * changes: @stag, @qpn, all from @access to @blocks, and @region. Softirqs take it, too. An access
 * takes it for reading, so that no access is under way when an invalidation returns. An ordinary
 * region is not locked, because it does not change while its key is in the table. The consumer owns
 * @ib, @next and @num_next until it posts REG_MR. A loan to TCP references the pages, and not the
 * region.
 */
struct weft_mr {
	struct ib_mr ib; /* the core's view of a region; its lkey and rkey are the STag */
	struct weft_device *dev; /* its device */
	/* One for the key table and one for each access in progress; WEFT_MR_LOCAL has none */
	struct kref refs;
	struct completion gone; /* completed by the last put, for which deregistration waits */
	u8 kind; /* enum weft_mr_kind */
	u32 stag; /* the key: index in the key table and a key byte */
	struct ib_pd *pd; /* the protection domain whose queue pairs may use it */
	u32 qpn; /* bound type 2 window: the queue pair that may use it */
	int access; /* enum ib_access_flags */
	bool invalid; /* fast registration, window: names no memory now */
	u64 iova; /* first address */
	u64 length; /* bytes */
	/* Kernel region that spans all kernel addresses; @length is then U64_MAX */
	bool all_memory;
	struct weft_blocks blocks; /* where the bytes lie; a window's list is its region's */
	rwlock_t lock; /* fast registration, window: see above */
	atomic_t windows; /* region: number of windows bound to it; -1: none can be bound */
	/* Window: the region it is bound to, which cannot go before the window */
	struct weft_mr *region;
	struct rcu_head rcu; /* delays the free, because a late lookup may still read @refs */
	struct ib_umem *umem; /* the pinned user pages, or NULL */
	u64 pages; /* how many pages @umem has; readable without holding @umem */
	struct weft_dmabuf *dmabuf; /* the DMA buffer it is a part of, or NULL */
	void **next; /* fast registration: blocks for the next REG_MR */
	u32 max_blocks; /* fast registration: size of @next */
	u32 num_next; /* fast registration: how many of @next are set */
};

static inline struct weft_mr *to_weft_mr(struct ib_mr *ib)
{
	return container_of(ib, struct weft_mr, ib);
}

/* Does an access to @mr take the lock? */
static inline bool weft_mr_is_locked(const struct weft_mr *mr)
{
	return mr->kind != WEFT_MR_REGION && mr->kind != WEFT_MR_LOCAL;
}

/*
 * A queue pair, as memory knows it. All but @rights and @bound is fixed before the queue pair can
 * be found.
 */
struct weft_accessor {
	struct weft_device *dev; /* the device whose keys it uses */
	struct ib_pd *pd; /* its protection domain */
	u32 qpn; /* its number */
	/* The most that a key can allow the peer, enum ib_access_flags; without a lock */
	int rights;
	bool kernel; /* a kernel consumer posts to it, to which lkey 0 is all memory */
	bool bound; /* type 2 windows were bound to it; under tx_lock */
};

enum weft_key_error {
	WEFT_KEY_OK = 0,
	WEFT_KEY_UNKNOWN,	/* no such STag */
	WEFT_KEY_PD,		/* of another protection domain or queue pair */
	WEFT_KEY_ACCESS,	/* lacks the right */
	WEFT_KEY_BOUNDS,	/* outside the region */
	WEFT_KEY_WRAP,		/* address plus length wraps around */
};

/*
 * Returns the first check that fails. Zero bytes are within bounds everywhere. The caller locks
 * @mr, unless it cannot change.
 */
enum weft_key_error weft_mr_check(const struct weft_mr *mr, u32 stag, const struct ib_pd *pd,
				  u32 qpn, u64 addr, u64 len, int access);

/*
 * May this key be invalidated? The owner of a fast registration may use any key that it ever had,
 * even twice; a peer (@remote) must name the current key. The caller locks @mr.
 */
enum weft_key_error weft_mr_check_invalidate(const struct weft_mr *mr, u32 stag,
					     const struct ib_pd *pd, u32 qpn, bool remote);

struct weft_mr *weft_mr_access(struct weft_accessor *by, struct ib_pd *pd, u32 stag, u64 addr,
			       u64 len, int access, enum weft_key_error *err);
void weft_mr_access_end(struct weft_mr *mr);

/* Finds the byte at @addr; @run: how many of the @len bytes from there are contiguous. */
static __always_inline void *weft_mr_at(const struct weft_mr *mr, u64 addr, u32 len, u32 *run)
{
	if (likely(!mr->all_memory))
		return weft_blocks_at(&mr->blocks, addr - mr->iova, len, run);
	*run = len;
	return (void *)(uintptr_t)addr;
}

/* Copies @len bytes into a region, after weft_mr_access() to this very range. */
static __always_inline void weft_mr_write(const struct weft_mr *mr, u64 addr,
					  const void *src, u32 len)
{
	void *to;
	u32 n;

	for (; len; len -= n) {
		to = weft_mr_at(mr, addr, len, &n);
		memcpy(to, src, n);
		addr += n;
		src += n;
	}
}

/* Copies @len bytes from a region, after weft_mr_access() to this very range. */
static __always_inline void weft_mr_read(const struct weft_mr *mr, u64 addr, void *dst, u32 len)
{
	const void *from;
	u32 n;

	for (; len; len -= n) {
		from = weft_mr_at(mr, addr, len, &n);
		memcpy(dst, from, n);
		addr += n;
		dst += n;
	}
}

u64 *weft_mr_word(const struct weft_mr *mr, u64 addr);

/* A region in use for a series of accesses of one kind. */
struct weft_access {
	struct weft_mr *mr; /* the region, as from weft_mr_access(), or NULL */
	struct ib_pd *pd; /* the protection domain of the accesses */
	u32 stag; /* the key */
	int rights; /* the rights */
};

enum weft_key_error weft_access_begin(struct weft_access *a, struct weft_accessor *by,
				      struct ib_pd *pd, u32 stag, u64 addr, u64 len, int rights);
void weft_access_end(struct weft_access *a);

/*
 * weft_mr_access() for a series of accesses that are mostly to one region: if @a holds that region
 * already, only the range is checked. On success @a holds the region.
 */
static inline enum weft_key_error
weft_access_go_on(struct weft_access *a, struct weft_accessor *by, struct ib_pd *pd,
		  u32 stag, u64 addr, u64 len, int rights)
{
	const struct weft_mr *mr = a->mr;

	if (mr && a->stag == stag && a->pd == pd && a->rights == rights &&
	    len <= mr->length && addr - mr->iova <= mr->length - len)
		return WEFT_KEY_OK;
	return weft_access_begin(a, by, pd, stag, addr, len, rights);
}

/*
 * Ends an access to a region with a lock, before the caller takes that lock or another. An ordinary
 * region has no lock and stays in @a, because the next message is mostly for the same region.
 */
static inline void weft_access_yield(struct weft_access *a)
{
	if (a->mr && weft_mr_is_locked(a->mr))
		weft_access_end(a);
}

/* --- mr.c: the key table, for the files that make regions and windows --- */

struct weft_mr *weft_mr_new(struct ib_pd *pd, enum weft_mr_kind kind);
int weft_mr_reserve(struct xarray *keys, u32 from, u32 *index);
int weft_mr_publish(struct weft_mr *mr);
void weft_mr_withdraw(struct weft_mr *mr);
void weft_mr_hide(struct weft_mr *mr);
int weft_mr_show(struct weft_mr *mr, u32 stag);
struct weft_mr *weft_mr_find(struct weft_device *dev, u32 stag);
void weft_mr_drop(struct weft_mr *mr);
struct weft_mr *weft_mr_new_local(struct weft_device *dev);

/* --- region.c: regions as verbs --- */

struct weft_mr *weft_mr_create(struct ib_pd *pd, enum weft_mr_kind kind);
void weft_mr_free(struct weft_mr *mr);
void weft_mr_destroy(struct weft_mr *mr);
struct ib_mr *weft_mr_finish(struct weft_mr *mr, int ret);
struct ib_mr *weft_get_dma_mr(struct ib_pd *pd, int access);
struct ib_mr *weft_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
			       struct ib_dmah *dmah, struct ib_udata *udata);
struct ib_mr *weft_rereg_user_mr(struct ib_mr *ib, int flags, u64 start, u64 length, u64 iova,
				 int access, struct ib_pd *pd, struct ib_udata *udata);
int weft_dereg_mr(struct ib_mr *ib, struct ib_udata *udata);
struct ib_mr *weft_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
				      int access, struct ib_dmah *dmah,
				      struct uverbs_attr_bundle *attrs);

/* --- dmabuf.c: memory of another driver, named by a file descriptor --- */

struct weft_dmabuf *weft_dmabuf_get(struct dma_buf *buf, u64 offset, u64 length, int access,
				    struct weft_blocks *blocks);
int weft_dmabuf_check_access(const struct weft_dmabuf *d, int access);
void weft_dmabuf_put(struct weft_dmabuf *d);
int weft_dmabuf_init(void);
void weft_dmabuf_exit(void);

/* --- bind.c: keys that work requests begin and end --- */

/* One memory window. */
struct weft_mw {
	struct ib_mw ib; /* the core's view; the core allocates and frees the whole */
	struct weft_mr *mr; /* its entry in the key table */
};

int weft_alloc_mw(struct ib_mw *ib, struct ib_udata *udata);
int weft_dealloc_mw(struct ib_mw *ib);
bool weft_mw_hold(struct weft_mr *region, const struct weft_mr *window,
		  const struct weft_bind *bind);
bool weft_mw_bind(struct weft_accessor *by, u32 old, u32 key, const struct weft_bind *bind);
void weft_mw_forget(struct weft_accessor *by);

struct ib_mr *weft_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_blocks);
int weft_map_mr_sg(struct ib_mr *ib, struct scatterlist *sg, int num, unsigned int *offset);
bool weft_fast_register(struct weft_accessor *by, u32 old, u32 key, int access);
enum weft_key_error weft_invalidate(struct weft_accessor *by, u32 stag, bool remote);

#endif /* WEFT_MR_H */
