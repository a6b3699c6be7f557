// SPDX-License-Identifier: GPL-2.0
/*
 * Counters that queue pairs are bound to, one or many to each: `rdma statistic qp`.
 *
 * A queue pair counts for itself, bound or not, and never begins anew. So a counter only notes
 * what each had counted when it was bound, and the data path knows nothing of counters. What is
 * read of a queue pair meanwhile are single words that only grow; so do the sums.
 *
 * The core makes and frees a counter, unbinds a queue pair before it is destroyed, and calls
 * nothing of this in softirq. But not all kernels keep an operator's threads apart: two may bind
 * one queue pair to two counters, unbind it twice, or bind it while it is destroyed. Here the
 * first comes first, and a queue pair that dies is bound to nothing.
 */
#include <linux/lockdep.h>
#include <linux/slab.h>

#include "base/weft.h"
#include "pair/qp.h"
#include "verbs/tally.h"

/**
 * struct weft_binding - a queue pair that is bound to a counter
 * @qp: the queue pair; weft_tally_leave() ends this before it is gone. No reference
 * @before: what it had counted before it was bound
 */
struct weft_binding {
	const struct weft_qp *qp;
	struct weft_tallied_counts before;
};

/**
 * struct weft_tally - what the queue pairs of a counter have counted while they were bound
 * @bound: those that are, struct weft_binding by number of the queue pair
 * @past: what those counted that are not any more
 *
 * Protected by the lock of struct weft_tallies.
 */
struct weft_tally {
	struct xarray bound;
	struct weft_tallied_counts past;
};

/* What the data path writes meanwhile, under locks that are not taken here. */
#define glance(value)	data_race(READ_ONCE(value))

/* What a queue pair has counted since it was made. */
static struct weft_tallied_counts counted_by(const struct weft_qp *qp)
{
	return (struct weft_tallied_counts){ .value = {
		[WEFT_TALLIED_TX_FPDUS] = glance(qp->tx.fpdus),
		[WEFT_TALLIED_TX_BYTES] = glance(qp->tx.bytes),
		[WEFT_TALLIED_RX_FPDUS] = glance(qp->rx.framer.counts.fpdus),
		[WEFT_TALLIED_RX_BYTES] = glance(qp->rx.framer.counts.bytes),
	} };
}

static void counts_add(struct weft_tallied_counts *to, const struct weft_tallied_counts *what)
{
	int i;

	for (i = 0; i < WEFT_NUM_TALLIED; i++)
		to->value[i] += what->value[i];
}

/* Adds what a queue pair has counted since it was bound. */
static void counts_add_bound(struct weft_tallied_counts *to, const struct weft_binding *binding)
{
	struct weft_tallied_counts now = counted_by(binding->qp);
	int i;

	for (i = 0; i < WEFT_NUM_TALLIED; i++)
		to->value[i] += now.value[i] - binding->before.value[i];
}

/* Adds what a counter shows. */
static void counts_add_tally(struct weft_tallied_counts *to, struct weft_tally *tally)
{
	struct weft_binding *binding;
	unsigned long qpn;

	counts_add(to, &tally->past);
	xa_for_each(&tally->bound, qpn, binding)
		counts_add_bound(to, binding);
}

/* The counters of a device: tallies of its queue pairs. */
static struct weft_tallies *tallies_of(struct ib_device *ib)
{
	return &to_weft_device(ib)->tallies;
}

/* Prepares the counters of a new device. */
void weft_tallies_init(struct weft_tallies *tallies)
{
	mutex_init(&tallies->lock);
	xa_init_flags(&tallies->by_id, XA_FLAGS_ALLOC1);
	tallies->next_id = 0;
	tallies->past = (struct weft_tallied_counts){};
}

static void tally_free(struct weft_tally *tally)
{
	xa_destroy(&tally->bound); /* nothing is bound any more */
	kfree(tally);
}

/* Frees those of a device that is gone, with its queue pairs. Context: process. */
void weft_tallies_destroy(struct weft_tallies *tallies)
{
	struct weft_tally *tally;
	unsigned long id;

	xa_for_each(&tallies->by_id, id, tally)
		tally_free(tally);
	xa_destroy(&tallies->by_id);
	mutex_destroy(&tallies->lock);
}

/**
 * weft_tallies_sum() - what all queue pairs of a device have counted while they were bound
 * @tallies: the device's
 *
 * Context: process; takes the lock.
 * Return: the sum, of counters that are gone, too: the core goes on adding it to those of the port.
 */
struct weft_tallied_counts weft_tallies_sum(struct weft_tallies *tallies)
{
	struct weft_tallied_counts sum;
	struct weft_tally *tally;
	unsigned long id;

	mutex_lock(&tallies->lock);
	sum = tallies->past;
	xa_for_each(&tallies->by_id, id, tally)
		counts_add_tally(&sum, tally);
	mutex_unlock(&tallies->lock);
	return sum;
}

/**
 * weft_tally_sum() - what the queue pairs of one counter have counted while they were bound
 * @counter: the counter
 * @sum: result
 *
 * Context: process; takes the lock.
 * Return: 0, or -EINVAL: there is no such counter any more.
 */
int weft_tally_sum(const struct rdma_counter *counter, struct weft_tallied_counts *sum)
{
	struct weft_tallies *tallies = tallies_of(counter->device);
	struct weft_tally *tally;

	*sum = (struct weft_tallied_counts){};
	mutex_lock(&tallies->lock);
	tally = xa_load(&tallies->by_id, counter->id);
	if (tally)
		counts_add_tally(sum, tally);
	mutex_unlock(&tallies->lock);
	return tally ? 0 : -EINVAL;
}

