// SPDX-License-Identifier: GPL-2.0
/*
 * Several TCP connections as one stream: how it begins and ends, and the handling of events.
 * llp.h describes each function of the class.
 */
#include <linux/memcontrol.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "base/context.h"
#include "paths/paths.h"

/* Time without acknowledgment after which a path is given up, if another path works. */
#define WEFT_PATHS_STALL_TIME	(3 * HZ)

/*
 * Checks whether the peer's TCP acknowledges. Without progress for two retransmission timeouts a
 * path is stalled. (TCP's count of retransmissions does not grow without a route, because then TCP
 * sends nothing.) Retransmits the frames of stalled paths on others, and later gives stalled paths
 * up. If all paths are stalled, TCP's own timeout decides. TCP has no event for this. Returns true
 * if the caller has to check again, because some bytes are not acknowledged.
 */
static bool paths_look_around(struct weft_paths *p)
{
	bool wait = false, works = false;
	struct weft_llp_flight flight;
	struct weft_path *path;

	lockdep_assert_held(&p->lock.mutex);
	for (path = p->path; path < p->path + WEFT_MAX_PATHS; path++) {
		if (!weft_path_is_up(path))
			continue;
		path->llp->class->path->flight(path->llp, &flight);
		if (flight.una == flight.end || flight.una != path->una) {
			path->una = flight.una;
			path->since = jiffies;
		}
		path->stalled = time_after(jiffies, path->since + 2 * flight.rto);
		works |= !path->stalled;
		wait |= flight.una != flight.end;
	}
	for (path = p->path; works && path < p->path + WEFT_MAX_PATHS; path++) {
		if (!weft_path_is_up(path) || !path->stalled)
			continue;
		if (time_after(jiffies, path->since + WEFT_PATHS_STALL_TIME))
			path->broken = true;
		else
			weft_paths_replay(p, path);
	}
	return wait;
}

/* Makes the state DEAD, and closes all connections. */
static void paths_die(struct weft_paths *p, int error)
{
	struct weft_path_guest *guest;
	u32 i;

	lockdep_assert_held(&p->lock.mutex);
	if (p->state != WEFT_LLP_DEAD) {
		p->error = error;
		/* Pairs with the acquire in llp_paths_state(). */
		smp_store_release(&p->state, WEFT_LLP_DEAD);
	}
	for (i = 0; i < WEFT_MAX_PATHS; i++) {
		if (p->path[i].llp)
			weft_path_drop(p, &p->path[i]);
	}
	for (guest = p->guest; guest < p->guest + WEFT_PATHS_MAX_JOINS; guest++) {
		if (guest->llp)
			weft_llp_close(guest->llp, true);
		guest->llp = NULL;
	}
	if (p->listener)
		weft_llp_close(p->listener, true);
	p->listener = NULL;
	weft_paths_forget(p);
}

struct weft_paths_settings weft_paths_settings = { .paths = 2, .out_of_order = true };

static_assert(WEFT_MAX_PATHS <= WEFT_MAX_SHOWN);

static void paths_tell_owner(struct weft_paths *p, enum weft_llp_state before, bool ended)
{
	const struct weft_llp_ops *ops = p->llp.ops;

	lockdep_assert_held(&p->lock.mutex);
	if (xchg(&p->resumed, false) || p->news || weft_paths_ended(p) != ended)
		ops->readable(&p->llp);
	p->news = false;
	if (p->want_space && (p->state == WEFT_LLP_DEAD || !weft_paths_want_space(&p->llp))) {
		p->want_space = false;
		ops->writable(&p->llp);
	}
	if (p->state != before)
		ops->changed(&p->llp);
}

