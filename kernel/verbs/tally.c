// SPDX-License-Identifier: GPL-2.0
/*
 * Counters to which queue pairs are bound, one or many to each: `rdma statistic qp`. A queue pair
 * always counts for itself and never resets. So a counter only notes the counts at the bind, and
 * the data path knows nothing of counters. Each count is one word that only grows, and so do sums.
 * The core calls nothing here in softirq. Not all kernels serialize an operator's threads: two may
 * bind one queue pair to two counters, unbind it twice, or bind it during its destruction. The
 * first thread wins, and a dying queue pair is not bound.
 */
#include <linux/lockdep.h>
#include <linux/slab.h>

#include "base/weft.h"
#include "engine/engine.h"
#include "verbs/verbs.h"

/* A queue pair that is bound to a counter. */
struct weft_binding {
	/* The queue pair; no reference: weft_tally_leave() ends the binding first */
	const struct weft_qp *qp;
	struct weft_tallied_counts before; /* its counts at the bind */
};

/*
 * The counts of a counter's queue pairs while they were bound. Protected by the lock of struct
 * weft_tallies.
 */
struct weft_tally {
	struct xarray bound; /* struct weft_binding by number of the queue pair */
	struct weft_tallied_counts past; /* counts of queue pairs that are not bound any more */
};

/* Returns the counts of a queue pair since it was made. */
static struct weft_tallied_counts counted_by(const struct weft_qp *qp)
{
	struct weft_flow flow;

	weft_engine_glance(qp, &flow);
	return (struct weft_tallied_counts){ .value = {
		[WEFT_TALLIED_TX_FPDUS] = flow.tx_fpdus,
		[WEFT_TALLIED_TX_BYTES] = flow.tx_bytes,
		[WEFT_TALLIED_RX_FPDUS] = flow.rx_fpdus,
		[WEFT_TALLIED_RX_BYTES] = flow.rx_bytes,
	} };
}

/* Adds the counts of a queue pair since it was bound. */
static void counts_add_bound(struct weft_tallied_counts *to, const struct weft_binding *binding)
{
	struct weft_tallied_counts now = counted_by(binding->qp);
	int i;

	for (i = 0; i < WEFT_NUM_TALLIED; i++)
		to->value[i] += now.value[i] - binding->before.value[i];
}

/* Adds the counts that a counter shows. */
static void counts_add_tally(struct weft_tallied_counts *to, struct weft_tally *tally)
{
	struct weft_binding *binding;
	unsigned long qpn;
	int i;

	for (i = 0; i < WEFT_NUM_TALLIED; i++)
		to->value[i] += tally->past.value[i];
	xa_for_each(&tally->bound, qpn, binding)
		counts_add_bound(to, binding);
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

/* Frees the counters of a device that is gone, with its queue pairs. */
void weft_tallies_destroy(struct weft_tallies *tallies)
{
	struct weft_tally *tally;
	unsigned long id;

	xa_for_each(&tallies->by_id, id, tally)
		tally_free(tally);
	xa_destroy(&tallies->by_id);
	mutex_destroy(&tallies->lock);
}

/*
 * Returns the sum over all counters of a device. It includes counters that are gone, because the
 * core goes on adding their counts to those of the port.
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

/* Adds up one counter. Returns -EINVAL if the counter is gone. */
int weft_tally_sum(const struct rdma_counter *counter, struct weft_tallied_counts *sum)
{
	struct weft_tallies *tallies = &to_weft_device(counter->device)->tallies;
	struct weft_tally *tally;

	*sum = (struct weft_tallied_counts){};
	mutex_lock(&tallies->lock);
	tally = xa_load(&tallies->by_id, counter->id);
	if (tally)
		counts_add_tally(sum, tally);
	mutex_unlock(&tallies->lock);
	return tally ? 0 : -EINVAL;
}

/* Gives a counter its number with its first queue pair. */
static int tally_join(struct weft_tallies *tallies, struct rdma_counter *counter,
		      struct weft_qp *qp, struct weft_binding *binding)
{
	const bool first = !counter->id;
	struct weft_tally *tally;
	int ret;

	lockdep_assert_held(&tallies->lock);
	if (qp->ib.counter || READ_ONCE(qp->dying))
		return -EINVAL;
	if (first) {
		tally = kzalloc(sizeof(*tally), GFP_KERNEL);
		if (!tally)
			return -ENOMEM;
		xa_init(&tally->bound);
		/* Not soon used again: the core may know a counter a little longer than Weft. */
		ret = xa_alloc_cyclic(&tallies->by_id, &counter->id, tally, xa_limit_31b,
				      &tallies->next_id, GFP_KERNEL);
		if (ret < 0) {
			counter->id = 0;
			kfree(tally);
			return ret;
		}
	} else {
		tally = xa_load(&tallies->by_id, counter->id);
		if (!tally)
			return -EINVAL;
	}
	binding->before = counted_by(qp);
	ret = xa_insert(&tally->bound, qp->acc.qpn, binding, GFP_KERNEL);
	if (!ret) {
		/* Destruction sets dying under this lock, then looks for a counter. */
		spin_lock_irq(&qp->lock);
		if (!qp->dying)
			WRITE_ONCE(qp->ib.counter, counter);
		spin_unlock_irq(&qp->lock);
		if (qp->ib.counter != counter) {
			xa_erase(&tally->bound, qp->acc.qpn);
			ret = -EINVAL;
		}
	}
	if (ret && first) {
		/* The core frees the counter, without another call. */
		xa_erase(&tallies->by_id, counter->id);
		counter->id = 0;
		tally_free(tally);
	}
	return ret;
}

/*
 * Binds a queue pair to a counter, which gets its number with its first queue pair. The core has
 * locked the counter. Returns 0; -EINVAL if the queue pair is bound, or if it or the counter is
 * about to go; -ENOMEM.
 */
int weft_tally_bind(struct rdma_counter *counter, struct ib_qp *ib, u32 port)
{
	struct weft_binding *binding = kzalloc(sizeof(*binding), GFP_KERNEL);
	struct weft_tallies *tallies = &to_weft_device(ib->device)->tallies;
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

/*
 * Takes a queue pair off its counter, which keeps its counts. The core frees a counter only after
 * this. Without a counter the lock is not taken, because any process reads counters under that
 * lock, and its cgroup may throttle it there. Returns true if there was a counter.
 */
bool weft_tally_leave(struct weft_qp *qp)
{
	struct weft_tallies *tallies = &to_weft_device(qp->ib.device)->tallies;
	struct weft_binding *binding = NULL;
	struct rdma_counter *counter;
	struct weft_tally *tally;

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

/* Takes a queue pair off its counter. Returns -EINVAL if it has none. */
int weft_tally_unbind(struct ib_qp *ib, u32 port)
{
	return weft_tally_leave(to_weft_qp(ib)) ? 0 : -EINVAL;
}

/*
 * Forgets a counter to which nothing is bound. The core has added its last counts to those of
 * counters that are gone, which @past follows.
 */
int weft_tally_dealloc(struct rdma_counter *counter)
{
	struct weft_tallies *tallies = &to_weft_device(counter->device)->tallies;
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
