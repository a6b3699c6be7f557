// SPDX-License-Identifier: GPL-2.0
/* The batch: what is laid out, copied or lent, and handed to the stream in one place. */
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/skbuff.h>

#include "llp/llp.h"
#include "memory/mr.h"
#include "tx/batch.h"
#include "wire/crc.h"

/* --- lent bytes --- */

/**
 * weft_lent_add() - add bytes of a page to those that wait
 * @lent: the lent bytes of a batch, with a run to spare
 * @page: the page; a compound page is given by its head
 * @offset: of the bytes within @page
 * @len: how many
 *
 * Context: process. Takes a reference on the page, if the bytes begin a run.
 */
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
 * Returns true if a reference on the page with this byte keeps it as it is. A DMA buffer's memory
 * may move or belong to a device. A kernel consumer may name an object of the slab allocator, which
 * is used again once it is freed, whoever holds its page, or an address that has no page or a
 * device's.
 */
static bool lent_may_add(const struct weft_mr *mr, const void *at)
{
	if (mr->umem)
		return true;
	return !mr->dmabuf && virt_addr_valid(at) && sendpage_ok(virt_to_page(at)) &&
	       !is_zone_device_page(virt_to_page(at));
}

/**
 * weft_lent_add_region() - add bytes of a region, and leave a run free
 * @lent: the lent bytes of a batch
 * @mr: held and checked by weft_mr_access() for this very range
 * @addr: first address
 * @len: how many
 *
 * Context: process.
 * Return: how many bytes were added: fewer than @len if they lie in too many runs, or if those
 * behind them are in no page that can be lent.
 */
u32 weft_lent_add_region(struct weft_lent *lent, const struct weft_mr *mr, u64 addr, u32 len)
{
	u32 done, n, offset;
	struct page *page;
	void *at;

	for (done = 0; done < len && lent->num < WEFT_LENT_RUNS - 1; done += n) {
		at = weft_mr_at(mr, addr + done, len - done, &n);
		if (!lent_may_add(mr, at))
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

/**
 * weft_lent_take_back() - take back the bytes that were added last
 * @lent: the lent bytes of a batch
 * @num: how many runs there were before
 * @last: how many bytes the last of these had
 *
 * Context: process. Puts the pages of the runs that are gone.
 */
void weft_lent_take_back(struct weft_lent *lent, u32 num, u32 last)
{
	while (lent->num > num)
		put_page(lent->run[--lent->num].bv_page);
	if (num)
		lent->run[num - 1].bv_len = last;
}

/**
 * weft_lent_crc() - compute the CRC of the bytes that were added last
 * @lent: the lent bytes of a batch
 * @num: how many runs there were before
 * @last: how many bytes the last of these had
 *
 * Context: process. A program may write to the pages meanwhile.
 * Return: the running value, begun with WEFT_CRC_SEED.
 */
u32 weft_lent_crc(const struct weft_lent *lent, u32 num, u32 last)
{
	u32 i, skip = num ? last : 0, crc = WEFT_CRC_SEED;
	const struct bio_vec *run;

	for (i = num ? num - 1 : 0; i < lent->num; i++, skip = 0) {
		run = &lent->run[i];
		crc = weft_crc_update(crc, page_address(run->bv_page) + run->bv_offset + skip,
				      run->bv_len - skip);
	}
	return crc;
}

/* Lets the pages go, and the loan, since the stream has all bytes or none is sent any more. */
static void lent_release(struct weft_lent *lent)
{
	struct ubuf_info *ubuf = lent->ubuf;

	weft_lent_take_back(lent, 0, 0);
	lent->taken = 0;
	lent->ubuf = NULL;
	net_zcopy_put(ubuf);
}

/* Hands lent bytes to the stream. Returns as weft_batch_push(). */
static int batch_push_lent(struct weft_batch *batch, struct weft_llp *llp, bool more)
{
	struct weft_lent *lent = batch->lent;
	int n;

	if (!lent->num)
		return 0;
	n = weft_llp_lend(llp, lent->ubuf, lent->run, lent->num, lent->taken, lent->len,
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

/**
 * weft_batch_join() - have copied bytes handed over together with the lent ones
 * @batch: the batch, of which weft_batch_may_join() said that they may
 * @c: the chunk with the bytes, which are its last
 * @from: where in the chunk they begin
 *
 * Context: process.
 */
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

/*
 * Returns how many of the next @len bytes to hand over at once. The stream is not asked
 * about a segment or less: its place was settled when it was laid out.
 */
static u32 batch_portion(const struct weft_batch *batch, struct weft_llp *llp, u32 len)
{
	u32 ready = batch->laid_out - batch->sent;

	if (ready <= batch->emss)
		return len;
	/* All segments but the last are full, and @room bytes of the last are free. */
	return weft_llp_portion(llp, batch->emss, (ready + batch->room) % batch->emss, len);
}

/**
 * weft_batch_push() - hand the bytes that are laid out to the stream
 * @batch: the batch
 * @llp: the stream
 * @more: more lent bytes follow soon: no need to send a short segment yet
 * @cork: more copied bytes follow at once, and the stream keeps a short segment until then
 *
 * Context: process, the stream's lock is held. May sleep.
 * Return: 0 if the stream took all of them, -EAGAIN if it has no room, or its error.
 */
int weft_batch_push(struct weft_batch *batch, struct weft_llp *llp, bool more, bool cork)
{
	struct weft_chunks *chunks = &batch->chunks;
	struct weft_chunk *c;
	u32 left, len;
	int n;

	weft_llp_assert_locked(llp);
	while (chunks->num) {
		c = &chunks->chunk[0];
		for (left = c->fill - c->sent; left; left -= n) {
			len = batch_portion(batch, llp, left);
			n = weft_llp_send_page(llp, c->page, c->sent, len,
					       cork || len < left || chunks->num > 1);
			if (n < 0)
				return n;
			c->sent += n;
			batch->sent += n;
			/* The stream is full: a second call would only say so again. */
			if (n < len)
				return -EAGAIN;
		}
		if (chunks->num == 1)
			break;
		weft_chunk_put(chunks, 0);
	}
	return batch->lent ? batch_push_lent(batch, llp, more) : 0;
}

/**
 * weft_batch_drop() - drop all bytes, since the stream is gone
 * @batch: the batch
 *
 * Context: process.
 */
void weft_batch_drop(struct weft_batch *batch)
{
	weft_chunks_drop(&batch->chunks);
	if (weft_batch_lends(batch))
		lent_release(batch->lent);
}