/* Gives a counter its number, with its first queue pair. Returns its tally, or an error pointer. */
static struct weft_tally *tally_new(struct weft_tallies *tallies, struct rdma_counter *counter)
{
	struct weft_tally *tally = kzalloc(sizeof(*tally), GFP_KERNEL);
	int ret;

	lockdep_assert_held(&tallies->lock);
	if (!tally)
		return ERR_PTR(-ENOMEM);
	xa_init(&tally->bound);
	/* Not soon used again: the core may forget a counter later than it has it freed. */
	ret = xa_alloc_cyclic(&tallies->by_id, &counter->id, tally, xa_limit_31b,
			      &tallies->next_id, GFP_KERNEL);
	if (ret >= 0)
		return tally;
	counter->id = 0;
	kfree(tally);
	return ERR_PTR(ret);
}

static int tally_join(struct weft_tallies *tallies, struct rdma_counter *counter,
		      struct weft_qp *qp, struct weft_binding *binding)
{
	const bool first = !counter->id;
	struct weft_tally *tally;
	int ret;

	lockdep_assert_held(&tallies->lock);
	if (qp->ib.counter || READ_ONCE(qp->dying))
		return -EINVAL;
	tally = first ? tally_new(tallies, counter) : xa_load(&tallies->by_id, counter->id);
	if (IS_ERR_OR_NULL(tally))
		return tally ? PTR_ERR(tally) : -EINVAL;
	binding->before = counted_by(qp);
	ret = xa_insert(&tally->bound, qp->acc.qpn, binding, GFP_KERNEL);
	if (!ret) {
		WRITE_ONCE(qp->ib.counter, counter);
		smp_mb(); /* pairs with the barrier in weft_tally_leave() */
		if (READ_ONCE(qp->dying)) {
			WRITE_ONCE(qp->ib.counter, NULL);
			xa_erase(&tally->bound, qp->acc.qpn);
			ret = -EINVAL;
		}
	}
	if (ret && first) {
		/* The core frees it, without another call. */
		xa_erase(&tallies->by_id, counter->id);
		counter->id = 0;
		tally_free(tally);
	}
	return ret;
}

/**
 * weft_tally_bind() - let a counter count what a queue pair does from now on
 * @counter: the counter; without a number, which it gets, if this is its first queue pair
 * @ib: the queue pair
 * @port: its port
 *
 * Context: process, may sleep; the core has the counter's lock.
 * Return: 0; -EINVAL if it is bound already, or one of both is about to go; -ENOMEM.
 */
int weft_tally_bind(struct rdma_counter *counter, struct ib_qp *ib, u32 port)
{
	struct weft_binding *binding = kzalloc(sizeof(*binding), GFP_KERNEL);
	struct weft_tallies *tallies = tallies_of(ib->device);
	struct weft_qp *qp = to_weft_qp(ib);
	int ret;

	if (!binding)
		return -ENOMEM;
	binding->qp = qp;
	mutex_lock(&tallies->lock);
	ret = tally_join(tallies, counter, qp, binding);
	mutex_unlock(&tallies->lock);
	if (ret)
		kfree(binding);
	return ret;
}

/**
 * weft_tally_leave() - take a queue pair off its counter, which keeps what it has counted
 * @qp: the queue pair
 *
 * Its counter is valid, since the core lets it go after that alone. Without a counter the lock is
 * not taken: any process reads counters under it, and may be preempted there by its cgroup's quota.
 *
 * Context: process; takes the lock.
 * Return: true if it had one.
 */
bool weft_tally_leave(struct weft_qp *qp)
{
	struct weft_tallies *tallies = tallies_of(qp->ib.device);
	struct weft_binding *binding = NULL;
	struct rdma_counter *counter;
	struct weft_tally *tally;

	/*
	 * Pairs with the barrier in tally_join(): of a queue pair that dies and one who binds
	 * it, either sees the other.
	 */
	smp_mb();
	if (!READ_ONCE(qp->ib.counter))
		return false;
	mutex_lock(&tallies->lock);
	counter = qp->ib.counter;
	tally = counter ? xa_load(&tallies->by_id, counter->id) : NULL;
	if (tally)
		binding = xa_erase(&tally->bound, qp->acc.qpn);
	if (binding)
		counts_add_bound(&tally->past, binding);
	WRITE_ONCE(qp->ib.counter, NULL);
	mutex_unlock(&tallies->lock);
	kfree(binding);
	return counter;
}

/**
 * weft_tally_unbind() - take a queue pair off its counter
 * @ib: the queue pair
 * @port: its port
 *
 * Context: process; the core has the counter's lock.
 * Return: 0, or -EINVAL: it is bound to none.
 */
int weft_tally_unbind(struct ib_qp *ib, u32 port)
{
	return weft_tally_leave(to_weft_qp(ib)) ? 0 : -EINVAL;
}

/**
 * weft_tally_dealloc() - forget a counter
 * @counter: the counter, to which nothing is bound any more
 *
 * The core has added what it showed last to what it keeps of counters that are gone.
 *
 * Context: process.
 * Return: 0.
 */
int weft_tally_dealloc(struct rdma_counter *counter)
{
	struct weft_tallies *tallies = tallies_of(counter->device);
	struct weft_tally *tally;

	mutex_lock(&tallies->lock);
	tally = xa_erase(&tallies->by_id, counter->id);
	if (tally)
		counts_add_tally(&tallies->past, tally);
	mutex_unlock(&tallies->lock);
	if (tally)
		tally_free(tally);
	return 0;
}
