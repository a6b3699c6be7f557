// SPDX-License-Identifier: GPL-2.0
/* The batch: bytes that are laid out, copied or lent, and pushed to the stream in one place. */
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/skbuff.h>

#include "llp/llp.h"
#include "memory/mr.h"
#include "tx/batch.h"

/* --- lent bytes --- */

/* Adds bytes of a page, given by the head of a compound page. There is a run to spare. */
void weft_lent_add(struct weft_lent *lent, struct page *page, u32 offset, u32 len)
{
	struct bio_vec *run;

	if (lent->num) {
		run = &lent->run[lent->num - 1];
		if (run->bv_page == page && run->bv_offset + run->bv_len == offset) {
			run->bv_len += len;
			return;
		}
	}
	get_page(page);
	bvec_set_page(&lent->run[lent->num++], page, len, offset);
}

/*
 * Adds bytes of a region, which weft_mr_access() checked for this range, and leaves a run free.
 * Returns how many bytes: fewer than @len if they need too many runs, or if the next byte is in no
 * page that can be lent.
 */
u32 weft_lent_add_region(struct weft_lent *lent, const struct weft_mr *mr, u64 addr, u32 len)
{
	u32 done, n, offset;
	struct page *page;
	void *at;

	for (done = 0; done < len && lent->num < WEFT_LENT_RUNS - 1; done += n) {
		at = weft_mr_at(mr, addr + done, len - done, &n);
		/*
		 * A reference on the page must keep the byte from being reused. A DMA buffer's
		 * memory may move or belong to a device. A kernel consumer may name a slab object,
		 * which is reused after its kfree() in spite of the reference, or an address
		 * without a page or in a device's page.
		 */
		if (!mr->umem && (mr->dmabuf || !virt_addr_valid(at) ||
				  !sendpage_ok(virt_to_page(at)) ||
				  is_zone_device_page(virt_to_page(at))))
			break;
		page = virt_to_page(at);
		offset = offset_in_page(at);
		if (PageCompound(page)) {
			page = compound_head(page);
			offset = at - page_address(page);
			n = min_t(size_t, n, page_size(page) - offset);
		} else {
			n = min_t(u32, n, PAGE_SIZE - offset);
		}
		weft_lent_add(lent, page, offset, n);
	}
	return done;
}

/* Removes the bytes that were added after there were @num runs, the last one of @last bytes. */
void weft_lent_take_back(struct weft_lent *lent, u32 num, u32 last)
{
	while (lent->num > num)
		put_page(lent->run[--lent->num].bv_page);
	if (num)
		lent->run[num - 1].bv_len = last;
}

/* Puts the pages and the loan, because the stream has all bytes or will get no more. */
static void lent_release(struct weft_lent *lent)
{
	struct ubuf_info *ubuf = lent->ubuf;

	weft_lent_take_back(lent, 0, 0);
	lent->taken = 0;
	lent->ubuf = NULL;
	net_zcopy_put(ubuf);
}

/* Adds the bytes of @c from @from on to the lent bytes; weft_batch_may_join() allowed it. */
void weft_batch_join(struct weft_batch *batch, struct weft_chunk *c, u32 from)
{
	u32 len = c->fill - from;

	if (!len)
		return;
	weft_lent_add(batch->lent, c->page, from, len);
	batch->lent->len += len;
	batch->lent->joined += len;
	c->sent = c->fill;
}

/* --- the batch --- */

/**
 * weft_batch_push() - hand the bytes that are laid out to the stream
 * @batch: the batch
 * @llp: the stream
 * @more: more lent bytes follow soon: no need to send a short segment yet
 * @cork: more copied bytes follow at once: the stream keeps a short segment until then
 *
 * Context: process, may sleep.
 * Return: 0 if the stream took all of them, -EAGAIN if it has no room, or its error.
 */
int weft_batch_push(struct weft_batch *batch, struct weft_llp *llp, bool more, bool cork)
{
	struct weft_chunks *chunks = &batch->chunks;
	struct weft_lent *lent = batch->lent;
	u32 left, len, ready;
	struct weft_chunk *c;
	int n;

	weft_llp_assert_locked(llp);
	while (chunks->num) {
		c = &chunks->chunk[0];
		for (left = c->fill - c->sent; left; left -= n) {
			ready = batch->laid_out - batch->sent;
			len = left;
			/*
			 * A segment's place was settled when it was laid out: the stream need not
			 * be asked. Otherwise all segments but the last are full, and @room bytes
			 * of the last are free.
			 */
			if (ready > batch->emss && weft_llp_has(llp, portion))
				len = weft_llp_call(llp, portion, batch->emss,
						    (ready + batch->room) % batch->emss, left);
			n = weft_llp_call(llp, send_page, c->page, c->sent, len,
					  cork || len < left || chunks->num > 1);
			if (n < 0)
				return n;
			c->sent += n;
			batch->sent += n;
			/* The stream is full: another call would fail. */
			if (n < len)
				return -EAGAIN;
		}
		if (chunks->num == 1)
			break;
		weft_chunk_put(chunks, 0);
	}
	if (!lent || !lent->num)
		return 0;
	n = weft_llp_call(llp, lend, lent->ubuf, lent->run, lent->num, lent->taken, lent->len,
			  more);
	if (n < 0)
		return n;
	lent->taken += n;
	batch->sent += n;
	if (lent->taken < lent->len)
		return -EAGAIN;
	lent_release(lent);
	return 0;
}

/* Drops all bytes, because the stream is gone. */
void weft_batch_drop(struct weft_batch *batch)
{
	weft_chunks_drop(&batch->chunks);
	if (batch->lent && batch->lent->num)
		lent_release(batch->lent);
}
