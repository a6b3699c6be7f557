// SPDX-License-Identifier: GPL-2.0
/* The lower layer in memory; see fake_llp.h. */
#include <linux/bottom_half.h>
#include <linux/in.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "fake_llp.h"
#include "wire/plan.h"

#define FAKE_SCRIPT { .emss = 1448, .train = 45 * 1448, .window = 4 << 20, .hold = 4 << 20 }

struct fake_script fake_script = FAKE_SCRIPT;
struct fake_faults fake_faults;

/* All streams, oldest first; and who is whose peer. Taken before a stream's lock. */
static DEFINE_MUTEX(fakes_lock);
static LIST_HEAD(fakes);

/* What a packet buffer of @out has besides its bytes. */
struct fake_mark {
	bool sealed;	/* nothing is added to it */
};

static struct fake_mark *mark(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct fake_mark) > sizeof(skb->cb));
	return (struct fake_mark *)skb->cb;
}

/* Returns a fault once. */
static int once(int *fault)
{
	int ret = *fault;

	*fault = 0;
	return ret;
}

/* --- events --- */

static void tell(struct fake *f, void (*event)(struct weft_llp *llp))
{
	lockdep_assert_held(&f->lock);
	if (f->closed || !f->llp.owner)
		return;
	local_bh_disable();
	event(&f->llp);
	local_bh_enable();
}

static bool full(const struct fake *f)
{
	return f->unread >= f->script.hold;
}

static void tell_readable(struct fake *f)
{
	lockdep_assert_held(&f->lock);
	if (f->unread >= f->lowat || f->ended || full(f))
		tell(f, f->llp.ops ? f->llp.ops->readable : NULL);
}

static void tell_changed(struct fake *f)
{
	lockdep_assert_held(&f->lock);
	tell(f, f->llp.ops ? f->llp.ops->changed : NULL);
}

static void tell_room(struct fake *f)
{
	lockdep_assert_held(&f->lock);
	if (!f->wants || f->unsent >= f->script.window)
		return;
	f->wants = false;
	tell(f, f->llp.ops->writable);
}

/* --- making and freeing --- */

static struct fake *fake_make(struct net *net, const struct weft_llp_ops *ops, void *owner)
{
	struct fake *f = kzalloc(sizeof(*f), GFP_KERNEL);

	lockdep_assert_held(&fakes_lock);
	if (!f)
		return NULL;
	f->llp.class = &fake_class;
	f->llp.ops = ops;
	f->llp.owner = owner;
	mutex_init(&f->lock);
	f->script = fake_script;
	f->net = net;
	f->state = WEFT_LLP_DEAD;
	f->lowat = 1;
	f->tos = -1;
	skb_queue_head_init(&f->out);
	skb_queue_head_init(&f->kept);
	skb_queue_head_init(&f->in);
	INIT_LIST_HEAD(&f->queue);
	INIT_LIST_HEAD(&f->queued);
	list_add_tail(&f->entry, &fakes);
	return f;
}

static struct fake *fake_new(struct net *net, const struct weft_llp_ops *ops, void *owner)
{
	struct fake *f;

	mutex_lock(&fakes_lock);
	f = fake_make(net, ops, owner);
	mutex_unlock(&fakes_lock);
	return f;
}

/* What it was given is lost. */
static void drop_out(struct fake *f)
{
	skb_queue_purge(&f->out);
	skb_queue_purge(&f->kept);
	f->left = 0;
	f->unsent = 0;
}

static void fake_free(struct fake *f)
{
	lockdep_assert_held(&fakes_lock);
	if (f->peer)
		f->peer->peer = NULL;
	list_del(&f->queued);
	list_del(&f->entry);
	drop_out(f);
	skb_queue_purge(&f->in);
	kfree(f);
}

/**
 * fake_begin() - forget what the last test said
 *
 * Context: process.
 */
void fake_begin(void)
{
	fake_script = (struct fake_script)FAKE_SCRIPT;
	fake_faults = (struct fake_faults){ .refused = -ECONNREFUSED };
}

/**
 * fake_end() - end all streams
 *
 * Context: process; nobody uses any of them.
 * Return: how many were never closed.
 */
u32 fake_end(void)
{
	struct fake *f, *next;
	u32 open = 0;

	mutex_lock(&fakes_lock);
	list_for_each_entry_safe(f, next, &fakes, entry) {
		open += !f->closed;
		fake_free(f);
	}
	mutex_unlock(&fakes_lock);
	fake_begin();
	return open;
}

