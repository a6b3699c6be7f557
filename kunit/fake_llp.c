// SPDX-License-Identifier: GPL-2.0
/* The lower layer in memory: streams, and what a test has happen to them; see fake_llp.h. */
#include <linux/bottom_half.h>
#include <linux/in.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "base/address.h"
#include "fake_llp.h"

#define FAKE_SCRIPT { .emss = 1448, .train = 45 * 1448, .window = 4 << 20, .hold = 4 << 20, \
		      .cwnd = 64 << 10, .rtt_us = 1000, .rto = 60 * HZ }

struct fake_script fake_script = FAKE_SCRIPT;
struct fake_faults fake_faults;

DEFINE_MUTEX(fakes_lock); /* see fake_llp.h */
/* All streams, oldest first. */
static LIST_HEAD(fakes);

/* --- events --- */

static void tell(struct fake *f, void (*event)(struct weft_llp *llp))
{
	lockdep_assert_held(&f->lock);
	if (f->closed || !f->llp.owner)
		return;
	local_bh_disable();
	if (f->script.softirq)
		preempt_count_add(SOFTIRQ_OFFSET);
	event(&f->llp);
	if (f->script.softirq)
		preempt_count_sub(SOFTIRQ_OFFSET);
	local_bh_enable();
}

/* Tells the owner of what can be read, if there is enough. With the lock. */
void fake_tell_readable(struct fake *f)
{
	lockdep_assert_held(&f->lock);
	if (f->unread >= f->lowat || f->ended || fake_full(f))
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
	*f = (struct fake){
		.llp = { .class = &fake_class, .ops = ops, .owner = owner }, .script = fake_script,
		.net = net, .state = WEFT_LLP_DEAD, .lowat = 1, .tos = -1,
	};
	mutex_init(&f->lock);
	skb_queue_head_init(&f->out);
	skb_queue_head_init(&f->kept);
	skb_queue_head_init(&f->in);
	INIT_LIST_HEAD(&f->queue);
	INIT_LIST_HEAD(&f->queued);
	list_add_tail(&f->entry, &fakes);
	return f;
}

/* A stream that is connected to nobody yet, or NULL. */
struct fake *fake_new(struct net *net, const struct weft_llp_ops *ops, void *owner)
{
	struct fake *f;

	mutex_lock(&fakes_lock);
	f = fake_make(net, ops, owner);
	mutex_unlock(&fakes_lock);
	return f;
}

/* What it was given is lost. */
void fake_drop_out(struct fake *f)
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
	fake_drop_out(f);
	skb_queue_purge(&f->in);
	kfree(f);
}

/* Forgets what the last test said. */
void fake_begin(void)
{
	fake_script = (struct fake_script)FAKE_SCRIPT;
	fake_faults = (struct fake_faults){ .refused = -ECONNREFUSED };
}

/* Ends all streams, which nobody uses any more. Returns how many were never closed. */
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

/* Makes one end of a stream that is connected to the test, as weft_llp_class.open does; or NULL. */
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

/* The oldest that there is, or NULL. */
struct fake *fake_oldest(void)
{
	struct fake *f;

	mutex_lock(&fakes_lock);
	f = list_first_entry_or_null(&fakes, struct fake, entry);
	mutex_unlock(&fakes_lock);
	return f;
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
	f->sent += n;
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
	fake_drop_out(f);
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
		fake_tell_readable(to);
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
		fake_tell_readable(to);
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

/* Does another stream listen at the address that a stream was bound to? */
bool fake_address_taken(const struct fake *f)
{
	struct fake *other;

	lockdep_assert_held(&fakes_lock);
	list_for_each_entry(other, &fakes, entry) {
		if (other->listens && !other->closed && net_eq(other->net, f->net) &&
		    weft_addr_equal(&other->local, &f->local))
			return true;
	}
	return false;
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

/* Connects the test, as @from, to a listener at @to. Returns the test's end; NULL: not accepted. */
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

/* Tells an owner that asked to be resumed. Returns whether one did. */
static bool resume(struct fake *f)
{
	if (!xchg(&f->resumed, false))
		return false;
	mutex_lock(&f->lock);
	tell(f, f->llp.ops ? f->llp.ops->readable : NULL);
	mutex_unlock(&f->lock);
	return true;
}

/*
 * Carries a piece at most from each end to the other, so that ends take turns, and frees those
 * that were closed and have said all. Returns whether anything was carried. Without a lock.
 */
bool fake_pump(void)
{
	struct fake *f, *next;
	bool any = false;

	mutex_lock(&fakes_lock);
	list_for_each_entry_safe(f, next, &fakes, entry) {
		any |= carry_syn(f);
		any |= resume(f);
		if (f->script.stuck)
			continue;
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

/* Takes the next packet buffer of a stream, and tells of the room. Returns its bytes, or 0. */
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

/* Has bytes arrive in packet buffers as the script says; the owner is told of each. */
void fake_feed(struct fake *f, const void *bytes, u32 len)
{
	u32 n;

	mutex_lock(&f->lock);
	for (; len; bytes += n, len -= n) {
		n = f->script.cut ? min(len, f->script.cut) : len;
		if (!arrive(f, NULL, 0, bytes, n))
			break;
		fake_tell_readable(f);
	}
	mutex_unlock(&f->lock);
}

/* Has the peer's end of the stream arrive. */
void fake_fin(struct fake *f)
{
	mutex_lock(&f->lock);
	f->ended = true;
	f->state = WEFT_LLP_PEER_CLOSED;
	fake_tell_readable(f);
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