/* Handles all events. Returns after which delay to call it again; 1: at once; 0: no need. */
static unsigned long paths_progress(struct weft_paths *p)
{
	enum weft_llp_state before = p->state;
	bool ended = weft_paths_ended(p), more = false, alive = false, wait;
	unsigned long again = 0;
	struct weft_path *path;

	lockdep_assert_held(&p->lock.mutex);
	if (p->state == WEFT_LLP_DEAD)
		return 0;
	p->short_of_memory = false;
	/* After the peer's end no more paths are needed. */
	if (!ended)
		again = p->terms.initiator ? weft_paths_seek(p) : weft_paths_host(p);
	for (path = p->path; path < p->path + WEFT_MAX_PATHS; path++) {
		if (path->llp && path->state != WEFT_PATH_CONNECTING && !path->broken)
			more |= weft_paths_receive(p, path);
	}
	wait = paths_look_around(p);
	for (path = p->path; path < p->path + WEFT_MAX_PATHS; path++) {
		if (path->llp && path->broken)
			weft_path_drop(p, path);
	}
	if (p->out == WEFT_PATHS_ENDING)
		weft_paths_finish(p);
	weft_paths_push(p);
	if (weft_paths_all_came(p) && p->state == WEFT_LLP_OPEN)
		WRITE_ONCE(p->state, WEFT_LLP_PEER_CLOSED);
	for (path = p->path; path < p->path + WEFT_MAX_PATHS; path++)
		alive |= weft_path_is_up(path);
	if (p->fault)
		paths_die(p, -EPROTO);
	else if (!alive && !weft_paths_all_came(p))
		paths_die(p, -ECONNRESET);
	paths_tell_owner(p, before, ended);
	weft_paths_ack(p);
	if (more)
		return 1;
	if (p->short_of_memory || wait || p->owes_ack)
		return WEFT_PATHS_TICK;
	return again;
}

static void paths_work(struct work_struct *work)
{
	struct weft_paths *p = container_of(to_delayed_work(work), struct weft_paths, work);
	unsigned long again;
	unsigned int flags;

	spin_lock_irq(&p->due_lock);
	p->is_due = false;
	spin_unlock_irq(&p->due_lock);
	if (!weft_baton_try(&p->lock, 0))
		return;
	flags = memalloc_noio_save();
	again = paths_progress(p);
	memalloc_noio_restore(flags);
	if (again)
		weft_paths_soon(p, again == 1 ? 0 : again);
	weft_paths_unlock(&p->llp);
}

void weft_paths_lock(struct weft_llp *llp)
{
	weft_baton_lock(&to_weft_paths(llp)->lock);
}

void weft_paths_unlock(struct weft_llp *llp)
{
	struct weft_paths *p = to_weft_paths(llp);

	if (weft_baton_unlock(&p->lock))
		weft_paths_soon(p, 0);
}

void weft_paths_resume(struct weft_llp *llp)
{
	struct weft_paths *p = to_weft_paths(llp);

	WRITE_ONCE(p->resumed, true);
	weft_paths_soon(p, 0);
}

void weft_paths_assert_locked(const struct weft_llp *llp)
{
	lockdep_assert_held(&to_weft_paths(llp)->lock.mutex);
}

/* All paths have the same size. */
u32 weft_paths_emss(struct weft_llp *llp)
{
	return WEFT_PATH_EMSS;
}

/*
 * Makes @first, a connection whose MPA handshake is over, the first of several paths. Returns the
 * stream, which owns @first, or an error pointer: then @first is unchanged. May sleep.
 */
struct weft_llp *weft_paths_begin(struct weft_llp *first, const struct weft_spread_terms *terms,
				  const struct weft_llp_ops *ops, void *owner)
{
	struct mem_cgroup *memcg = first->class->path->payer(first);
	struct mem_cgroup *before = set_active_memcg(memcg);
	struct weft_paths *p = weft_payer_alloc(sizeof(*p));

	set_active_memcg(before);
	if (!p) {
		mem_cgroup_put(memcg);
		return ERR_PTR(-ENOMEM);
	}
	memset(p, 0, sizeof(*p));
	p->llp.class = &weft_paths_class;
	p->llp.ops = ops;
	p->llp.owner = owner;
	p->llp.arrivals = &p->arrivals;
	p->below = first->class;
	p->terms = *terms;
	p->wanted = READ_ONCE(weft_paths_settings.paths);
	p->net = get_net(first->class->path->net(first));
	p->memcg = memcg;
	p->state = WEFT_LLP_OPEN;
	weft_baton_init(&p->lock);
	spin_lock_init(&p->due_lock);
	INIT_DELAYED_WORK(&p->work, paths_work);
	INIT_LIST_HEAD(&p->unacked);
	INIT_LIST_HEAD(&p->waiting);
	weft_arrivals_init(&p->arrivals, 0, WEFT_PATH_WINDOW_BYTES,
			   READ_ONCE(weft_paths_settings.out_of_order));
	first->class->addresses(first, &p->local, &p->remote);
	if (!terms->initiator)
		get_random_bytes(p->addrs.key, sizeof(p->addrs.key));
	weft_path_prepare(p, first);
	/* Locked, or the work could see a stream without a path, and end it. */
	weft_baton_lock(&p->lock);
	first->class->adopt(first, &weft_paths_ops, p, true);
	/* Queues the work, which reads the bytes that came before that. */
	weft_path_up(p, 0, first);
	weft_paths_unlock(&p->llp);
	return &p->llp;
}