/**
 * fake_open() - make one end of a stream that is connected to the test
 * @ops: where events go
 * @owner: the owner
 *
 * Context: process.
 * Return: the end, owned as one of weft_llp_open(), or NULL.
 */
struct fake *fake_open(const struct weft_llp_ops *ops, void *owner)
{
	struct fake *f = fake_new(&init_net, ops, owner);

	if (f)
		f->state = WEFT_LLP_OPEN;
	return f;
}

static void join(struct fake *a, struct fake *b)
{
	lockdep_assert_held(&fakes_lock);
	a->peer = b;
	b->peer = a;
	a->joined = true;
	b->joined = true;
}

/* Makes two ends those of one stream. */
void fake_join(struct fake *a, struct fake *b)
{
	mutex_lock(&fakes_lock);
	join(a, b);
	mutex_unlock(&fakes_lock);
}

/* The one that was made @index streams after the oldest that there is, or NULL. */
struct fake *fake_find(u32 index)
{
	struct fake *f, *found = NULL;

	mutex_lock(&fakes_lock);
	list_for_each_entry(f, &fakes, entry) {
		if (!index--) {
			found = f;
			break;
		}
	}
	mutex_unlock(&fakes_lock);
	return found;
}

/* --- from one end to the other --- */

static u32 offset_of_damage(const struct fake *f, u32 n)
{
	return f->damage > f->arrived && f->damage <= f->arrived + n ?
	       f->damage - f->arrived : 0;
}

/* Has bytes arrive, as one packet buffer. With the lock. */
static bool arrive(struct fake *f, struct sk_buff *from, u32 offset, const void *bytes, u32 n)
{
	struct sk_buff *skb = alloc_skb(n, GFP_KERNEL);
	u32 at = offset_of_damage(f, n);

	lockdep_assert_held(&f->lock);
	if (!skb)
		return false;
	if (from && skb_copy_bits(from, offset, skb_put(skb, n), n)) {
		kfree_skb(skb);
		return false;
	}
	if (bytes)
		skb_put_data(skb, bytes, n);
	if (at)
		skb->data[at - 1] ^= 0x10;
	f->arrived += n;
	f->unread += n;
	__skb_queue_tail(&f->in, skb);
	return true;
}

/* Bytes of the first of what was given have left. With the lock. */
static void leave(struct fake *f, u32 n)
{
	struct sk_buff *skb = skb_peek(&f->out);

	lockdep_assert_held(&f->lock);
	f->left += n;
	f->unsent -= n;
	if (f->left < skb->len)
		return;
	f->left = 0;
	__skb_unlink(skb, &f->out);
	if (f->script.copies && skb_zcopy(skb))
		skb_zcopy_clear(skb, false);
	if (f->script.keeps)
		__skb_queue_tail(&f->kept, skb);
	else
		kfree_skb(skb);
}

/* With the lock. */
static void die(struct fake *f, int error)
{
	lockdep_assert_held(&f->lock);
	f->error = error;
	f->state = WEFT_LLP_DEAD;
	drop_out(f);
	tell_changed(f);
}

/* Carries a piece of what @f was given to its peer. Returns whether it did. */
static bool carry(struct fake *f)
{
	struct fake *to = f->peer;
	struct sk_buff *skb;
	u32 room, n = 0;
	bool gone;

	lockdep_assert_held(&fakes_lock);
	mutex_lock(&to->lock);
	gone = to->closed || to->state == WEFT_LLP_DEAD;
	room = to->script.hold - min(to->script.hold, to->unread);
	mutex_unlock(&to->lock);

	mutex_lock(&f->lock);
	skb = skb_peek(&f->out);
	if (skb && gone) {
		/* Nobody reads it any more: what there is of him says so. */
		die(f, f->ended ? -EPIPE : -ECONNRESET);
		mutex_unlock(&f->lock);
		return true;
	}
	if (skb) {
		n = min(skb->len - f->left, room);
		if (to->script.cut)
			n = min(n, to->script.cut);
	}
	mutex_unlock(&f->lock);
	if (!n)
		return false;

	/* Nobody else takes from @out: this is under the list's lock. */
	mutex_lock(&to->lock);
	if (arrive(to, skb, f->left, NULL, n))
		tell_readable(to);
	mutex_unlock(&to->lock);

	mutex_lock(&f->lock);
	if (f->state != WEFT_LLP_DEAD)
		leave(f, n);
	tell_room(f);
	mutex_unlock(&f->lock);
	return true;
}

