// SPDX-License-Identifier: GPL-2.0
/* The class of the streams in memory: what the module asks of one; see fake_llp.h. */
#include <linux/list.h>
#include <linux/lockdep.h>
#include <net/sock.h>

#include "fake_llp.h"
#include "wire/plan.h"

/* --- streams that begin and end --- */

static struct weft_llp *class_open(struct net *net, int family,
				   const struct weft_llp_ops *ops, void *owner)
{
	struct fake *f;

	if (fake_faults.open)
		return ERR_PTR(fake_faults.open);
	f = fake_new(net, ops, owner);
	return f ? &f->llp : ERR_PTR(-ENOMEM);
}

static int class_bind(struct weft_llp *llp, const struct sockaddr_storage *addr, bool v6only)
{
	struct fake *f = to_fake(llp);

	f->local = *addr;
	f->v6only = v6only;
	return fake_once(&fake_faults.bind);
}

static void class_set_tos(struct weft_llp *llp, u8 tos)
{
	to_fake(llp)->tos = tos;
}

static void class_set_timeouts(struct weft_llp *llp, u32 keepalive, u32 user_timeout)
{
}

static int class_listen(struct weft_llp *llp, int backlog)
{
	struct fake *f = to_fake(llp);
	int ret = 0;
	/* The port is at the same place in both families. */
	struct sockaddr_in *local = (struct sockaddr_in *)&f->local;
	static u16 port = 40000;

	if (!local->sin_port)
		local->sin_port = htons(port++);
	if (fake_faults.listen)
		return fake_faults.listen;
	mutex_lock(&fakes_lock);
	if (fake_address_taken(f))
		ret = -EADDRINUSE;
	f->backlog = backlog;
	f->listens = !ret;
	mutex_unlock(&fakes_lock);
	return ret;
}

static bool class_incoming(struct weft_llp *listener)
{
	return !list_empty_careful(&to_fake(listener)->queue);
}

/* Waits, if a test holds this call up. Without a lock. */
static void hold(struct fake_hold **which)
{
	struct fake_hold *hold = xchg(which, NULL);

	if (!hold)
		return;
	complete(&hold->reached);
	wait_for_completion(&hold->released);
}

static struct weft_llp *class_accept(struct weft_llp *listener,
				     const struct weft_llp_ops *ops, void *owner)
{
	struct fake *f;
	int fault = fake_once(&fake_faults.accept);

	if (fault)
		return ERR_PTR(fault);
	hold(&fake_faults.hold_accept);
	mutex_lock(&fakes_lock);
	f = list_first_entry_or_null(&to_fake(listener)->queue, struct fake, queued);
	if (f) {
		list_del_init(&f->queued);
		mutex_lock(&f->lock);
		f->llp.ops = ops;
		f->llp.owner = owner;
		f->tos = to_fake(listener)->tos;
		mutex_unlock(&f->lock);
	}
	mutex_unlock(&fakes_lock);
	return f ? &f->llp : ERR_PTR(-EAGAIN);
}

static int class_charge(struct weft_llp *llp)
{
	return fake_faults.charge;
}

static int class_charge_like(struct weft_llp *llp, const struct weft_llp *other)
{
	return fake_faults.charge;
}

static int class_connect(struct weft_llp *llp, const struct sockaddr_storage *to)
{
	struct fake *f = to_fake(llp);

	if (fake_faults.connect)
		return fake_faults.connect;
	mutex_lock(&f->lock);
	f->remote = *to;
	f->state = WEFT_LLP_CONNECTING;
	mutex_unlock(&f->lock);
	return 0;
}

static int class_addresses(struct weft_llp *llp, struct sockaddr_storage *local,
			   struct sockaddr_storage *remote)
{
	const struct fake *f = to_fake(llp);
	enum weft_llp_state state = READ_ONCE(f->state);

	memset(local, 0, sizeof(*local));
	memset(remote, 0, sizeof(*remote));
	if (state == WEFT_LLP_DEAD || state == WEFT_LLP_CONNECTING)
		return -ENOTCONN;
	*local = f->local;
	*remote = f->remote;
	return 0;
}

static enum weft_llp_state class_state(struct weft_llp *llp)
{
	return READ_ONCE(to_fake(llp)->state);
}

static int class_error(struct weft_llp *llp)
{
	return fake_once(&to_fake(llp)->error);
}

