/* SPDX-License-Identifier: GPL-2.0 */
/* Differences between kernels: pages lent to TCP. */
#ifndef WEFT_COMPAT_LOAN_H
#define WEFT_COMPAT_LOAN_H

#include <linux/mm.h>
#include <linux/skbuff.h>
#include <linux/socket.h>
#include <net/sock.h>

/* complete() is called when TCP no longer holds lent pages, @uncopied or not. @skb may be NULL. */
#ifdef HAVE_UBUF_CALLBACK
struct weft_ubuf_ops {
	void (*complete)(struct sk_buff *skb, struct ubuf_info *ubuf, bool uncopied);
};
#else
#define weft_ubuf_ops	ubuf_info_ops
#endif

/* Prepares a loan. The caller has the one reference. */
static inline void weft_ubuf_init(struct ubuf_info *ubuf, const struct weft_ubuf_ops *ops)
{
#ifdef HAVE_UBUF_CALLBACK
	ubuf->callback = ops->complete;
#else
	ubuf->ops = ops;
#endif
	ubuf->flags = SKBFL_ZEROCOPY_FRAG | SKBFL_DONT_ORPHAN;
	refcount_set(&ubuf->refcnt, 1);
}

/* Adds lent memory by runs, and charges it. Kernels without this callback add it by pages. */
#ifdef HAVE_SG_FROM_ITER_SOCK
static inline int weft_sg_from_iter(struct sock *sk, struct sk_buff *skb,
				    struct iov_iter *from, size_t length)
{
	struct skb_shared_info *shinfo = skb_shinfo(skb);
	const struct bio_vec *bv = from->bvec;
	size_t skip = from->iov_offset, left = min(length, iov_iter_count(from));
	u32 copied, n;

	for (copied = 0; left && shinfo->nr_frags < MAX_SKB_FRAGS; copied += n) {
		n = min_t(size_t, bv->bv_len - skip, left);
		get_page(bv->bv_page);
		__skb_fill_page_desc_noacc(shinfo, shinfo->nr_frags++, bv->bv_page,
					   bv->bv_offset + skip, n);
		left -= n;
		skip += n;
		if (skip == bv->bv_len) {
			bv++;
			skip = 0;
		}
	}
	iov_iter_advance(from, copied);
	skb->data_len += copied;
	skb->len += copied;
	skb->truesize += copied;
	sk_wmem_queued_add(sk, copied);
	if (!skb_zcopy_pure(skb))
		sk_mem_charge(sk, copied);
	return left ? -EMSGSIZE : 0;
}

static inline void weft_msg_lend(struct msghdr *msg, struct ubuf_info *ubuf)
{
	msg->msg_ubuf = ubuf;
	msg->sg_from_iter = weft_sg_from_iter;
}
#else
static inline void weft_msg_lend(struct msghdr *msg, struct ubuf_info *ubuf)
{
	msg->msg_ubuf = ubuf;
}
#endif

#endif /* WEFT_COMPAT_LOAN_H */