/* --- the class; it has no functions of the handshake, which the first connection runs --- */

static void llp_paths_set_timeouts(struct weft_llp *llp, u32 keepalive, u32 user_timeout)
{
	struct weft_paths *p = to_weft_paths(llp);

	p->terms.keepalive = keepalive;
	p->terms.user_timeout = user_timeout;
}

static int llp_paths_addresses(struct weft_llp *llp, struct sockaddr_storage *local,
			       struct sockaddr_storage *remote)
{
	const struct weft_paths *p = to_weft_paths(llp);

	if (READ_ONCE(p->state) == WEFT_LLP_DEAD) {
		memset(local, 0, sizeof(*local));
		memset(remote, 0, sizeof(*remote));
		return -ENOTCONN;
	}
	*local = p->local;
	*remote = p->remote;
	return 0;
}

static enum weft_llp_state llp_paths_state(struct weft_llp *llp)
{
	/* Pairs with the release in paths_die(): @error is set before the state. */
	return smp_load_acquire(&to_weft_paths(llp)->state);
}

static int llp_paths_error(struct weft_llp *llp)
{
	return xchg(&to_weft_paths(llp)->error, 0);
}

static void llp_paths_shutdown(struct weft_llp *llp)
{
	struct weft_paths *p = to_weft_paths(llp);

	weft_baton_lock(&p->lock);
	weft_paths_finish(p);
	weft_paths_soon(p, 0);
	weft_paths_unlock(llp);
}

static void llp_paths_close(struct weft_llp *llp, bool abort)
{
	struct weft_paths *p = to_weft_paths(llp);
	struct weft_path *path;
	bool in_order;

	weft_baton_lock(&p->lock);
	in_order = !abort && p->state != WEFT_LLP_DEAD;
	if (in_order)
		weft_paths_finish(p);
	/* TCP delivers the bytes of each path. paths_die() then resets a path within a frame. */
	for (path = p->path; in_order && path < p->path + WEFT_MAX_PATHS; path++) {
		if (!weft_path_is_up(path) || path->current_frame)
			continue;
		/* TCP would reset a connection with unread bytes. */
		weft_paths_receive(p, path);
		weft_path_let_go(path);
		kfree(path->coming);
		path->coming = NULL;
		weft_llp_close(path->llp, false);
		path->llp = NULL;
	}
	paths_die(p, 0);
	weft_paths_unlock(llp);
	/* No connection is left to queue the work; if it is queued, it does nothing. */
	cancel_delayed_work_sync(&p->work);
	weft_arrivals_drop(&p->arrivals);
	if (p->frag.page)
		put_page(p->frag.page);
	kfree(p->partial);
	mem_cgroup_put(p->memcg);
	put_net(p->net);
	kfree(p);
}

/*
 * Takes a snapshot of path @number for the operator. Does not take the stream's lock, because a
 * throttled thread may have it. A path that has ended is shown as it was.
 */
static bool paths_show(struct weft_llp *llp, u32 number, struct weft_path_info *info)
{
	const struct weft_path *path = &to_weft_paths(llp)->path[number];

	/* Any value that it had is good enough to show. */
	info->counts = data_race(path->counts);
	/* Likewise. */
	info->remote = data_race(path->remote);
	info->up = info->counts.joins != info->counts.leaves;
	return info->counts.joins;
}

static void llp_paths_adopt(struct weft_llp *llp, const struct weft_llp_ops *ops, void *owner,
			    bool later)
{
	weft_paths_lock(llp);
	llp->ops = ops;
	llp->owner = owner;
	weft_paths_unlock(llp);
}

const struct weft_llp_class weft_paths_class = {
	.name = "tcp",
	.own_crc = true,
	.set_timeouts = llp_paths_set_timeouts,
	.adopt = llp_paths_adopt,
	.addresses = llp_paths_addresses,
	.state = llp_paths_state,
	.error = llp_paths_error,
	.shutdown = llp_paths_shutdown,
	.close = llp_paths_close,
	.show_path = paths_show,
	.flow = {
		.lock = weft_paths_lock,
		.unlock = weft_paths_unlock,
		.assert_locked = weft_paths_assert_locked,
		.resume = weft_paths_resume,
		.emss = weft_paths_emss,
		.want_space = weft_paths_want_space,
		.send_page = weft_paths_send_page,
		.unsent = weft_paths_unsent,
		.end = weft_paths_end,
		.read = weft_paths_read,
		.await = weft_paths_await,
	},
};