/* Bytes of the first that arrived were read. With the lock. */
static void consume(struct fake *f, u32 n)
{
	struct sk_buff *skb = skb_peek(&f->in);

	lockdep_assert_held(&f->lock);
	f->taken += n;
	f->unread -= n;
	if (f->taken < skb->len)
		return;
	f->taken = 0;
	__skb_unlink(skb, &f->in);
	kfree_skb(skb);
}

static int class_recv(struct weft_llp *llp, void *buf, u32 len)
{
	struct fake *f = to_fake(llp);
	struct sk_buff *skb;
	u32 got = 0, n;
	int ret;

	mutex_lock(&f->lock);
	for (; got < len; got += n) {
		skb = skb_peek(&f->in);
		if (!skb)
			break;
		n = min(len - got, skb->len - f->taken);
		memcpy(buf + got, skb->data + f->taken, n);
		consume(f, n);
	}
	if (got)
		ret = got;
	else if (f->error)
		ret = fake_once(&f->error);
	else
		ret = f->ended || f->state == WEFT_LLP_DEAD ? 0 : -EAGAIN;
	mutex_unlock(&f->lock);
	return ret;
}

static bool can_send(const struct fake *f)
{
	return !f->shut && (f->state == WEFT_LLP_OPEN || f->state == WEFT_LLP_PEER_CLOSED);
}

static int class_send(struct weft_llp *llp, const void *buf, u32 len)
{
	struct fake *f = to_fake(llp);
	struct sk_buff *skb;
	int ret = fake_once(&fake_faults.send);

	if (ret)
		return ret;
	ret = -EPIPE;
	mutex_lock(&f->lock);
	if (can_send(f)) {
		skb = alloc_skb(len, GFP_KERNEL);
		ret = skb ? (int)len : -ENOMEM;
		if (skb) {
			skb_put_data(skb, buf, len);
			fake_mark_of(skb)->sealed = true;
			__skb_queue_tail(&f->out, skb);
			f->unsent += len;
		}
	}
	mutex_unlock(&f->lock);
	return ret;
}

static void class_shutdown(struct weft_llp *llp)
{
	struct fake *f = to_fake(llp);

	mutex_lock(&f->lock);
	f->shut = true;
	mutex_unlock(&f->lock);
}

static void close_one(struct fake *f, bool abort)
{
	lockdep_assert_held(&fakes_lock);
	mutex_lock(&f->lock);
	/* TCP resets a connection that is closed with bytes unread. */
	if (abort || f->unread) {
		f->reset = true;
		fake_drop_out(f);
	}
	f->shut = true;
	f->closed = true;
	mutex_unlock(&f->lock);
}

static void class_close(struct weft_llp *llp, bool abort)
{
	struct fake *f = to_fake(llp), *queued, *next;

	if (f->listens)
		hold(&fake_faults.hold_close);
	mutex_lock(&fakes_lock);
	close_one(f, abort);
	list_for_each_entry_safe(queued, next, &f->queue, queued) {
		list_del_init(&queued->queued);
		close_one(queued, true);
	}
	mutex_unlock(&fakes_lock);
}

/* --- while data flows --- */

static void class_lock(struct weft_llp *llp)
{
	mutex_lock(&to_fake(llp)->lock);
}

static void class_unlock(struct weft_llp *llp)
{
	struct fake *f = to_fake(llp);
	void (*loosed)(struct fake *f) = f->loosed;

	f->loosed = NULL;
	mutex_unlock(&f->lock);
	if (loosed)
		loosed(f);
}

static void class_assert_locked(const struct weft_llp *llp)
{
	lockdep_assert_held(&to_fake(llp)->lock);
}

static void class_resume(struct weft_llp *llp)
{
	WRITE_ONCE(to_fake(llp)->resumed, true);
}

static u32 class_emss(struct weft_llp *llp)
{
	return to_fake(llp)->script.emss;
}

static u32 class_train(struct weft_llp *llp, u32 emss)
{
	return max(to_fake(llp)->script.train / emss, 1U) * emss;
}

/* The last packet buffer, if more can be added to it, and what of it has yet to leave. */
static struct sk_buff *tail(const struct fake *f, u32 *len)
{
	struct sk_buff *skb = skb_peek_tail(&f->out);

	if (!skb || fake_mark_of(skb)->sealed)
		return NULL;
	*len = skb->len - (skb == skb_peek(&f->out) ? f->left : 0);
	return skb;
}

static u32 class_room(struct weft_llp *llp, u32 emss)
{
	u32 len, rest;
	struct sk_buff *skb = tail(to_fake(llp), &len);

	if (!skb)
		return emss;
	rest = len % emss;
	if (!rest)
		return emss;
	if ((rest & 3) || skb_shinfo(skb)->nr_frags >= MAX_SKB_FRAGS) {
		fake_mark_of(skb)->sealed = true;
		return emss;
	}
	return emss - rest;
}