/* Nobody reads what a stream sends whose other end is no more. Returns whether it sent. */
static bool carry_nowhere(struct fake *f)
{
	bool any;

	lockdep_assert_held(&fakes_lock);
	mutex_lock(&f->lock);
	any = f->joined && !f->closed && !skb_queue_empty(&f->out);
	if (any)
		die(f, f->ended ? -EPIPE : -ECONNRESET);
	mutex_unlock(&f->lock);
	return any;
}

/* Tells the peer of the end, if it is that. Returns whether it did. */
static bool carry_end(struct fake *f)
{
	struct fake *to = f->peer;
	bool reset, fin;

	lockdep_assert_held(&fakes_lock);
	mutex_lock(&f->lock);
	reset = f->reset;
	fin = f->shut && !f->fin && skb_queue_empty(&f->out);
	f->reset = false;
	f->fin |= fin;
	mutex_unlock(&f->lock);

	mutex_lock(&to->lock);
	if (reset && to->state != WEFT_LLP_DEAD) {
		die(to, to->ended ? -EPIPE : -ECONNRESET);
	} else if (fin && to->state != WEFT_LLP_DEAD) {
		to->ended = true;
		to->state = WEFT_LLP_PEER_CLOSED;
		tell_readable(to);
		tell_changed(to);
	}
	mutex_unlock(&to->lock);
	return reset || fin;
}

static u16 port_of(const struct sockaddr_storage *addr)
{
	/* At the same place in both families. */
	return ((const struct sockaddr_in *)addr)->sin_port;
}

/* Finds who listens at an address. */
static struct fake *listener_at(struct net *net, const struct sockaddr_storage *to)
{
	struct fake *f;

	lockdep_assert_held(&fakes_lock);
	list_for_each_entry(f, &fakes, entry) {
		if (f->listens && !f->closed && net_eq(f->net, net) &&
		    port_of(&f->local) == port_of(to))
			return f;
	}
	return NULL;
}

/* Adds a connection to those that a listener has yet to accept. */
static bool enqueue(struct fake *listener, struct fake *end)
{
	struct fake *f;
	int waiting = 0;

	lockdep_assert_held(&fakes_lock);
	list_for_each_entry(f, &listener->queue, queued)
		waiting++;
	if (waiting >= listener->backlog)
		return false;
	end->state = WEFT_LLP_OPEN;
	list_add_tail(&end->queued, &listener->queue);
	mutex_lock(&listener->lock);
	tell_changed(listener);
	mutex_unlock(&listener->lock);
	return true;
}

/**
 * fake_call() - have a test connect to a listener
 * @net: the namespace
 * @from: whom it seems to be
 * @to: where somebody listens
 *
 * Context: process.
 * Return: the other end, the test's to close; NULL: nobody listens, or too many wait.
 */
struct fake *fake_call(struct net *net, const struct sockaddr_storage *from,
		       const struct sockaddr_storage *to)
{
	struct fake *mine = fake_open(NULL, NULL), *theirs = fake_new(net, NULL, NULL);
	struct fake *listener;
	bool made;

	if (!mine || !theirs)
		return NULL;
	mine->local = *from;
	mine->remote = *to;
	theirs->local = *to;
	theirs->remote = *from;
	fake_join(mine, theirs);
	mutex_lock(&fakes_lock);
	listener = listener_at(net, to);
	made = listener && enqueue(listener, theirs);
	if (!made) {
		fake_free(theirs);
		fake_free(mine);
	}
	mutex_unlock(&fakes_lock);
	return made ? mine : NULL;
}

/* Settles what became of a stream's connecting. Returns whether it did. */
static bool carry_syn(struct fake *f)
{
	struct fake *listener, *end = NULL;

	lockdep_assert_held(&fakes_lock);
	if (f->state != WEFT_LLP_CONNECTING || f->script.mute || f->closed)
		return false;
	listener = listener_at(f->net, &f->remote);
	if (listener)
		end = fake_make(f->net, NULL, NULL);
	if (end) {
		end->local = f->remote;
		end->remote = f->local;
		join(f, end);
		if (!enqueue(listener, end)) {
			fake_free(end);
			end = NULL;
		}
	}
	mutex_lock(&f->lock);
	if (!end) {
		die(f, fake_faults.refused);
	} else {
		f->state = WEFT_LLP_OPEN;
		tell_changed(f);
	}
	mutex_unlock(&f->lock);
	return true;
}

/**
 * fake_pump() - carry what there is from each end to the other
 *
 * A piece from each at most, so that ends take turns. Frees those that were closed and
 * have said all.
 *
 * Context: process, no lock held.
 * Return: whether anything was carried.
 */
bool fake_pump(void)
{
	struct fake *f, *next;
	bool any = false;

	mutex_lock(&fakes_lock);
	list_for_each_entry_safe(f, next, &fakes, entry) {
		any |= carry_syn(f);
		if (!f->peer) {
			any |= carry_nowhere(f);
			continue;
		}
		any |= carry(f);
		any |= carry_end(f);
		if (f->closed && skb_queue_empty(&f->out))
			fake_free(f);
	}
	mutex_unlock(&fakes_lock);
	return any;
}

/* --- a test at the other end --- */

/**
 * fake_take() - take the next packet buffer that a stream was given
 * @f: the stream
 * @to: where its bytes go
 * @size: bytes there
 *
 * Its owner is told of the room.
 *
 * Context: process.
 * Return: bytes; 0: there is none, or it is longer than @size.
 */
u32 fake_take(struct fake *f, void *to, u32 size)
{
	struct sk_buff *skb;
	u32 n = 0;

	mutex_lock(&f->lock);
	skb = skb_peek(&f->out);
	if (skb && skb->len - f->left <= size) {
		n = skb->len - f->left;
		if (skb_copy_bits(skb, f->left, to, n))
			n = 0;
		else
			leave(f, n);
	}
	tell_room(f);
	mutex_unlock(&f->lock);
	return n;
}

/**
 * fake_feed() - have bytes arrive
 * @f: the stream
 * @bytes: the bytes
 * @len: how many
 *
 * They come in packet buffers as the script says, and the owner is told of each.
 *
 * Context: process.
 */
void fake_feed(struct fake *f, const void *bytes, u32 len)
{
	u32 n;

	mutex_lock(&f->lock);
	for (; len; bytes += n, len -= n) {
		n = f->script.cut ? min(len, f->script.cut) : len;
		if (!arrive(f, NULL, 0, bytes, n))
			break;
		tell_readable(f);
	}
	mutex_unlock(&f->lock);
}

/* Has the peer's end of the stream arrive. */
void fake_fin(struct fake *f)
{
	mutex_lock(&f->lock);
	f->ended = true;
	f->state = WEFT_LLP_PEER_CLOSED;
	tell_readable(f);
	tell_changed(f);
	mutex_unlock(&f->lock);
}

/* Has the connection be lost: -ECONNRESET, -ETIMEDOUT. */
void fake_die(struct fake *f, int error)
{
	mutex_lock(&f->lock);
	die(f, error);
	mutex_unlock(&f->lock);
}

/* Lets go of what was kept: it is acknowledged. */
void fake_ack(struct fake *f)
{
	mutex_lock(&f->lock);
	skb_queue_purge(&f->kept);
	mutex_unlock(&f->lock);
}

/* --- the class: streams that begin and end --- */

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
	return once(&fake_faults.bind);
}

static int class_set_tos(struct weft_llp *llp, u8 tos)
{
	to_fake(llp)->tos = tos;
	return 0;
}

static void class_set_timeouts(struct weft_llp *llp, u32 keepalive, u32 user_timeout)
{
	to_fake(llp)->keepalive = keepalive;
}

static int class_listen(struct weft_llp *llp, int backlog)
{
	struct fake *f = to_fake(llp);

	if (fake_faults.listen)
		return fake_faults.listen;
	mutex_lock(&fakes_lock);
	f->backlog = backlog;
	f->listens = true;
	mutex_unlock(&fakes_lock);
	return 0;
}

static bool class_incoming(struct weft_llp *listener)
{
	return !list_empty_careful(&to_fake(listener)->queue);
}