static u32 class_portion(struct weft_llp *llp, u32 emss, u32 ahead, u32 len)
{
	u32 train = class_train(llp, emss), used = 0;
	struct sk_buff *skb = tail(to_fake(llp), &used);

	if (!skb && ahead)
		return min(len, ahead);
	if (!skb)
		return skb_queue_empty(&to_fake(llp)->out) ? len : min(len, train);
	if ((used + ahead) % emss) {
		if (ahead)
			return min(len, ahead);
		fake_mark_of(skb)->sealed = true;
		used = 0;
	}
	return min(len, used < train ? train - used : train);
}

static bool class_want_space(struct weft_llp *llp)
{
	struct fake *f = to_fake(llp);

	/* A bite is answered by an event, however small it was. */
	f->wants = f->script.bite || f->unsent >= f->script.window;
	return f->wants;
}

static void class_end_segment(struct weft_llp *llp)
{
	struct sk_buff *skb = skb_peek_tail(&to_fake(llp)->out);

	if (skb)
		fake_mark_of(skb)->sealed = true;
}

/* How many of @len bytes may be taken, or an error. */
static int may_take(const struct fake *f, u32 len)
{
	u32 room = f->script.window - min(f->script.window, f->unsent);

	if (!can_send(f))
		return -EPIPE;
	len = min(len, room);
	if (f->script.bite)
		len = min(len, f->script.bite);
	return len ? (int)len : -EAGAIN;
}

/* Adds bytes of a page to the last packet buffer, or to a new one. Returns how many. */
static int add(struct fake *f, struct ubuf_info *ubuf, struct page *page, u32 offset, u32 len)
{
	u32 most = class_train(&f->llp, f->script.emss), used = 0, frags;
	struct sk_buff *skb = tail(f, &used);

	if (skb && (skb_zcopy(skb) != ubuf || used >= most ||
		    skb_shinfo(skb)->nr_frags >= MAX_SKB_FRAGS)) {
		fake_mark_of(skb)->sealed = true;
		skb = NULL;
		used = 0;
	}
	if (!skb) {
		skb = alloc_skb(0, GFP_KERNEL);
		if (!skb)
			return -ENOMEM;
		fake_mark_of(skb)->sealed = false;
		if (ubuf)
			skb_zcopy_set(skb, ubuf, NULL);
		__skb_queue_tail(&f->out, skb);
	}
	len = min(len, most - used);
	frags = skb_shinfo(skb)->nr_frags;
	if (skb_can_coalesce(skb, frags, page, offset)) {
		skb_frag_size_add(&skb_shinfo(skb)->frags[frags - 1], len);
	} else {
		get_page(page);
		skb_fill_page_desc(skb, frags, page, offset, len);
	}
	skb->len += len;
	skb->data_len += len;
	f->unsent += len;
	return len;
}

/* Nothing follows: what there is leaves, unless a window is in the way. */
static void push(struct fake *f, bool more)
{
	struct sk_buff *skb = skb_peek_tail(&f->out);

	if (skb && !more && !f->script.fills)
		fake_mark_of(skb)->sealed = true;
}

static int class_send_page(struct weft_llp *llp, struct page *page, u32 offset, u32 len, bool more)
{
	struct fake *f = to_fake(llp);
	int may = may_take(f, len), done = 0, n;

	if (may < 0)
		return may;
	while (done < may) {
		n = add(f, NULL, page, offset + done, may - done);
		if (n < 0)
			return done ?: n;
		done += n;
	}
	push(f, more);
	return done;
}

static bool class_may_lend(struct weft_llp *llp)
{
	return to_fake(llp)->script.lends;
}

static int class_lend(struct weft_llp *llp, struct ubuf_info *ubuf, const struct bio_vec *bv,
		      u32 num, u32 from, u32 len, bool more)
{
	struct fake *f = to_fake(llp);
	int may = may_take(f, len - from), done = 0, n;

	if (may < 0)
		return may;
	for (; num && done < may; bv++, num--) {
		u32 skip = min(from, bv->bv_len);

		for (from -= skip; skip < bv->bv_len && done < may; skip += n, done += n) {
			n = add(f, ubuf, bv->bv_page, bv->bv_offset + skip,
				min_t(u32, bv->bv_len - skip, may - done));
			if (n < 0)
				return done ?: n;
		}
	}
	push(f, more);
	return done;
}

static enum weft_llp_end class_end(struct weft_llp *llp)
{
	const struct fake *f = to_fake(llp);

	if (!f->ended && f->state != WEFT_LLP_DEAD)
		return WEFT_LLP_GOES_ON;
	return f->unread ? WEFT_LLP_LAST_BYTES : WEFT_LLP_ALL_READ;
}

static bool class_unsent(struct weft_llp *llp)
{
	return !skb_queue_empty_lockless(&to_fake(llp)->out);
}

static void class_read(struct weft_llp *llp, weft_llp_actor actor, void *ctx)
{
	struct fake *f = to_fake(llp);
	struct sk_buff *skb;
	u32 n;

	/* As tcp_read_sock(): what is left of a packet is offered again, until none is taken. */
	while ((skb = skb_peek(&f->in))) {
		n = actor(ctx, skb, f->taken, skb->len - f->taken);
		if (!n)
			return;
		consume(f, n);
	}
}

static void class_look(struct weft_llp *llp, u32 from, weft_llp_actor actor, void *ctx)
{
	struct fake *f = to_fake(llp);
	u32 offset = f->taken + from, n;
	struct sk_buff *skb;

	skb_queue_walk(&f->in, skb) {
		if (offset >= skb->len) {
			offset -= skb->len;
			continue;
		}
		n = actor(ctx, skb, offset, skb->len - offset);
		if (n < skb->len - offset)
			return;
		offset = 0;
	}
}

static void class_await(struct weft_llp *llp, u32 bytes)
{
	struct fake *f = to_fake(llp);

	if (f->lowat == bytes)
		return;
	f->lowat = bytes;
	if (f->unread)
		fake_tell_readable(f);
}

static bool class_full(struct weft_llp *llp)
{
	return fake_full(to_fake(llp));
}

void (*fake_adopted)(struct weft_llp *llp);

static void class_adopt(struct weft_llp *llp, const struct weft_llp_ops *ops, void *owner,
			bool later)
{
	struct fake *f = to_fake(llp);

	mutex_lock(&f->lock);
	llp->ops = ops;
	llp->owner = owner;
	mutex_unlock(&f->lock);
	if (later && fake_adopted)
		fake_adopted(llp);
}

/* --- as one of several paths --- */

static struct net *path_net(const struct weft_llp *llp)
{
	return to_fake(llp)->net;
}

static struct mem_cgroup *path_payer(const struct weft_llp *llp)
{
	return NULL;
}

static u16 path_port(const struct weft_llp *listener)
{
	return ntohs(((const struct sockaddr_in *)&to_fake(listener)->local)->sin_port);
}

static void path_set_lowat(struct weft_llp *llp, u32 bytes)
{
}

static void path_flight(const struct weft_llp *llp, struct weft_llp_flight *flight)
{
	const struct fake *f = to_fake(llp);

	flight->una = READ_ONCE(f->sent);
	flight->end = flight->una + READ_ONCE(f->unsent);
	flight->window = f->script.cwnd;
	flight->rtt_us = f->script.rtt_us;
	flight->rto = f->script.rto;
}

static const struct weft_llp_path fake_path = {
	.net = path_net,
	.payer = path_payer,
	.port = path_port,
	.set_lowat = path_set_lowat,
	.flight = path_flight,
};

const struct weft_llp_class fake_class = {
	.open = class_open,
	.bind = class_bind,
	.set_tos = class_set_tos,
	.set_timeouts = class_set_timeouts,
	.listen = class_listen,
	.incoming = class_incoming,
	.accept = class_accept,
	.charge = class_charge,
	.charge_like = class_charge_like,
	.adopt = class_adopt,
	.connect = class_connect,
	.addresses = class_addresses,
	.state = class_state,
	.error = class_error,
	.recv = class_recv,
	.send = class_send,
	.shutdown = class_shutdown,
	.close = class_close,
	.flow = {
		.lock = class_lock,
		.unlock = class_unlock,
		.assert_locked = class_assert_locked,
		.resume = class_resume,
		.emss = class_emss,
		.train = class_train,
		.room = class_room,
		.portion = class_portion,
		.want_space = class_want_space,
		.end_segment = class_end_segment,
		.send_page = class_send_page,
		.may_lend = class_may_lend,
		.lend = class_lend,
		.unsent = class_unsent,
		.end = class_end,
		.read = class_read,
		.look = class_look,
		.await = class_await,
		.full = class_full,
	},
	.path = &fake_path,
};

const struct weft_transport fake_transport = { .name = "fake", .class = &fake_class };