static struct weft_llp *class_accept(struct weft_llp *listener,
				     const struct weft_llp_ops *ops, void *owner)
{
	struct fake *f;
	int fault = once(&fake_faults.accept);

	if (fault)
		return ERR_PTR(fault);
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
	return once(&to_fake(llp)->error);
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
		ret = once(&f->error);
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
	int ret = -EPIPE;

	if (fake_faults.send)
		return fake_faults.send;
	mutex_lock(&f->lock);
	if (can_send(f)) {
		skb = alloc_skb(len, GFP_KERNEL);
		ret = skb ? (int)len : -ENOMEM;
		if (skb) {
			skb_put_data(skb, buf, len);
			mark(skb)->sealed = true;
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
		drop_out(f);
	}
	f->shut = true;
	f->closed = true;
	mutex_unlock(&f->lock);
}

static void class_close(struct weft_llp *llp, bool abort)
{
	struct fake *f = to_fake(llp), *queued, *next;

	mutex_lock(&fakes_lock);
	close_one(f, abort);
	list_for_each_entry_safe(queued, next, &f->queue, queued) {
		list_del_init(&queued->queued);
		close_one(queued, true);
	}
	mutex_unlock(&fakes_lock);
}

/* --- the class: while data flows --- */

static void class_lock(struct weft_llp *llp)
{
	mutex_lock(&to_fake(llp)->lock);
}

static void class_unlock(struct weft_llp *llp)
{
	mutex_unlock(&to_fake(llp)->lock);
}

static void class_assert_locked(const struct weft_llp *llp)
{
	lockdep_assert_held(&to_fake(llp)->lock);
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

	if (!skb || mark(skb)->sealed)
		return NULL;
	*len = skb->len - (skb == skb_peek(&f->out) ? f->left : 0);
	return skb;
}

static u32 class_room(struct weft_llp *llp, u32 emss)
{
	struct sk_buff *skb;
	u32 len, rest;

	skb = tail(to_fake(llp), &len);
	if (!skb)
		return emss;
	rest = len % emss;
	if (!rest)
		return emss;
	if ((rest & 3) || skb_shinfo(skb)->nr_frags >= MAX_SKB_FRAGS) {
		mark(skb)->sealed = true;
		return emss;
	}
	return emss - rest;
}

static u32 class_portion(struct weft_llp *llp, u32 emss, u32 ahead, u32 len)
{
	u32 train = class_train(llp, emss), used = 0;
	struct sk_buff *skb = tail(to_fake(llp), &used);

	if (!skb)
		return skb_queue_empty(&to_fake(llp)->out) ? len : min(len, train);
	if ((used + ahead) % emss) {
		if (ahead)
			return min(len, ahead);
		mark(skb)->sealed = true;
		used = 0;
	}
	return min(len, used < train ? train - used : train);
}

static bool class_want_space(struct weft_llp *llp)
{
	to_fake(llp)->wants = true;
	return true;
}

static void class_end_segment(struct weft_llp *llp)
{
	struct sk_buff *skb = skb_peek_tail(&to_fake(llp)->out);

	if (skb)
		mark(skb)->sealed = true;
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
		mark(skb)->sealed = true;
		skb = NULL;
		used = 0;
	}
	if (!skb) {
		skb = alloc_skb(0, GFP_KERNEL);
		if (!skb)
			return -ENOMEM;
		mark(skb)->sealed = false;
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
		mark(skb)->sealed = true;
}

static int class_send_page(struct weft_llp *llp, struct page *page, u32 offset, u32 len,
			   bool more)
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

static bool class_ended(struct weft_llp *llp)
{
	const struct fake *f = to_fake(llp);

	return f->ended || f->state == WEFT_LLP_DEAD;
}

static bool class_unsent(struct weft_llp *llp)
{
	return !skb_queue_empty_lockless(&to_fake(llp)->out);
}

static bool class_at_end(struct weft_llp *llp)
{
	return class_ended(llp) && !to_fake(llp)->unread;
}

static void class_read(struct weft_llp *llp, weft_llp_actor actor, void *ctx)
{
	struct fake *f = to_fake(llp);
	struct sk_buff *skb;
	u32 len, n;

	while ((skb = skb_peek(&f->in))) {
		len = skb->len - f->taken;
		n = actor(ctx, skb, f->taken, len);
		if (n)
			consume(f, n);
		if (n < len)
			return;
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
		tell_readable(f);
}

static bool class_full(struct weft_llp *llp)
{
	return full(to_fake(llp));
}

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
		.emss = class_emss,
		.train = class_train,
		.room = class_room,
		.portion = class_portion,
		.want_space = class_want_space,
		.end_segment = class_end_segment,
		.send_page = class_send_page,
		.may_lend = class_may_lend,
		.lend = class_lend,
		.ended = class_ended,
		.unsent = class_unsent,
		.at_end = class_at_end,
		.read = class_read,
		.look = class_look,
		.await = class_await,
		.full = class_full,
	},
};
